import type { AgentKey } from '@plainpath/domain'
import type { Context } from 'koa'

/** An app that people connect from: an OAuth client that uses the authorization code grant. */
export interface AppClient {
  /** `app_…` for a registered app; otherwise the URL of its Client ID Metadata Document. */
  readonly id: string
  /** Accepted ones only. A loopback URI stands for every port. */
  readonly redirectUris: readonly string[]
  /** The app's own word; nobody checked it. */
  readonly name?: string | undefined
  readonly applicationType: 'web' | 'native'
  readonly authMethod: 'none' | 'private_key_jwt'
  /** Empty with `none`. */
  readonly keys: readonly AgentKey[]
  readonly source: 'document' | 'pinned' | 'registered'
}

/**
 * Finds an app by its `client_id`, as it is now: the document of a URL client is fetched again when its stored copy has
 * expired.
 *
 * @returns undefined for an unknown or unacceptable one
 * @throws {Problem} `rate-limited` when too much is fetched
 */
export type FindAppClient = (ctx: Context, id: string) => Promise<AppClient | undefined>

const LOOPBACK_PORT = /^(?<host>http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/

/** Checks a redirect URI of a request: exactly one of the app's or, on loopback, one of them with any port (RFC 8252 §7.3). */
export function isRedirectUriOf(client: Pick<AppClient, 'redirectUris'>, uri: string): boolean {
  const withoutPort = (each: string) => each.replace(LOOPBACK_PORT, '$<host>')
  const anyPort = withoutPort(uri)
  return client.redirectUris.some(
    (known) => known === uri || (anyPort !== uri && withoutPort(known) === anyPort),
  )
}
