import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { FORM_TYPE, Problem, type ProblemCode } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { equalBytes } from '@plainpath/sealing'
import type { Context, Middleware } from 'koa'
import Provider, { type Adapter, type Client, type KoaContextWithOIDC } from 'oidc-provider'
import { z } from 'zod'
import { BASIC_CHALLENGE, CLIENT_GENERATION } from '../clients/authenticate-client.ts'
import { jwsSigner } from '../keys/jws-signer.ts'
import type { InstanceKeys } from '../keys/signing-key.ts'

/*
 * Everything that this server needs of oidc-provider beyond its configuration, grants and adapters. Each part says:
 *
 *   Replaces  what the library does by itself
 *   API       public: documented, or typed by @types/oidc-provider; internal: neither, so any release may change it
 *   Test      the test in override-provider.test.ts that fails when a release changes it
 *
 * The comment before it says why. Read this file, and run that test, before the version of the library is raised.
 */

export interface OverrideDeps {
  urls: ServiceUrls
  ring: InstanceKeys
  vouch: GateVoucher
  /** The address of a claim that stands. */
  emailOf(claimId: string): Promise<string | undefined>
  /** Of the store through which APIs are told of ends; undefined where they are not. */
  revocationMark: () => string | undefined
}

export function overrideProvider(provider: Provider, deps: OverrideDeps): void {
  useConfiguredOrigin(provider)
  prefixTokens(provider)
  acceptVouchers(provider, deps.vouch)
  keepClients(provider)
  signIntrospection(provider, deps)
  handOnThrown(provider)
}

/**
 * URLs would be built from the Host of the request, which anybody may choose.
 *
 * Replaces `OIDCContext#urlFor`, by the Provider's method of the same name, which begins with the issuer.
 * API      public: both are typed.
 * Test     'the library makes its addresses from our origin, whatever Host says'
 */
function useConfiguredOrigin(provider: Provider): void {
  provider.OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options)
}

/**
 * Tokens are `ppt_` and what the library makes: 43 characters of 64, from random bytes that it gets in large pieces. The
 * prefix tells a token of ours from anything else; the library has settings for the length alone.
 *
 * Replaces `ClientCredentials#generateTokenId`, which it calls.
 * API      internal.
 * Test     'a token is ppt_ and 43 characters, in the answer and in the store'
 */
function prefixTokens(provider: Provider): void {
  const prototype = provider.ClientCredentials.prototype as unknown as { generateTokenId(): string }
  const { generateTokenId } = prototype
  prototype.generateTokenId = function generatePrefixedTokenId() {
    return `ppt_${generateTokenId.call(this)}`
  }
}

/** What the gate says to oidc-provider in place of the secret or assertion by which it has recognised a client. */
export type GateVoucher = (clientId: string) => string

/** Vouchers of this process: nobody outside of it can know one, and none is written down or sent. */
export function gateVoucher(): GateVoucher {
  const unguessable = randomBytes(32).toString('base64url')
  return (clientId) => `${unguessable}.${clientId}`
}

/**
 * The gate has authenticated a client before the library sees its request, and vouches for it (`passToProvider`). So the
 * library is given no secret of a client, and the gate is the one place that judges secrets and assertions.
 *
 * Replaces `Client#compareClientSecret`, which compares with `client_secret` of the client's metadata.
 * API      public: typed.
 * Test     'a client is let in by the gate’s voucher for it alone'
 */
function acceptVouchers(provider: Provider, vouch: GateVoucher): void {
  provider.Client.prototype.compareClientSecret = function compareVoucher(presented) {
    return equalBytes(Buffer.from(vouch(this.clientId)), Buffer.from(presented))
  }
}

/**
 * The library makes a client from its metadata for each request, but for the 100 seen last, and that takes longer than all
 * else a token takes. Ours is kept exactly as long as the adapter gives the same metadata object, so it is never older
 * than what this process knows of the agent.
 *
 * Replaces `Client.find`, which it calls for a metadata object that is new.
 * API      public: `find` is typed; internal: `Client.adapter`.
 * Test     'keeps a client as long as its metadata is the same object, and not a moment longer'
 */
