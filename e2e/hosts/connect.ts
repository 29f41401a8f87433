import type { App, Authorization, AuthorizeOptions, TokenResponse } from './app.ts'
import type { Person } from './person.ts'

/** One person's sign-in with an app, and the tokens that the app got for it. */
export interface Connected {
  readonly app: App
  readonly person: Person
  readonly authorization: Authorization
  readonly callback: URL
  readonly accessToken: string
  readonly refreshToken: string
}

/** Lets a person sign in with an app, and checks what every host checks of the callback and of the token response. */
export async function connect(app: App, person: Person, options: AuthorizeOptions): Promise<Connected> {
  const authorization = app.authorize(options)
  const callback = await person.signIn(authorization.url)
  requireCallback(app, authorization, callback)
  const tokens = await app.exchange(authorization, callback)
  return { app, person, authorization, callback, ...requireTokens(tokens) }
}

/** @throws {Error} unless it is the callback of this authorization, with a code, the state and the issuer */
export function requireCallback({ server }: App, { state, redirectUri }: Authorization, callback: URL): void {
  const { searchParams: parameters } = callback
  const expected = new URL(redirectUri)
  if (
    callback.protocol !== expected.protocol ||
    callback.host !== expected.host ||
    callback.pathname !== expected.pathname
  )
    throw new Error(`the browser was sent to ${callback.href} instead of ${redirectUri}`)
  if (!parameters.get('code')) throw new Error(`no code: ${callback.search}`)
  if (parameters.get('state') !== state) throw new Error(`another state: ${callback.search}`)
  // Byte for byte (RFC 9207 §2.4).
  if (parameters.get('iss') !== server.issuer) throw new Error(`another issuer: ${callback.search}`)
}

/** @throws {Error} unless the response has an access token and a refresh token */
export function requireTokens(response: TokenResponse): { accessToken: string; refreshToken: string } {
  const { status, access_token: accessToken, refresh_token: refreshToken } = response
  if (status !== 200 || accessToken === undefined || refreshToken === undefined)
    throw new Error(
      `no tokens: ${JSON.stringify({ ...response, access_token: undefined, refresh_token: undefined })}`,
    )
  return { accessToken, refreshToken }
}
