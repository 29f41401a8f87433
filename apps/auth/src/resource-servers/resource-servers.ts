import { randomBytes } from 'node:crypto'
import { Problem } from '@plainpath/http'
import { equalBytes, sha256 } from '@plainpath/sealing'
import { z } from 'zod'

/** A resource server that may introspect tokens for its audience. Its secrets are 256 random bits, kept as SHA-256. */
export const ResourceServer = z.strictObject({
  client_id: z.string().regex(/^rs_[A-Za-z0-9_-]{1,60}$/),
  audience: z.url(),
  /** `sha256:` and 43 base64url characters; two while a secret is being changed. */
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
    (all) => new Set(all.map((each) => each.client_id)).size === all.length,
    'a client_id stands there twice',
  )

export const secretDigest = (secret: string) => `sha256:${sha256(secret).toString('base64url')}`

/** The beginning of a secret's hash: names it to people, and helps nobody to find it. */
export const fingerprint = (digest: string) => digest.slice('sha256:'.length, 'sha256:'.length + 12)

/** Makes the credential with which an API introspects tokens. The secret is in no file of the authorization server. */
export function createResourceServer(
  clientId: string,
  audience: string,
): { server: ResourceServer; secret: string } {
  const secret = `rss_${randomBytes(32).toString('base64url')}`
  return { server: { client_id: clientId, audience, secrets: [secretDigest(secret)] }, secret }
}

/** A resource server, and which of its secrets was shown. */
export interface VerifiedServer {
  readonly server: ResourceServer
  readonly digest: string
}

/** @returns undefined for an unknown id or a wrong secret, after the same work */
export function verifyResourceServer(
  servers: readonly ResourceServer[],
  credentials: { clientId: string; secret: string },
): VerifiedServer | undefined {
  const presented = Buffer.from(secretDigest(credentials.secret))
  const server = servers.find((each) => each.client_id === credentials.clientId)
  const kept = server?.secrets ?? [secretDigest('no resource server has this secret')]
  const [digest] = kept.filter((each) => equalBytes(Buffer.from(each), presented))
  return server && digest !== undefined ? { server, digest } : undefined
}

/** For a caller that no resource server's credentials came from: the same answer whoever it was. */
export const notAResourceServer = () =>
  new Problem('invalid-client', {
    detail: 'Only a configured resource server may introspect tokens, with HTTP Basic.',
    headers: { 'www-authenticate': 'Basic realm="plainpath introspection"' },
  })