function keepClients(provider: Provider): void {
  type Finding = { adapter: Adapter; find(id: string): Promise<Client | undefined> }
  const clients = provider.Client as unknown as Finding
  const find = clients.find.bind(clients)
  const kept = new WeakMap<object, Client>()
  clients.find = async (id) => {
    const metadata = typeof id === 'string' && id ? await clients.adapter.find(id) : undefined
    if (!metadata) return find(id)
    const client = kept.get(metadata) ?? (await find(id))
    if (client) kept.set(metadata, client)
    return client
  }
}

/** State members in which the introspection gate leaves the SHA-256 of the token, and whether the address is asked for. */
export const INTROSPECTED_HASH = 'introspectedTokenHash'
export const WITH_EMAIL = 'introspectedWithEmail'

/**
 * RFC 9701 answers do not say which token they are about, so two of them could be swapped on the way; `token_hash`
 * beside `token_introspection` says it. `revocation_mark` says that an API which follows that store may keep the answer.
 * The address of a claim is looked up last, and only for who asked for it; such an answer is not to be kept.
 *
 * The library would hand each signature to the thread pool, which takes longer than making it. These are all that it signs.
 *
 * Replaces `IdToken#issue`, which takes the key from the configured `jwks`.
 * API      public: `issue`, `ctx`, `client` and `extra` are typed; internal: that `extra.token_introspection` is the answer.
 * Test     'an introspection is signed by us, and names its token'
 */
function signIntrospection(
  provider: Provider,
  { urls, ring, emailOf, revocationMark }: Pick<OverrideDeps, 'urls' | 'ring' | 'emailOf' | 'revocationMark'>,
): void {
  type Introspection = { active?: boolean; registration_id?: string; email?: string }
  const sign = jwsSigner(ring.signing, 'token-introspection+jwt')
  provider.IdToken.prototype.issue = async function issueIntrospection() {
    const state: Record<string, unknown> = this.ctx.state
    const about = this.extra['token_introspection'] as Introspection | undefined
    const mark = revocationMark()
    const isKept = !state[WITH_EMAIL] && about?.active === true && mark !== undefined
    const email = state[WITH_EMAIL] && about?.registration_id && (await emailOf(about.registration_id))
    return sign({
      iss: urls.origin,
      aud: this.client.clientId,
      // By the clock that the library takes its times from.
      // oxlint-disable-next-line no-restricted-properties -- no other clock says what the library has written
      iat: Math.floor(Date.now() / 1000),
      token_hash: state[INTROSPECTED_HASH],
      ...(isKept && { revocation_mark: mark }),
      token_introspection: email ? { ...about, email } : about,
    })
  }
}

/**
 * The library turns whatever is thrown inside it into a body of its own. What it does not know, such as a `Problem` of ours
 * or a failure of a store, goes on in `ctx.state.thrown`, so that one place answers all failures.
 *
 * Replaces nothing: it listens to `server_error`.
 * API      public: the event is documented; internal: that it is emitted before the middleware returns.
 * Test     'what is thrown inside the library is thrown on as it was'
 */
function handOnThrown(provider: Provider): void {
  provider.on('server_error', (ctx, error) => {
    ctx.state['thrown'] = error
  })
}

/**
 * Lets oidc-provider answer a request of a client that the gate has recognised.
 *
 * The gate has decided about origins. The library would decide again, and leaves CORS alone where one of its headers is
 * set already.
 *
 * Replaces the library's own CORS.
 * API      internal: that it looks for a header that begins with `access-control-`.
 * Test     'the library leaves CORS to the gate'
 *
 * @throws {Problem} or what was thrown inside the library
 */
