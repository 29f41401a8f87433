/*
 * The OAuth routes, public and internal. The token and revocation routes read the form, authenticate the agent and apply its
 * limits. The introspection route authenticates the resource server. Then `issue-agent-token.ts` issues tokens to agents,
 * `introspect-token.ts` describes tokens to resource servers, and `app-routes.ts` serves apps.
 */
import { AgentId } from '@plainpath/domain'
import {
  allowPublicCaching,
  enforceLimits,
  findHeaders,
  listClientLimits,
  Problem,
  type RawRoute,
  readForm,
} from '@plainpath/http'
import { APP_GRANT_TYPES, listResourceIdentifiers, type ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Context } from 'koa'
import type { UsageRecorder } from '../agents/usage-recorder.ts'
import { mayBeApp } from '../clients/app-authenticator.ts'
import { parseAssertion } from '../clients/client-assertion.ts'
import type { AuthenticateClient } from '../clients/client-authenticator.ts'
import { type AuthenticatedAgent, toAuthenticatedAgent } from '../clients/credential-version.ts'
import { findProofFault } from '../clients/dpop-proof.ts'
import { readCredentials } from '../clients/read-credentials.ts'
import type { KeyFollower } from '../keys/key-follower.ts'
import type { KeySettings } from '../keys/key-settings.ts'
import { CLIENT_LIMITS, LIMITS } from '../limits.ts'
import type { FollowedResourceServers } from '../resource-servers/follow-resource-servers.ts'
import { createUnknownServerProblem, verifyResourceServer } from '../resource-servers/resource-servers.ts'
import { ACCESS_TOKEN_PATTERN, REFRESH_TOKEN_PREFIX } from './access-token.ts'
import {
  type AppRouteDeps,
  belongsToApp,
  createAppRoutes,
  serveAppRevocation,
  serveAppToken,
} from './app-routes.ts'
import { OAUTH_PATHS } from './create-provider.ts'
import { findActiveToken, requireToken } from './find-active-token.ts'
import type { IntrospectToken } from './introspect-token.ts'
import type { IssueAgentToken } from './issue-agent-token.ts'
import { revokeAccessToken } from './revoke-access-token.ts'

export interface OAuthRouteDeps extends AppRouteDeps {
  authenticate: AuthenticateClient
  resourceServers: Pick<FollowedResourceServers, 'getServers' | 'recordUse'>
  signing: Pick<KeyFollower, 'keys' | 'requireLease' | 'hasLease'>
  keySettings: Pick<KeySettings, 'trustMs' | 'publicMaxAgeSeconds'>
  usage: Pick<UsageRecorder, 'findExpiry'>
  issueAgentToken: IssueAgentToken
  introspectToken: IntrospectToken
}

const JWT_MEDIA_TYPE = 'application/token-introspection+jwt'

/** Creates the public routes of the OAuth endpoints. `sign-in-routes.ts` creates the routes of the sign-in pages. */
export function createPublicOAuthRoutes(deps: OAuthRouteDeps): RawRoute[] {
  const { address, documents } = LIMITS
  return [
    { methods: ['POST'], path: OAUTH_PATHS.token, limits: address, serve: (ctx) => serveToken(ctx, deps) },
    {
      methods: ['POST'],
      path: OAUTH_PATHS.revocation,
      limits: address,
      serve: (ctx) => serveRevocation(ctx, deps),
    },
    {
      methods: ['GET', 'HEAD'],
      path: OAUTH_PATHS.jwks,
      limits: documents,
      serve: (ctx) => serveKeySet(ctx, deps),
    },
    ...createAppRoutes(deps),
  ]
}

/** Creates the routes for resource servers, on the internal listener. */
export const createInternalOAuthRoutes = (deps: OAuthRouteDeps): RawRoute[] => [
  {
    methods: ['POST'],
    path: OAUTH_PATHS.introspection,
    limits: [],
    serve: (ctx) => serveIntrospection(ctx, deps),
  },
  {
    methods: ['GET', 'HEAD'],
    path: OAUTH_PATHS.jwks,
    limits: [],
    serve: (ctx) => serveInternalKeySet(ctx, deps),
  },
]

