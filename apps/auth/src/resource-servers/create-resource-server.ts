import { randomBytes } from 'node:crypto'
import { type ResourceServer, secretDigest } from './resource-servers.ts'

/** Makes the credential with which an API introspects tokens. The secret is in no file of the authorization server. */
export function createResourceServer(
  clientId: string,
  audience: string,
): { server: ResourceServer; secret: string } {
  const secret = `rss_${randomBytes(32).toString('base64url')}`
  return { server: { client_id: clientId, audience, secrets: [secretDigest(secret)] }, secret }
}
