import {
  headersNamed,
  type Limiter,
  type LimitPolicy,
  Problem,
  publicCaching,
  readForm,
  spendLimits,
} from '@plainpath/http'
import { sha256 } from '@plainpath/sealing'
import type { Context, Middleware } from 'koa'
import type { AuthenticateClient } from '../clients/authenticate-client.ts'
import { readCredentials } from '../clients/read-credentials.ts'
import {
  notAResourceServer,
  type ResourceServer,
  type VerifiedServer,
  verifyResourceServer,
} from '../resource-servers/resource-servers.ts'
import { INTROSPECTED_HASH, otherResource, ROUTES, WITH_EMAIL } from './create-provider.ts'
import type { GateVoucher } from './gate-voucher.ts'
import { throwProviderFailure } from './provider-answer.ts'
import type { ProviderSlot } from './provider-slot.ts'
import { replayForm } from './replay-form.ts'

export interface OAuthRouteDeps {
  provider: ProviderSlot
  /** The only resource that tokens are issued for (RFC 8707). */
  resource: string
  authenticate: AuthenticateClient
  vouch: GateVoucher
  resourceServers: {
    current(): readonly ResourceServer[]
    /** Told of each credential that was right. */
    used(verified: VerifiedServer): void
  }
  signing: {
    /** @throws {Problem} when this instance may not sign now, since it may have missed a change of keys */
    requireCurrent(): void
    isCurrent(): boolean
    /** How long an API may believe the key set. */
    trustMs: number
    publicMaxAgeSeconds: number
  }
  /** @param hash SHA-256 of the token */
  revokeToken(hash: Buffer): Promise<void>
  /** Returns when no API uses an answer about the token any more. @param hash base64url of its SHA-256 */
  announceEnd(hash: string): Promise<void>
  /** When a client that has just got a token ends unless it gets another. */
  clientExpiry(clientId: string): Date | undefined
  limiter: Limiter
  limits: {
    address: readonly LimitPolicy[]
    client: readonly LimitPolicy[]
    documents: readonly LimitPolicy[]
  }
}

type Handler = (ctx: Context, deps: OAuthRouteDeps) => Promise<void>
type Surface = Readonly<Record<string, { readonly methods: readonly string[]; readonly handle: Handler }>>

/** An access token of ours; whatever looks otherwise was never issued. */
const TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/
const JWT_ANSWER = 'application/token-introspection+jwt'

/** What the public may reach below `/oauth/`: exact, case-sensitive paths. Everything else there is 404. */
export const PUBLIC_OAUTH: Surface = {
  [ROUTES.token]: { methods: ['POST'], handle: token },
  [ROUTES.revocation]: { methods: ['POST'], handle: revoke },
  [ROUTES.jwks]: { methods: ['GET', 'HEAD'], handle: jwks },
  '/oauth/authorize': { methods: ['GET', 'HEAD', 'POST'], handle: authorize },
}

/** What resource servers reach, on the internal listener. */
export const INTERNAL_OAUTH: Surface = {
  [ROUTES.introspection]: { methods: ['POST'], handle: introspect },
  [ROUTES.jwks]: { methods: ['GET', 'HEAD'], handle: internalJwks },
}

export function oauthRoutes(surface: Surface, deps: OAuthRouteDeps): Middleware {
  return async (ctx, next) => {
    const entry = Object.hasOwn(surface, ctx.path) ? surface[ctx.path] : undefined
    if (!entry) {
      await next()
      return
    }
    ctx.state['route'] = ctx.path
    if (!entry.methods.includes(ctx.method)) {
      const allow = entry.methods.join(', ')
      throw new Problem('method-not-allowed', { detail: `Use ${allow} here.`, headers: { allow } })
    }
    await entry.handle(ctx, deps)
  }
}

async function token(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  await countForAddress(ctx, deps, deps.limits.address)
  const hint = 'Send it as: curl -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials'
  if (/^application\/json\b/i.test(ctx.get('content-type'))) {
    throw new Problem('invalid-request', { detail: `The token endpoint reads forms, not JSON. ${hint}` })
  }
  const { form, clientId } = await authenticatedForm(ctx, deps, hint)
  if (!form.get('scope')?.trim()) form.delete('scope')
  const resources = form.getAll('resource').filter(Boolean)
  if (resources.length > 1 || (resources[0] ?? deps.resource) !== deps.resource)
    throw otherResource(deps.resource)
  await passToProvider(ctx, deps, form, clientId)
  const expiry = deps.clientExpiry(clientId)
  if (expiry) ctx.body = { ...(ctx.body as object), client_expires_at: expiry.toISOString() }
}

