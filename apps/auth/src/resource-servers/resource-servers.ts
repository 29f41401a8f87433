import { randomBytes } from 'node:crypto'
import { Problem } from '@plainpath/http'
import { sha256Base64url, timingSafeEqualBytes } from '@plainpath/sealing'
import { z } from 'zod'

/** A resource server that may introspect tokens for its audience. Each of its secrets has 256 random bits. */
export const ResourceServer = z.strictObject({
  client_id: z.string().regex(/^rs_[A-Za-z0-9_-]{1,60}$/),
  audience: z.url(),
  /** The digests of its secrets, `sha256:` and 43 base64url characters. There are two during a rotation. */
  secrets: z
    .array(z.string().regex(/^sha256:[A-Za-z0-9_-]{43}$/))
    .min(1)
    .max(2),
})
export type ResourceServer = z.infer<typeof ResourceServer>

/** The content of AUTH_RESOURCE_SERVERS_FILE. */
export const ResourceServers = z
  .array(ResourceServer)
  .min(1)
  .refine(
    (servers) => new Set(servers.map(({ client_id }) => client_id)).size === servers.length,
    'two entries have the same client_id',
  )

export const hashSecret = (secret: string) => `sha256:${sha256Base64url(secret)}`

/** Returns the first 12 characters of a secret's hash. They identify the secret to people, but do not help to guess it. */
export const toFingerprint = (digest: string) => digest.slice('sha256:'.length, 'sha256:'.length + 12)

/** Creates the credential that an API uses to introspect tokens. The authorization server stores only its hash. */
export function createResourceServer(
  clientId: string,
  audience: string,
): { server: ResourceServer; secret: string } {
  const secret = `rss_${randomBytes(32).toString('base64url')}`
  return { server: { client_id: clientId, audience, secrets: [hashSecret(secret)] }, secret }
}

/** A resource server, and the digest of the secret that it presented. */
export interface VerifiedServer {
  readonly server: ResourceServer
  readonly digest: string
}

/**
 * Verifies the credentials of a resource server.
 *
 * @returns undefined for an unknown id or a wrong secret. For an unknown id, the secret is compared too, so both take about as
 *   long
 */
export function verifyResourceServer(
  servers: readonly ResourceServer[],
  credentials: { clientId: string; secret: string },
): VerifiedServer | undefined {
  const presentedDigest = Buffer.from(hashSecret(credentials.secret))
  const server = servers.find(({ client_id }) => client_id === credentials.clientId)
  const storedDigests = server?.secrets ?? [hashSecret('no resource server has this secret')]
  // Uses `filter`, so every stored digest is compared, even after a match.
  const [digest] = storedDigests.filter((stored) =>
    timingSafeEqualBytes(Buffer.from(stored), presentedDigest),
  )
  return server && digest !== undefined ? { server, digest } : undefined
}

/** Creates the problem for a caller that is not a resource server. An unknown id and a wrong secret get the same problem. */
export const createUnknownServerProblem = () =>
  new Problem('invalid-client', {
    detail: 'Only a configured resource server may introspect tokens, with HTTP Basic.',
    headers: { 'www-authenticate': 'Basic realm="plainpath introspection"' },
  })