async function serveToken(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const hint = 'Send it as: curl -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials'
  if (/^application\/json\b/i.test(ctx.get('content-type'))) {
    throw new Problem('invalid-request', { detail: `The token endpoint accepts a form, not JSON. ${hint}` })
  }
  const form = await readOAuthForm(ctx, hint)
  if (APP_GRANT_TYPES.includes(form.get('grant_type') ?? '') && mayBeApp(form)) {
    if (ctx.req.headers['dpop'] !== undefined) requireWellFormedProof(ctx, deps)
    return await serveAppToken(ctx, deps, form)
  }
  const agent = await authenticateAgent(ctx, deps, form, { isTokenRequest: true })
  requireOwnResource(form, deps.urls)
  if (ctx.req.headers['dpop'] !== undefined) requireWellFormedProof(ctx, deps)
  const token = await deps.issueAgentToken(ctx, form, agent)
  // `client_expires_at` says when the registration expires if the agent receives no further token.
  const expiry = deps.usage.findExpiry(agent.id)
  ctx.body = { ...token, ...(expiry && { client_expires_at: expiry.toISOString() }) }
}

/**
 * Requires `resource` (RFC 8707), if it is sent, to be one resource identifier for agents. It does not matter which: a token is
 * valid for all of them.
 *
 * @throws {Problem} `invalid-target`
 */
function requireOwnResource(form: URLSearchParams, urls: ServiceUrls): void {
  const values = form.getAll('resource')
  const resources = values.filter(Boolean)
  // One empty parameter counts as absent (RFC 6749 §3.2). Two are refused, since neither names a resource.
  if (resources.length === 0 && values.length < 2) return
  const [resource = '', secondResource] = resources
  if (secondResource !== undefined || !listResourceIdentifiers(urls).includes(resource))
    throw createInvalidTargetProblem(urls)
}

/** Creates the problem for a `resource` parameter (RFC 8707) that is not one resource identifier for agents. */
function createInvalidTargetProblem(urls: ServiceUrls): Problem {
  const resourceParameters = listResourceIdentifiers(urls).map((name) => `resource=${name}`)
  return new Problem('invalid-target', {
    detail: `Leave resource out, or send ${resourceParameters.join(' or ')}`,
  })
}

/**
 * Refuses a DPoP proof that cannot be valid. For an agent, this is called after the agent was authenticated and its limits were
 * applied. For an app, it is called before that: only the limit of the address bounds this work.
 *
 * @throws {Problem} `invalid-dpop-proof`
 */
function requireWellFormedProof(ctx: Context, { urls, now }: OAuthRouteDeps): void {
  // Uses `findHeaders`, because Node joins repeated headers.
  const detail = findProofFault(findHeaders(ctx.req, 'dpop'), { url: urls.token, now: now() })
  if (detail !== undefined) throw new Problem('invalid-dpop-proof', { detail })
}

async function serveRevocation(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const form = await readOAuthForm(ctx, 'Send it as: -d token=$TOKEN')
  if (await isFromApp(form, deps)) await serveAppRevocation(ctx, deps, form)
  else await serveAgentRevocation(ctx, deps, form)
  ctx.status = 200
  // Clients should ignore the body (RFC 7009 §2.2), but some, such as simple-oauth2, parse it as JSON and fail if it is empty.
  ctx.body = {}
}

async function serveAgentRevocation(
  ctx: Context,
  deps: OAuthRouteDeps,
  form: URLSearchParams,
): Promise<void> {
  const { id } = await authenticateAgent(ctx, deps, form)
  const presentedToken = requireToken(form)
  // An unknown token is not an error (RFC 7009 §2.2).
  if (!ACCESS_TOKEN_PATTERN.test(presentedToken)) return
  const hash = sha256(presentedToken)
  const token = await findActiveToken(deps.stores, hash)
  if (token && token.clientId !== id) throw new Problem('foreign-token')
  await revokeAccessToken(deps.stores, hash)
}

/**
 * Returns whether a revocation request comes from an app. A URL may be the id of both an agent and an app. Such an agent always
 * sends an assertion, but so does an app with keys. A request with an assertion is the app's if the token belongs to a connection of
 * the app, or if no agent with this URL is active.
 */
async function isFromApp(
  form: URLSearchParams,
  { stores }: Pick<OAuthRouteDeps, 'stores'>,
): Promise<boolean> {
  if (!mayBeApp(form)) return false
  const presentedToken = form.get('token') ?? ''
  if (form.get('client_id')?.startsWith('app_') || presentedToken.startsWith(REFRESH_TOKEN_PREFIX))
    return true
  if (!form.has('client_assertion')) return true
  const id = AgentId.safeParse(form.get('client_id'))
  if (!id.success) return false
  const storedToken = ACCESS_TOKEN_PATTERN.test(presentedToken)
    ? await stores.tokens.find(sha256(presentedToken))
    : undefined
  if (storedToken && (await belongsToApp(stores, storedToken.clientId, { id: id.data }))) return true
  return (await stores.agents.find(id.data))?.agent.status !== 'active'
}

