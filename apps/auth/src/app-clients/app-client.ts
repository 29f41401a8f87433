import type { AgentKey } from '@plainpath/domain'
import type { Context } from 'koa'

/** An app that people connect: an OAuth client that uses the authorization code grant. */
export interface AppClient {
  /** `app_…` for a registered app; otherwise the URL of its Client ID Metadata Document. */
  readonly id: string
  /** The accepted redirect URIs. A loopback URI matches any port. */
  readonly redirectUris: readonly string[]
  /** The name that the app gave itself. Nobody verified it. */
  readonly name?: string | undefined
  readonly applicationType: 'web' | 'native'
  readonly authMethod: 'none' | 'private_key_jwt'
  /** Empty if the authentication method is `none`. */
  readonly keys: readonly AgentKey[]
  readonly source: 'document' | 'pinned' | 'registered'
}

/**
 * Finds an app by its `client_id`. Fetches the document of a URL client again if the stored copy has expired.
 *
 * @returns undefined for an unknown or unacceptable app
 * @throws {Problem} `rate-limited` when too many documents are fetched
 */
export type FindAppClient = (ctx: Context, id: string) => Promise<AppClient | undefined>

const LOOPBACK_PORT = /^(?<host>http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/

/** Checks the redirect URI of a request. It must equal one of the app's URIs; on loopback the port may differ (RFC 8252 §7.3). */
export function isRedirectUriOf(client: Pick<AppClient, 'redirectUris'>, uri: string): boolean {
  const removePort = (text: string) => text.replace(LOOPBACK_PORT, '$<host>')
  const uriWithoutPort = removePort(uri)
  return client.redirectUris.some(
    (registered) =>
      registered === uri || (uriWithoutPort !== uri && removePort(registered) === uriWithoutPort),
  )
}
