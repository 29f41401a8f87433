import type { AgentKey } from '@plainpath/domain'
import type { Context } from 'koa'

/** An app that people connect: an OAuth client that uses the authorization code grant. */
export interface AppClient {
  /** `app_…` for a registered app; otherwise the URL of its Client ID Metadata Document. */
  readonly id: string
  /** The accepted redirect URIs. A loopback URI matches any explicit port. */
  readonly redirectUris: readonly string[]
  /** The name that the app gave itself. Nobody verified it. */
  readonly name?: string | undefined
  readonly applicationType: 'web' | 'native'
  readonly authMethod: 'none' | 'private_key_jwt'
  /** Empty if the authentication method is `none`. */
  readonly keys: readonly AgentKey[]
  /** `pinned`: the copy of the document in the list of hosts. */
  readonly source: 'document' | 'pinned' | 'registered'
}

/**
 * Finds an app by its `client_id`. Fetches the document at a URL if it is not stored, or if the stored one has expired.
 *
 * @param redirectUri the redirect URI of an authorization request. If no app may have it, no document is fetched
 * @returns undefined for an unknown or unacceptable app
 * @throws {Problem} `rate-limited` if the address exceeds a limit, or too many documents are being fetched; `unavailable` if the
 *   document cannot be fetched and the stored keys have expired
 */
export type FindAppClient = (ctx: Context, id: string, redirectUri?: string) => Promise<AppClient | undefined>

const LOOPBACK_PORT = /^(?<host>http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/

/** Returns true if a redirect URI equals one of the app's URIs. On loopback, any explicit port is accepted (RFC 8252 §7.3). */
export function acceptsRedirectUri(client: Pick<AppClient, 'redirectUris'>, uri: string): boolean {
  const removePort = (text: string) => text.replace(LOOPBACK_PORT, '$<host>')
  const uriWithoutPort = removePort(uri)
  return client.redirectUris.some(
    (registered) =>
      registered === uri || (uriWithoutPort !== uri && removePort(registered) === uriWithoutPort),
  )
}
