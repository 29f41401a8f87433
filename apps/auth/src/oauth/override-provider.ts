import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { FORM_TYPE } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { equalBytes } from '@plainpath/sealing'
import type { Context, Middleware } from 'koa'
import Provider, { type Adapter, type Client, type KoaContextWithOIDC } from 'oidc-provider'
import { CLIENT_GENERATION } from '../clients/authenticate-client.ts'
import { jwsSigner } from '../keys/jws-signer.ts'
import type { InstanceKeys } from '../keys/signing-key.ts'
import { REFRESH_TOKEN_PREFIX } from './app-adapters.ts'
import { type UseProof, useProofsOnce } from './override-proofs.ts'
import { throwProviderFailure } from './provider-failure.ts'

/*
 * What this server changes in oidc-provider beyond configuration, grants, adapters, `override-proofs.ts`
 * and `provider-failure.ts`. Each part says:
 *
 *   Replaces  what the library does by default
 *   API       public: documented, or typed by @types/oidc-provider; internal: neither, so any release may change it
 *   Test      the test in override-provider.test.ts that fails when a release changes it
 *
 * The comment before that says why. Read this file and run those tests before you upgrade the library.
 */

export interface OverrideDeps {
  urls: ServiceUrls
  ring: InstanceKeys
  internalClientSecret: InternalClientSecret
  useProof: UseProof
  /** Describes the person of a live claim: the address, and what mails say of the agent. */
  findPerson(claimId: string): Promise<object | undefined>
  /** The mark of the store that publishes revocations to APIs; undefined without Redis. */
  revocationMark: () => string | undefined
}

export function overrideProvider(provider: Provider, deps: OverrideDeps): void {
  useConfiguredOrigin(provider)
  prefixTokens(provider)
  acceptInternalClientSecret(provider, deps.internalClientSecret)
  cacheClients(provider)
  useProofsOnce(provider, deps.useProof)
  signIntrospection(provider, deps)
  recordThrownError(provider)
}

/**
 * Otherwise URLs would be built from the Host header of the request, which the caller chooses.
 *
 * Replaces `OIDCContext#urlFor`, by the Provider's method of the same name, which begins with the issuer.
 * API      public: both are typed.
 * Test     'builds URLs from the configured origin, whatever the Host header says'
 */
function useConfiguredOrigin(provider: Provider): void {
  provider.OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options)
}

/**
 * Access tokens are `ppt_`, and refresh tokens `ppr_`, and what the library generates: 43 base64url characters. The prefix
 * makes a token recognisable; the library can only configure the length.
 *
 * Replaces `generateTokenId` of `ClientCredentials`, `AccessToken` and `RefreshToken`, which it calls.
 * API      internal.
 * Test     'issues and stores tokens of ppt_ and 43 characters', 'prefixes the tokens of apps too'
 */
