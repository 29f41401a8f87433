import {
  type Limiter,
  type LimitPolicy,
  Problem,
  publicCaching,
  readForm,
  spendLimits,
} from '@plainpath/http'
import { sha256 } from '@plainpath/sealing'
import type { Context, Middleware } from 'koa'
import { type AuthenticateClient, authorizationHeaders } from '../clients/authenticate-client.ts'
import { readCredentials } from '../clients/read-credentials.ts'
import {
  notAResourceServer,
  type ResourceServer,
  verifyResourceServer,
} from '../resource-servers/resource-servers.ts'
import { INTROSPECTED_HASH, ROUTES } from './create-provider.ts'
import { throwProviderFailure } from './provider-answer.ts'
import type { ProviderSlot } from './provider-slot.ts'
import { replayForm } from './replay-form.ts'

export interface OAuthRouteDeps {
  provider: ProviderSlot
  authenticate: AuthenticateClient
  resourceServers: readonly ResourceServer[]
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
  [ROUTES.jwks]: { methods: ['GET', 'HEAD'], handle: jwks },
}

export function oauthRoutes(surface: Surface, deps: OAuthRouteDeps): Middleware {
  return async (ctx, next) => {
    const entry = Object.hasOwn(surface, ctx.path) ? surface[ctx.path] : undefined
    if (!entry) return next()
    ctx.state['route'] = ctx.path
    if (!entry.methods.includes(ctx.method)) {
      const allow = entry.methods.join(', ')
      throw new Problem('method-not-allowed', { detail: `Use ${allow} here.`, headers: { allow } })
    }
    await entry.handle(ctx, deps)
  }
}

async function token(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const hint = 'Send it as: curl -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials'
  if (/^application\/json\b/i.test(ctx.get('content-type'))) {
    throw new Problem('invalid-request', { detail: `The token endpoint reads forms, not JSON. ${hint}` })
  }
  const form = await authenticatedForm(ctx, deps, hint)
  if (!form.get('scope')?.trim()) form.delete('scope')
  await passToProvider(ctx, deps, form)
}

async function revoke(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const form = await authenticatedForm(ctx, deps, 'Send it as: -d token=…')
  const presented = requiredToken(form)
  // RFC 7009 §2.2: a token that never was is no error.
  if (TOKEN.test(presented)) await passToProvider(ctx, deps, form)
  ctx.status = 200
  ctx.body = ''
}

async function authenticatedForm(ctx: Context, deps: OAuthRouteDeps, hint: string): Promise<URLSearchParams> {
  const address = String(ctx.state['address'])
  for (const policy of deps.limits.address)
    spendLimits(ctx, await deps.limiter.takeForAddress(policy, address))
  const form = await readForm(ctx, hint)
  const repeated = [...new Set(form.keys())].find(
    (name) => name !== 'resource' && form.getAll(name).length > 1,
  )
  if (repeated !== undefined)
    throw new Problem('invalid-request', { detail: 'A parameter is sent twice (RFC 6749, section 3.2).' })
  const caller = await deps.authenticate(ctx, form)
  ctx.state['caller'] = caller
  for (const policy of deps.limits.client) spendLimits(ctx, await deps.limiter.take(policy, caller.clientId))
  return form
}

async function introspect(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const credentials = readCredentials(authorizationHeaders(ctx))
  if (!credentials.ok || !verifyResourceServer(deps.resourceServers, credentials.value))
    throw notAResourceServer()
  if (!ctx.get('accept').toLowerCase().includes(JWT_ANSWER)) {
    throw new Problem('not-acceptable', { detail: `Introspection is answered as ${JWT_ANSWER} only.` })
  }
  const form = await readForm(ctx, 'Send it as: -d token=…')
  const presented = requiredToken(form)
  ctx.state[INTROSPECTED_HASH] = sha256(presented).toString('base64url')
  ctx.req.headers.accept = JWT_ANSWER
  // The library refuses what looks like a JWT; RFC 7662 §2.2 wants "not active" for anything that is no token of ours.
  await passToProvider(
    ctx,
    deps,
    new URLSearchParams({ token: TOKEN.test(presented) ? presented : 'not-a-token' }),
  )
}

function requiredToken(form: URLSearchParams): string {
  const [presented, another] = form.getAll('token')
  if (!presented || another !== undefined)
    throw new Problem('invalid-request', { detail: 'Send the parameter token exactly once.' })
  return presented
}

async function passToProvider(ctx: Context, deps: OAuthRouteDeps, form: URLSearchParams): Promise<void> {
  replayForm(ctx.req, form)
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

async function jwks(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const address = String(ctx.state['address'])
  for (const policy of deps.limits.documents)
    spendLimits(ctx, await deps.limiter.takeForAddress(policy, address))
  const content = JSON.stringify({ keys: deps.provider.ring.published })
  ctx.type = 'application/json'
  ctx.body = content
  publicCaching(ctx, content)
}

async function authorize(): Promise<void> {
  throw new Problem('unsupported-response-type')
}
