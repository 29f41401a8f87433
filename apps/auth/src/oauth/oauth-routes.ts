/*
 * The OAuth routes, public and internal. They read the form, apply limits, authenticate the client and check what
 * oidc-provider does not; then oidc-provider serves the request.
 */
import {
  clientLimits,
  headersNamed,
  Problem,
  publicCaching,
  type RawRoute,
  readForm,
  spendLimits,
} from '@plainpath/http'
import { resourceNames, type ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Context } from 'koa'
import type { UseMarks } from '../agents/mark-use.ts'
import { mayNameApp } from '../clients/authenticate-app.ts'
import type { AuthenticateClient } from '../clients/authenticate-client.ts'
import { findProofFault } from '../clients/dpop-proof.ts'
import { readCredentials } from '../clients/read-credentials.ts'
import type { KeyFollower } from '../keys/key-follower.ts'
import type { KeySettings } from '../keys/key-settings.ts'
import { CLIENT_LIMITS, LIMITS } from '../limits.ts'
import type { FollowedResourceServers } from '../resource-servers/follow-resource-servers.ts'
import { notAResourceServer, verifyResourceServer } from '../resource-servers/resource-servers.ts'
import { REFRESH_TOKEN_PREFIX } from './app-adapters.ts'
import {
  APP_GRANTS,
  type AppRouteDeps,
  appRoutes,
  appToken,
  requiredToken,
  revokeForApp,
} from './app-routes.ts'
import { otherResource, ROUTES } from './create-provider.ts'
import { INTROSPECTED_HASH, passToProvider, WITH_EMAIL } from './override-provider.ts'

export interface OAuthRouteDeps extends AppRouteDeps {
  authenticate: AuthenticateClient
  resourceServers: Pick<FollowedResourceServers, 'current' | 'used'>
  signing: Pick<KeyFollower, 'keys' | 'requireCurrent' | 'isCurrent'>
  keySettings: Pick<KeySettings, 'trustMs' | 'publicMaxAgeSeconds'>
  marks: Pick<UseMarks, 'findExpiry'>
}

/** The form of every access token. Anything else was never issued. */
const TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/
const JWT_RESPONSE = 'application/token-introspection+jwt'

/** Creates the public routes below `/oauth/`, with exact, case-sensitive paths. Everything else there is 404. */
export function publicOAuthRoutes(deps: OAuthRouteDeps): RawRoute[] {
  const { address, documents } = LIMITS
  return [
    { methods: ['POST'], path: ROUTES.token, limits: address, serve: (ctx) => token(ctx, deps) },
    { methods: ['POST'], path: ROUTES.revocation, limits: address, serve: (ctx) => revoke(ctx, deps) },
    { methods: ['GET', 'HEAD'], path: ROUTES.jwks, limits: documents, serve: (ctx) => jwks(ctx, deps) },
    ...appRoutes(deps),
  ]
}

/** Creates the routes for resource servers, on the internal listener. */
export const internalOAuthRoutes = (deps: OAuthRouteDeps): RawRoute[] => [
  { methods: ['POST'], path: ROUTES.introspection, limits: [], serve: (ctx) => introspect(ctx, deps) },
  { methods: ['GET', 'HEAD'], path: ROUTES.jwks, limits: [], serve: (ctx) => internalJwks(ctx, deps) },
]

async function token(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const hint = 'Send it as: curl -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials'
  if (/^application\/json\b/i.test(ctx.get('content-type'))) {
    throw new Problem('invalid-request', { detail: `The token endpoint accepts a form, not JSON. ${hint}` })
  }
  const form = await readOAuthForm(ctx, hint)
  if (APP_GRANTS.has(form.get('grant_type') ?? '') && mayNameApp(form)) {
    if (ctx.req.headers['dpop'] !== undefined) requireWellFormedProof(ctx, deps)
    return await appToken(ctx, deps, form)
  }
  const clientId = await authenticateForm(ctx, deps, form, { mayBegin: true })
  if (!form.get('scope')?.trim()) form.delete('scope')
  requireOwnResource(form, deps.urls)
  if (ctx.req.headers['dpop'] !== undefined) requireWellFormedProof(ctx, deps)
  await passToProvider(ctx, deps, form, clientId)
  const expiry = deps.marks.findExpiry(clientId)
  if (expiry) ctx.body = { ...(ctx.body as object), client_expires_at: expiry.toISOString() }
}

/**
 * Checks `resource` (RFC 8707), and replaces it by the name that oidc-provider knows: a token has the same audience under
 * each name of the API.
 *
 * @throws {Problem} `invalid-target`
 */
function requireOwnResource(form: URLSearchParams, urls: ServiceUrls): void {
  const resources = form.getAll('resource').filter(Boolean)
  const [resource] = resources
  if (resource === undefined) return
  if (resources.length > 1 || !resourceNames(urls).includes(resource)) throw otherResource(urls)
  form.set('resource', urls.base)
}

/**
 * Refuses a DPoP proof that cannot be good. Only once the client is authenticated and its limits are counted, so that
 * nobody else causes this work.
 *
 * @throws {Problem} `invalid-dpop-proof`
 */
function requireWellFormedProof(ctx: Context, { urls, now }: OAuthRouteDeps): void {
  // Node joins several headers to one.
  const detail = findProofFault(headersNamed(ctx.req, 'dpop'), { url: urls.token, now: now() })
  if (detail !== undefined) throw new Problem('invalid-dpop-proof', { detail })
}