function prefixTokens(provider: Provider): void {
  const { ClientCredentials, AccessToken, RefreshToken } = provider
  const prefixes = [
    [ClientCredentials, 'ppt_'],
    [AccessToken, 'ppt_'],
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

/** Creates secrets that only this process can know; none is stored or sent. */
export function createInternalClientSecret(): InternalClientSecret {
  const unguessable = randomBytes(32).toString('base64url')
  return (clientId) => `${unguessable}.${clientId}`
}

/**
 * `authenticate-client.ts` alone verifies a client's credentials, before the library sees the request. The library
 * receives an internal secret in their place (`passToProvider`).
 *
 * Replaces `Client#compareClientSecret`, which compares with `client_secret` of the client's metadata.
 * API      public: typed.
 * Test     'accepts a client only with the internal secret for that client'
 */
function acceptInternalClientSecret(provider: Provider, internalClientSecret: InternalClientSecret): void {
  provider.Client.prototype.compareClientSecret = function compareInternalClientSecret(presented) {
    return equalBytes(Buffer.from(internalClientSecret(this.clientId)), Buffer.from(presented))
  }
}

/**
 * The library builds a client from its metadata for each request, except for the last 100 clients, and that takes longer
 * than the rest of issuing a token. This cache keeps a client exactly as long as the adapter returns the same metadata
 * object, so it is never staler than this process's cache of agents.
 *
 * Replaces `Client.find`, which it calls for a metadata object that is new.
 * API      public: `find` is typed; internal: `Client.adapter`.
 * Test     'caches a client exactly as long as its metadata is the same object'
 */
function cacheClients(provider: Provider): void {
  type Finding = { adapter: Adapter; find(id: string): Promise<Client | undefined> }
  const clients = provider.Client as unknown as Finding
  const find = clients.find.bind(clients)
  const cache = new WeakMap<object, Client>()
  clients.find = async (id) => {
    const metadata = typeof id === 'string' && id ? await clients.adapter.find(id) : undefined
    if (!metadata) return find(id)
    const client = cache.get(metadata) ?? (await find(id))
    if (client) cache.set(metadata, client)
    return client
  }
}

/** Members of `ctx.state` that the introspection route sets: the SHA-256 of the token, and whether to include the address. */
export const INTROSPECTED_HASH = 'introspectedTokenHash'
export const WITH_EMAIL = 'introspectedWithEmail'

/**
 * An RFC 9701 response does not say which token it is about, so two responses could be swapped in transit; `token_hash`
 * beside `token_introspection` prevents that. `revocation_mark` permits an API that subscribes to that store to cache the
 * response. The person of a claim is read last, only on request, and such a response is not cacheable.
 *
 * The library would hand each signature to the thread pool, which takes longer than computing it. It signs nothing else.
 *
 * Replaces `IdToken#issue`, which takes the key from the configured `jwks`.
 * API      public: `issue`, `ctx`, `client` and `extra` are typed; internal: that `extra.token_introspection` is the response.
 * Test     'signs introspection responses, which name their token'
 */
function signIntrospection(
  provider: Provider,
  { urls, ring, findPerson, revocationMark }: OverrideDeps,
): void {
  type Introspection = { active?: boolean; registration_id?: string }
  const sign = jwsSigner(ring.signing, 'token-introspection+jwt')
  provider.IdToken.prototype.issue = async function issueIntrospection() {
    const state: Record<string, unknown> = this.ctx.state
    const content = this.extra['token_introspection'] as Introspection | undefined
    const mark = revocationMark()
    const isCacheable = !state[WITH_EMAIL] && content?.active === true && mark !== undefined
    const person =
      state[WITH_EMAIL] && content?.registration_id ? await findPerson(content.registration_id) : undefined
    return sign({
      iss: urls.origin,
      aud: this.client.clientId,
      // The library takes its times from this clock.
      // oxlint-disable-next-line no-restricted-properties -- no other clock says what the library has written
      iat: Math.floor(Date.now() / 1000),
      token_hash: state[INTROSPECTED_HASH],
      ...(isCacheable && { revocation_mark: mark }),
      token_introspection: person ? { ...content, ...person } : content,
    })
  }
}

/**
 * The library turns every error thrown inside it into a response of its own. An error that it does not know, such as a
 * `Problem` or a failure of a store, is recorded in `ctx.state.thrown`, so that the central error handler responds.
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
 * `createApp` has already applied CORS. The library would apply its own, but does not where one of the headers is set.
 *
 * Replaces the library's own CORS.
 * API      internal: that it looks for a header that begins with `access-control-`.
 * Test     'the library adds no CORS headers of its own'
 *
 * @throws {Problem} or what was thrown inside the library
 */
export async function passToProvider(
  ctx: Context,
  {
    provider,
    internalClientSecret,
  }: { provider: { middleware: Middleware }; internalClientSecret: InternalClientSecret },
  form: URLSearchParams,
  clientId: string,
): Promise<void> {
  replayForm(ctx.req, form, { clientId, secret: internalClientSecret(clientId) })
  const cors = ctx.response.get('access-control-allow-origin')
  ctx.set(
    'access-control-expose-headers',
    ctx.response.get('access-control-expose-headers') || 'WWW-Authenticate',
  )
  await provider.middleware(ctx, async () => {})
  if (!cors) ctx.remove('access-control-expose-headers')
  throwProviderFailure(ctx)
}

/**
 * Passes the request of a browser to oidc-provider: one at the authorization endpoint, or one that comes back from the
 * sign-in pages.
 *
 * The library sets the cookie of a session that nothing stores, which is left out. Whether cookies are for https only
 * depends on the origin, since a gateway ends TLS.
 *
 * Replaces the query of the request, and the cookie of the session in the response.
 * API      internal: the name of that cookie; public: that the library sets cookies by `ctx.cookies`.
 * Test     'sets no session cookie, and cookies for https only' in app-authorize.test.ts
 *
 * @throws {Problem} or what was thrown inside the library
 */
export async function passBrowserToProvider(
  ctx: Context,
  { provider, urls }: { provider: { middleware: Middleware }; urls: Pick<ServiceUrls, 'origin'> },
  query: URLSearchParams,
): Promise<void> {
  ctx.querystring = query.toString()
  ctx.cookies.secure = urls.origin.startsWith('https:')
  await provider.middleware(ctx, async () => {})
  const cookies = [ctx.response.get('set-cookie')].flat().filter(Boolean)
  const kept = cookies.filter((cookie) => !cookie.startsWith('_session'))
  if (kept.length > 0) ctx.set('set-cookie', kept)
  else ctx.remove('set-cookie')
  ctx.set('referrer-policy', 'no-referrer')
  throwProviderFailure(ctx)
}

/**
 * Gives oidc-provider the form that this server has already read, so that both act on the same content.
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

/**
 * Gives a token another scope than the requested one: the library would issue a token without scope when none is
 * requested, or none that the client may have.
 *
 * Replaces the parameter `scope` of the request, while `getResourceServerInfo` runs.
 * API      public: `ctx.oidc.params` is typed; internal: that the library reads `scope` after `getResourceServerInfo`.
 * Test     'the token gets the scope that is set in getResourceServerInfo'
 */
export function replaceScope(ctx: KoaContextWithOIDC, scope: string): void {
  if (ctx.oidc.params) ctx.oidc.params['scope'] = scope
}

/**
 * Reads the generation of the client, as authenticated, while the library stores its token: adapters get no request.
 *
 * Replaces nothing: it reads `Provider.ctx`, the request that the library is handling.
 * API      public: it is typed.
 * Test     'can read the generation from the request while a token is stored'
 */
export const authenticatedGeneration = (): number | undefined => {
  const generation: unknown = Provider.ctx?.state[CLIENT_GENERATION]
  return typeof generation === 'number' ? generation : undefined
}