/**
 * Reads the form of a request. No parameter except `resource` may occur twice. If the form has an assertion and no `client_id`,
 * which is then optional (RFC 7521 §4.2), the subject of the assertion becomes its `client_id`.
 *
 * @param hint how to send the form, for the error response
 */
async function readOAuthForm(ctx: Context, hint: string): Promise<URLSearchParams> {
  const form = await readForm(ctx, hint)
  const repeatedName = [...new Set(form.keys())].find(
    (name) => name !== 'resource' && form.getAll(name).length > 1,
  )
  if (repeatedName !== undefined)
    throw new Problem('invalid-request', {
      detail: 'A parameter occurs more than once (RFC 6749, section 3.2).',
    })
  const clientAssertion = form.get('client_assertion')
  if (clientAssertion !== null && !form.get('client_id')) {
    const assertion = parseAssertion(clientAssertion)
    if (assertion.ok) form.set('client_id', assertion.value.claims.sub)
  }
  return form
}

/** Authenticates an agent, and counts the request against its limits. */
async function authenticateAgent(
  ctx: Context,
  deps: OAuthRouteDeps,
  form: URLSearchParams,
  options?: { isTokenRequest: boolean },
): Promise<AuthenticatedAgent> {
  const client = await deps.authenticate(ctx, form, options)
  for (const { policy, subject } of listClientLimits(CLIENT_LIMITS, client))
    enforceLimits(ctx, await deps.limiter.take(policy, subject))
  return toAuthenticatedAgent(client)
}

async function serveIntrospection(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  deps.resourceServers.recordUse(requireResourceServer(ctx, deps))
  if (!ctx.get('accept').toLowerCase().includes(JWT_MEDIA_TYPE)) {
    throw new Problem('not-acceptable', {
      detail: `Introspection responses are available as ${JWT_MEDIA_TYPE} only.`,
    })
  }
  deps.signing.requireLease()
  const form = await readForm(ctx, 'Send it as: -d token=$TOKEN')
  // Not in RFC 7662: with claims=email, the response also describes the person who confirmed the agent.
  const withPerson = form.getAll('claims').some((value) => value.split(' ').includes('email'))
  // The resource server may have been removed while the body arrived.
  const { server } = requireResourceServer(ctx, deps)
  ctx.body = await deps.introspectToken(requireToken(form), server, { withPerson })
  ctx.type = `${JWT_MEDIA_TYPE}; charset=utf-8`
}

/**
 * Authenticates the resource server by HTTP Basic.
 *
 * @returns the server, and the digest of the secret that it presented
 * @throws {Problem} `invalid-client` unless the caller is a configured resource server
 */
function requireResourceServer(ctx: Context, { resourceServers }: Pick<OAuthRouteDeps, 'resourceServers'>) {
  const credentials = readCredentials(findHeaders(ctx.req, 'authorization'))
  const verified = credentials.ok && verifyResourceServer(resourceServers.getServers(), credentials.value)
  if (!verified) throw createUnknownServerProblem()
  return verified
}

/**
 * Serves the key set from memory, even while a store is unavailable. The response is not cacheable once the lease has expired.
 */
async function serveKeySet(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  const content = JSON.stringify({ keys: deps.signing.keys.publishedKeys })
  ctx.type = 'application/json'
  ctx.body = content
  allowPublicCaching(ctx, content)
  // Replaces the lifetime that `allowPublicCaching` sets. A response to a request with credentials remains uncacheable.
  const cacheControl = `public, max-age=${deps.keySettings.publicMaxAgeSeconds}`
  if (!deps.signing.hasLease()) ctx.set('cache-control', 'no-store')
  else if (!ctx.get('authorization')) ctx.set('cache-control', cacheControl)
}

/**
 * Serves the key set to APIs. `trust_seconds` is the time for which they may trust the key set after fetching it, even if a key
 * in it has been revoked since.
 */
async function serveInternalKeySet(ctx: Context, deps: OAuthRouteDeps): Promise<void> {
  deps.signing.requireLease()
  ctx.body = { keys: deps.signing.keys.publishedKeys, trust_seconds: deps.keySettings.trustMs / 1000 }
}