async function revoke(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const form = await readOAuthForm(ctx, 'Send it as: -d token=$TOKEN')
  if (await isForApp(form, deps)) await revokeForApp(ctx, deps, form)
  else await revokeForAgent(ctx, deps, form)
  ctx.status = 200
  // RFC 7009 §2.2 has clients ignore the body. Some parse it as JSON all the same (simple-oauth2), and fail on an empty one.
  ctx.body = {}
}

async function revokeForAgent(ctx: Context, deps: OAuthRouteDeps, form: URLSearchParams): Promise<void> {
  const clientId = await authenticateForm(ctx, deps, form)
  const presented = requiredToken(form)
  // RFC 7009 §2.2: an unknown token is no error.
  if (TOKEN.test(presented)) {
    await passToProvider(ctx, deps, form, clientId)
    // The library ignores a token that it does not find, also one that a revocation in progress hides for now. Should
    // that revocation fail, the token would become valid again.
    const hash = sha256(presented)
    await deps.stores.tokens.revoke(hash)
    // Also for a token that was revoked before: that request may still be waiting, or have failed at this step.
    await deps.stores.revoker.publishRevocation({ kind: 'token', hash: hash.toString('base64url') })
  }
}

/**
 * Decides whether a revocation is an app's. A URL may be the id of an agent and of an app: an app without keys sends no
 * assertion, and for one with keys the token decides.
 */
async function isForApp(form: URLSearchParams, { stores }: Pick<OAuthRouteDeps, 'stores'>): Promise<boolean> {
  if (!mayNameApp(form)) return false
  const presented = form.get('token') ?? ''
  if (form.get('client_id')?.startsWith('app_') || presented.startsWith(REFRESH_TOKEN_PREFIX)) return true
  if (!form.has('client_assertion')) return true
  const found = TOKEN.test(presented) ? await stores.tokens.find(sha256(presented)) : undefined
  return found !== undefined && found.clientId !== form.get('client_id')
}

/** Reads the form of a request, of which no parameter but `resource` may occur twice. */
async function readOAuthForm(ctx: Context, hint: string): Promise<URLSearchParams> {
  const form = await readForm(ctx, hint)
  const repeated = [...new Set(form.keys())].find(
    (name) => name !== 'resource' && form.getAll(name).length > 1,
  )
  if (repeated !== undefined)
    throw new Problem('invalid-request', {
      detail: 'A parameter occurs more than once (RFC 6749, section 3.2).',
    })
  return form
}

/** Authenticates an agent, and counts the request against its limits. @returns its id */
async function authenticateForm(
  ctx: Context,
  deps: OAuthRouteDeps,
  form: URLSearchParams,
  options?: { mayBegin: boolean },
): Promise<string> {
  const client = await deps.authenticate(ctx, form, options)
  for (const { policy, subject } of clientLimits(CLIENT_LIMITS, client))
    spendLimits(ctx, await deps.limiter.take(policy, subject))
  return client.clientId
}

async function introspect(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const credentials = readCredentials(headersNamed(ctx.req, 'authorization'))
  const verified = credentials.ok && verifyResourceServer(deps.resourceServers.current(), credentials.value)
  if (!credentials.ok || !verified) throw notAResourceServer()
  deps.resourceServers.used(verified)
  if (!ctx.get('accept').toLowerCase().includes(JWT_RESPONSE)) {
    throw new Problem('not-acceptable', {
      detail: `Introspection responses are available as ${JWT_RESPONSE} only.`,
    })
  }
  deps.signing.requireCurrent()
  const request = await readForm(ctx, 'Send it as: -d token=$TOKEN')
  const presented = requiredToken(request)
  ctx.state[INTROSPECTED_HASH] = sha256(presented).toString('base64url')
  ctx.state[WITH_EMAIL] = request.getAll('claims').some((claims) => claims.split(' ').includes('email'))
  ctx.req.headers.accept = JWT_RESPONSE
  // The library refuses what looks like a JWT; RFC 7662 §2.2 wants "not active" for anything that is no token of ours.
  // With the hint, it does not look among the refresh tokens for a token that it finds.
  const form = new URLSearchParams({
    token: TOKEN.test(presented) ? presented : 'not-a-token',
    token_type_hint: 'access_token',
  })
  await passToProvider(ctx, deps, form, verified.server.client_id)
}

/** Serves the key set from memory, so even while a store is down (contract §2); not cacheable once the lease has expired. */
async function jwks(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const content = JSON.stringify({ keys: deps.signing.keys.published })
  ctx.type = 'application/json'
  ctx.body = content
  publicCaching(ctx, content)
  const age = `public, max-age=${deps.keySettings.publicMaxAgeSeconds}`
  if (!deps.signing.isCurrent()) ctx.set('cache-control', 'no-store')
  else if (!ctx.get('authorization')) ctx.set('cache-control', age)
}

/** Serves the key set to APIs. They fetch it often; `trust_seconds` bounds how long they may trust a revoked key. */
async function internalJwks(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  deps.signing.requireCurrent()
  ctx.body = { keys: deps.signing.keys.published, trust_seconds: deps.keySettings.trustMs / 1000 }
}