export async function passToProvider(
  ctx: Context,
  { provider, vouch }: { provider: { middleware: Middleware }; vouch: GateVoucher },
  form: URLSearchParams,
  clientId: string,
): Promise<void> {
  replayForm(ctx.req, form, { clientId, voucher: vouch(clientId) })
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
 * Lets oidc-provider read a form that we have read already, so that there are no two opinions about what was sent.
 *
 * Replaces the body and headers of the request: whatever the client showed makes way for what the gate says of it.
 * API      internal: that the library reads while `request.readable`, by `request.iterator()`, and holds the length against
 *          `Content-Length`. A body that was parsed by others is documented, as not recommended, and is warned of.
 * Test     'the library reads the form that the gate has read'
 */
function replayForm(
  request: IncomingMessage,
  form: URLSearchParams,
  { clientId, voucher }: { clientId: string; voucher: string },
): void {
  for (const name of ['client_assertion', 'client_assertion_type']) form.delete(name)
  form.set('client_id', clientId)
  form.set('client_secret', voucher)
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
 * Lets a token have a scope other than the one that was asked for: the library gives a token without any scope where none
 * was asked for, or none of those that the client may have.
 *
 * Replaces the parameter `scope` of the request, while `getResourceServerInfo` runs.
 * API      public: `ctx.oidc.params` is typed; internal: that the library reads `scope` after it has asked for the resource.
 * Test     'the scope that is set while the library asks for the resource is the token’s'
 */
export function replaceScope(ctx: KoaContextWithOIDC, scope: string): void {
  if (ctx.oidc.params) ctx.oidc.params['scope'] = scope
}

/**
 * The generation under which the gate authenticated the client whose token the library is storing: adapters get no request.
 *
 * Replaces nothing: it reads `Provider.ctx`, the request that the library works on.
 * API      public: it is typed.
 * Test     'while a token is stored, the generation that the gate put into the request can be read'
 */
export const authenticatedGeneration = (): number | undefined => {
  const state: Record<string, unknown> | undefined = Provider.ctx?.state
  return z.number().optional().parse(state?.[CLIENT_GENERATION])
}

const OAuthError = z.object({ error: z.string(), error_description: z.string().optional() })

const CODES: Readonly<Record<string, ProblemCode>> = {
  invalid_request: 'invalid-request',
  invalid_client: 'invalid-client',
  invalid_grant: 'invalid-grant',
  invalid_scope: 'invalid-scope',
  invalid_target: 'invalid-target',
  unauthorized_client: 'unauthorized-client',
  unsupported_grant_type: 'unsupported-grant-type',
  unsupported_token_type: 'unsupported-token-type',
  server_error: 'internal-error',
  temporarily_unavailable: 'unavailable',
}

/** What RFC 6749 §5.2 calls unauthorized_client, the library calls invalid_request. */
const NOT_ALLOWED_GRANT = 'requested grant type is not allowed for this client'

/**
 * Turns what oidc-provider answered to a failure into the problem that is answered instead.
 *
 * Replaces the library's error responses.
 * API      public: their members are those of RFC 6749 §5.2; internal: the text of `NOT_ALLOWED_GRANT`.
 * Test     'a grant that a client may not use is unauthorized_client'
 *
 * @throws {Problem} or what was thrown inside the library; returns when the answer is no failure
 */
export function throwProviderFailure(ctx: Context): void {
  const { thrown } = ctx.state
  if (thrown !== undefined) throw thrown
  if (ctx.status < 400) return
  const parsed = OAuthError.safeParse(ctx.body)
  if (!parsed.success) throw new Problem(ctx.status === 404 ? 'not-found' : 'invalid-request')
  const { error, error_description: description } = parsed.data
  const code = description === NOT_ALLOWED_GRANT ? 'unauthorized-client' : (CODES[error] ?? 'invalid-request')
  throw new Problem(code, {
    ...(description && code === 'invalid-request' && { detail: sentence(description) }),
    ...(code === 'invalid-client' && { headers: BASIC_CHALLENGE }),
  })
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
