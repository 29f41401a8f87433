import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { FORM_TYPE } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { timingSafeEqualBytes } from '@plainpath/sealing'
import type { Context } from 'koa'
import compose from 'koa-compose'
import type Provider from 'oidc-provider'
import { ACCESS_TOKEN_PREFIX, REFRESH_TOKEN_PREFIX } from './access-token.ts'
import { acceptProofsOnce, bindRefreshTokens, type MarkProofUsed } from './override-proofs.ts'
import { throwProviderFailure } from './provider-failure.ts'

/*
 * Overrides oidc-provider where its configuration, grants and adapters do not suffice. Further overrides are in
 * `override-proofs.ts` and `provider-failure.ts`. The comment of each override begins with its reason, followed by:
 *
 *   Replaces  what the library does by default
 *   API       public: documented, or typed by @types/oidc-provider; internal: neither, so any release may change it
 *   Test      the test in override-provider.test.ts that fails when a release changes it
 *
 * Read this file and run those tests before you upgrade the library.
 */

export interface OverrideDeps {
  internalClientSecret: InternalClientSecret
  markProofUsed: MarkProofUsed
}

export function overrideProvider(provider: Provider, deps: OverrideDeps): void {
  useConfiguredOrigin(provider)
  prefixTokens(provider)
  acceptInternalClientSecret(provider, deps.internalClientSecret)
  acceptProofsOnce(provider, deps.markProofUsed)
  bindRefreshTokens(provider)
  recordThrownError(provider)
}

/**
 * Without this override, the library would build URLs from the Host header of the request, which the caller chooses.
 *
 * Replaces `OIDCContext#urlFor` with the Provider's method of the same name, whose URLs begin with the issuer.
 * API      public: both are typed.
 * Test     'builds URLs from the configured origin, whatever the Host header says'
 */
function useConfiguredOrigin(provider: Provider): void {
  provider.OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options)
}

/**
 * Adds a prefix to the 43 base64url characters that the library generates, to make tokens recognisable (`access-token.ts`). The
 * library's configuration can only change the length.
 *
 * Replaces `generateTokenId` of `AccessToken` and `RefreshToken`, and calls the original.
 * API      internal.
 * Test     'prefixes the tokens of apps'
 */
function prefixTokens(provider: Provider): void {
  const { AccessToken, RefreshToken } = provider
  const prefixes = [
    [AccessToken, ACCESS_TOKEN_PREFIX],
    [RefreshToken, REFRESH_TOKEN_PREFIX],
  ] as const
  for (const [{ prototype }, prefix] of prefixes) {
    const model = prototype as unknown as { generateTokenId(): string }
    const { generateTokenId } = model
    model.generateTokenId = function generatePrefixedTokenId() {
      return prefix + generateTokenId.call(this)
    }
  }
}

/** Computes the secret that this server presents to oidc-provider for a client that it has already authenticated. */
export type InternalClientSecret = (clientId: string) => string

/** Creates secrets that only this process knows. They are never stored or sent. */
export function createInternalClientSecret(): InternalClientSecret {
  const processSecret = randomBytes(32).toString('base64url')
  return (clientId) => `${processSecret}.${clientId}`
}

/**
 * This server verifies the credentials of apps itself, before the library sees the request. The library receives an internal
 * secret in their place (`passToProvider`).
 *
 * Replaces `Client#compareClientSecret`, which compares with `client_secret` of the client's metadata.
 * API      public: typed.
 * Test     'accepts a client only with the internal secret for that client'
 */
function acceptInternalClientSecret(provider: Provider, internalClientSecret: InternalClientSecret): void {
  provider.Client.prototype.compareClientSecret = function compareInternalClientSecret(presented) {
    return timingSafeEqualBytes(Buffer.from(internalClientSecret(this.clientId)), Buffer.from(presented))
  }
}

/**
 * The library converts every error thrown inside it into a response of its own. This override records an unknown error, such as
 * a `Problem` or a store failure, in `ctx.state.thrown`, so the central error handler responds.
 *
 * Replaces nothing: it listens to `server_error`.
 * API      public: the event is documented; internal: that it is emitted before the middleware returns.
 * Test     'rethrows errors from inside the library unchanged'
 */
