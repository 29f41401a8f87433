import type { App, Authorization, AuthorizeOptions, TokenResponse } from './app.ts'
import type { Person } from './person.ts'

/** One person's sign-in with an app, and the tokens that the app received. */
export interface AppConnection {
  readonly app: App
  readonly person: Person
  readonly authorization: Authorization
  readonly callback: URL
  readonly accessToken: string
  readonly refreshToken: string
}

/** Lets a person sign in with an app, and checks the callback and the token response as every host does. */
export async function connect(app: App, person: Person, options: AuthorizeOptions): Promise<AppConnection> {
  const authorization = app.authorize(options)
  const callback = await person.signIn(authorization.url)
  requireCallback(app, authorization, callback)
  const tokens = await app.exchange(authorization, callback)
  return { app, person, authorization, callback, ...requireTokens(tokens) }
}

/** Checks a callback. @throws {Error} unless it belongs to this authorization, with a code, the state and the issuer */
export function requireCallback({ server }: App, { state, redirectUri }: Authorization, callback: URL): void {
  const { searchParams: parameters } = callback
  const expectedUri = new URL(redirectUri)
  if (
    callback.protocol !== expectedUri.protocol ||
    callback.host !== expectedUri.host ||
    callback.pathname !== expectedUri.pathname
  )
    throw new Error(`the browser was sent to ${callback.href} instead of ${redirectUri}`)
  if (!parameters.get('code')) throw new Error(`no code: ${callback.search}`)
  if (parameters.get('state') !== state) throw new Error(`another state: ${callback.search}`)
  // RFC 9207 §2.4 requires a comparison of the exact strings.
  if (parameters.get('iss') !== server.issuer) throw new Error(`another issuer: ${callback.search}`)
}

/** Checks a token response. @throws {Error} unless it has an access token and a refresh token */
export function requireTokens(response: TokenResponse): { accessToken: string; refreshToken: string } {
  const { status, access_token: accessToken, refresh_token: refreshToken } = response
  if (status !== 200 || accessToken === undefined || refreshToken === undefined)
    throw new Error(
      `no tokens: ${JSON.stringify({ ...response, access_token: undefined, refresh_token: undefined })}`,
    )
  return { accessToken, refreshToken }
}