async function revoke(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  await countForAddress(ctx, deps, deps.limits.address)
  const { form, clientId } = await authenticatedForm(ctx, deps, 'Send it as: -d token=…')
  const presented = requiredToken(form)
  // RFC 7009 §2.2: a token that never was is no error.
  if (TOKEN.test(presented)) {
    await passToProvider(ctx, deps, form, clientId)
    // It passes over one that a change half way through has made dead for now: that would come back when the change is forgotten.
    const hash = sha256(presented)
    await deps.revokeToken(hash)
    // Also for one that is gone already: whoever ended it may still be waiting, or may have failed at this.
    await deps.announceEnd(hash.toString('base64url'))
  }
  ctx.status = 200
  ctx.body = ''
  ctx.remove('content-type')
}

async function countForAddress(
  ctx: Context,
  deps: OAuthRouteDeps,
  policies: readonly LimitPolicy[],
): Promise<void> {
  for (const policy of policies)
    spendLimits(ctx, await deps.limiter.takeForAddress(policy, String(ctx.state['address'])))
}

async function authenticatedForm(
  ctx: Context,
  deps: OAuthRouteDeps,
  hint: string,
): Promise<{ form: URLSearchParams; clientId: string }> {
  const form = await readForm(ctx, hint)
  const repeated = [...new Set(form.keys())].find(
    (name) => name !== 'resource' && form.getAll(name).length > 1,
  )
  if (repeated !== undefined)
    throw new Problem('invalid-request', { detail: 'A parameter is sent twice (RFC 6749, section 3.2).' })
  const { clientId } = await deps.authenticate(ctx, form)
  for (const policy of deps.limits.client) spendLimits(ctx, await deps.limiter.take(policy, clientId))
  return { form, clientId }
}

async function introspect(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const credentials = readCredentials(headersNamed(ctx.req, 'authorization'))
  const verified = credentials.ok && verifyResourceServer(deps.resourceServers.current(), credentials.value)
  if (!credentials.ok || !verified) throw notAResourceServer()
  deps.resourceServers.used(verified)
  if (!ctx.get('accept').toLowerCase().includes(JWT_ANSWER)) {
    throw new Problem('not-acceptable', { detail: `Introspection is answered as ${JWT_ANSWER} only.` })
  }
  deps.signing.requireCurrent()
  const form = await readForm(ctx, 'Send it as: -d token=…')
  const presented = requiredToken(form)
  ctx.state[INTROSPECTED_HASH] = sha256(presented).toString('base64url')
  ctx.state[WITH_EMAIL] = form.getAll('claims').some((claims) => claims.split(' ').includes('email'))
  ctx.req.headers.accept = JWT_ANSWER
  // The library refuses what looks like a JWT; RFC 7662 §2.2 wants "not active" for anything that is no token of ours.
  await passToProvider(
    ctx,
    deps,
    new URLSearchParams({ token: TOKEN.test(presented) ? presented : 'not-a-token' }),
    verified.server.client_id,
  )
}

function requiredToken(form: URLSearchParams): string {
  const [presented, another] = form.getAll('token')
  if (!presented || another !== undefined)
    throw new Problem('invalid-request', { detail: 'Send the parameter token exactly once.' })
  return presented
}

async function passToProvider(
  ctx: Context,
  deps: OAuthRouteDeps,
  form: URLSearchParams,
  clientId: string,
): Promise<void> {
  replayForm(ctx.req, form, { clientId, voucher: deps.vouch(clientId) })
  const cors = ctx.response.get('access-control-allow-origin')
  // oidc-provider leaves CORS alone where one of its headers is set already.
  ctx.set(
    'access-control-expose-headers',
    ctx.response.get('access-control-expose-headers') || 'WWW-Authenticate',
  )
  await deps.provider.middleware(ctx, async () => {})
  if (!cors) ctx.remove('access-control-expose-headers')
  throwProviderFailure(ctx)
}

/** For anybody, from memory, whatever is down; what may miss a change is kept by no cache. */
async function jwks(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  await countForAddress(ctx, deps, deps.limits.documents)
  const content = JSON.stringify({ keys: deps.provider.ring.published })
  ctx.type = 'application/json'
  ctx.body = content
  publicCaching(ctx, content)
  const age = `public, max-age=${deps.signing.publicMaxAgeSeconds}`
  if (!deps.signing.isCurrent()) ctx.set('cache-control', 'no-store')
  else if (!ctx.get('authorization')) ctx.set('cache-control', age)
}

/** For APIs: they ask often, and `trust_seconds` bounds how long they believe a key that was revoked meanwhile. */
async function internalJwks(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  deps.signing.requireCurrent()
  ctx.body = { keys: deps.provider.ring.published, trust_seconds: deps.signing.trustMs / 1000 }
}

async function authorize(): Promise<void> {
  throw new Problem('unsupported-response-type')
}