function recordThrownError(provider: Provider): void {
  provider.on('server_error', (ctx, error) => {
    ctx.state['thrown'] = error
  })
}

/**
 * Passes the request of an authenticated client to oidc-provider.
 *
 * `createApp` has already applied CORS. The library applies its own CORS unless one of the headers is already set.
 *
 * Replaces the library's own CORS.
 * API      internal: that it looks for a header that begins with `access-control-`.
 * Test     'the library adds no CORS headers of its own'
 *
 * @throws {Problem} or any error that was thrown inside the library
 */
export async function passToProvider(
  ctx: Context,
  { provider, internalClientSecret }: { provider: Provider; internalClientSecret: InternalClientSecret },
  form: URLSearchParams,
  clientId: string,
): Promise<void> {
  replayForm(ctx.req, form, { clientId, secret: internalClientSecret(clientId) })
  const cors = ctx.response.get('access-control-allow-origin')
  // If `createApp` has set no CORS header, this one keeps the library from setting its own, and is removed again below.
  ctx.set(
    'access-control-expose-headers',
    ctx.response.get('access-control-expose-headers') || 'WWW-Authenticate',
  )
  await compose(provider.middleware)(ctx, async () => {})
  if (!cors) ctx.remove('access-control-expose-headers')
  throwProviderFailure(ctx)
}

/**
 * Passes the request of a browser to oidc-provider, either at the authorization endpoint or on its return from the sign-in pages.
 *
 * The library sets a cookie for its session. This server stores no sessions, so it removes the cookie. The other cookies are
 * for https only if the configured origin is. The connection does not matter, since a gateway terminates TLS.
 *
 * Replaces the query of the request, and the cookie of the session in the response.
 * API      internal: the name of that cookie; public: that the library sets cookies by `ctx.cookies`.
 * Test     'sets only interaction cookies, each `Secure` and limited to one path' in app-authorize.test.ts
 *
 * @throws {Problem} or any error that was thrown inside the library
 */
export async function passBrowserToProvider(
  ctx: Context,
  { provider, urls }: { provider: Provider; urls: Pick<ServiceUrls, 'origin'> },
  query: URLSearchParams,
): Promise<void> {
  ctx.querystring = query.toString()
  ctx.cookies.secure = urls.origin.startsWith('https:')
  await compose(provider.middleware)(ctx, async () => {})
  const cookies = [ctx.response.get('set-cookie')].flat().filter(Boolean)
  const otherCookies = cookies.filter((cookie) => !cookie.startsWith('_session'))
  if (otherCookies.length > 0) ctx.set('set-cookie', otherCookies)
  else ctx.remove('set-cookie')
  ctx.set('referrer-policy', 'no-referrer')
  throwProviderFailure(ctx)
}

/**
 * Passes oidc-provider the form that this server has already read, so both use the same content.
 *
 * Replaces the body and headers of the request: the internal secret takes the place of the client's credentials.
 * API      internal: that the library reads while `request.readable`, by `request.iterator()`, and compares the length with
 *          `Content-Length`. Passing a parsed body is documented, but as not recommended, and the library warns of it.
 * Test     'the library reads the form that the route has read'
 */
function replayForm(
  request: IncomingMessage,
  form: URLSearchParams,
  { clientId, secret }: { clientId: string; secret: string },
): void {
  for (const name of ['client_assertion', 'client_assertion_type']) form.delete(name)
  form.set('client_id', clientId)
  form.set('client_secret', secret)
  delete request.headers.authorization
  const body = Buffer.from(form.toString())
  request.headers['content-type'] = FORM_TYPE
  request.headers['content-length'] = String(body.length)
  delete request.headers['transfer-encoding']
  delete request.headers.origin
  Object.defineProperty(request, 'readable', { value: true })
  request.iterator = async function* replay(): AsyncGenerator<Buffer, undefined> {
    yield body
    return undefined
  }
}
