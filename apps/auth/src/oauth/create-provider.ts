/*
 * Configures oidc-provider: grants, scopes, features and policies. `override-provider.ts` changes the library beyond its
 * configuration. `provider-adapters.ts` and `app-adapters.ts` contain its storage.
 * `oauth-routes.ts` and `app-routes.ts` contain the routes that call it.
 */
import { ASSERTION_ALGORITHMS, RULES, Scope } from '@plainpath/domain'
import { type Limiter, Problem, spendLimits } from '@plainpath/http'
import { AGENT_GRANT_TYPES, listResourceNames, type ServiceUrls } from '@plainpath/metadata'
import type { Context, Next } from 'koa'
import compose from 'koa-compose'
import Provider, {
  type Account,
  type AdapterFactory,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { ConnectionStore } from '../connections/connection-store.ts'
import type { InstanceKeys } from '../keys/signing-key.ts'
import { LIMITS } from '../limits.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import { computeTokenSeconds, grantScope, requireProof } from './agent-token.ts'
import { findAppRequest } from './app-request.ts'
import { type JwtBearerDeps, registerJwtBearerGrant } from './jwt-bearer-grant.ts'
import { type OverrideDeps, overrideProvider, replaceScope } from './override-provider.ts'

export interface ProviderDeps extends OverrideDeps, JwtBearerDeps {
  adapter: AdapterFactory
  resourceServers: () => readonly ResourceServer[]
  /** A 32-byte secret that DPoP nonces are derived from. It is the same in every instance. */
  dpopNonceSecret: Buffer
  connections: Pick<ConnectionStore, 'find'>
  limiter: Pick<Limiter, 'take'>
  /** The key that signs sign-in cookies. It is the same in every instance. */
  cookieKey: string
}

/**
 * The paths of the OAuth endpoints. oidc-provider serves them, except that `oauth-routes.ts` serves the key set, and
 * `app-routes.ts` the revocations by apps. Requests for other endpoints of oidc-provider never reach it.
 */
export const OAUTH_PATHS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks.json',
}

/** The path of the sign-in pages, without the id of the interaction. */
export const SIGN_IN_PATH = '/oauth/sign-in'

/** The only scope of apps: it lets them send, see and withdraw a person's messages. Public operations need no scope. */
export const APP_SCOPE = 'contact:write' satisfies Scope
const AUTHORIZATION_CODE_SECONDS = 60

/** Creates the Provider, without I/O or timers. */
export function createProvider(deps: ProviderDeps): Provider {
  const provider = new Provider(deps.urls.origin, buildConfiguration(deps))
  overrideProvider(provider, deps)
  registerJwtBearerGrant(provider, deps)
  return provider
}

/**
 * Holds the current Provider. Each change of the keys replaces it, because oidc-provider reads the keys only in its constructor.
 */
export interface ProviderSlot {
  middleware(ctx: Context, next: Next): Promise<void>
  /** The current Provider. */
  readonly provider: Provider
  /** Replaces the Provider with one for the new keys. */
  swap(keys: InstanceKeys): void
}

export function createProviderSlot(
  build: (keys: InstanceKeys) => Provider,
  initialKeys: InstanceKeys,
): ProviderSlot {
  const composeProvider = (provider: Provider) => ({ provider, serve: compose(provider.middleware) })
  let current = composeProvider(build(initialKeys))
  return {
    middleware: (ctx, next) => current.serve(ctx, next),
    get provider() {
      return current.provider
    },
    swap(keys) {
      current = composeProvider(build(keys))
    },
  }
}

function buildConfiguration(deps: ProviderDeps): Configuration {
  const { urls, adapter, keys, resourceServers, dpopNonceSecret, now } = deps
  const algorithm = keys.signing.alg
  return {
    adapter,
    jwks: { keys: [keys.signing] },
    routes: OAUTH_PATHS,
    scopes: Scope.options,
    responseTypes: ['code'],
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // The library need not revoke the grant. On reuse, or if an app revokes its refresh token, we revoke the connection's
    // verification, which revokes all its tokens (`app-adapters.ts`, `app-routes.ts`).
    revokeGrantPolicy: () => false,
    // No session is stored (`app-adapters.ts`).
    expiresWithSession: async () => false,
    cookies: { keys: [deps.cookieKey] },
    interactions: { url: (_ctx, { uid }) => `${SIGN_IN_PATH}/${uid}` },
    findAccount: (ctx, agentId) => findAccount(ctx, agentId, deps),
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      grant_types: [...AGENT_GRANT_TYPES],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: algorithm,
      introspection_signed_response_alg: algorithm,
    },
    enabledJWA: {
      introspectionSigningAlgValues: ['ES256', 'EdDSA'],
      idTokenSigningAlgValues: ['ES256', 'EdDSA'],
      dPoPSigningAlgValues: [...ASSERTION_ALGORITHMS],
    },
    ttl: {
      ClientCredentials: (ctx) => computeTokenSeconds(ctx, now()),
      AccessToken: (ctx) => Math.min(RULES.appTokenMs / 1000, computeRemainingConnectionSeconds(ctx, now())),
      RefreshToken: (ctx) => computeRemainingConnectionSeconds(ctx, now()),
      AuthorizationCode: AUTHORIZATION_CODE_SECONDS,
      Grant: RULES.claimMs / 1000,
      Interaction: RULES.signInMs / 1000,
      Session: RULES.signInMs / 1000,
    },
    clientBasedCORS: () => false,
    renderError: async (ctx, out) => {
      ctx.type = 'json'
      ctx.body = out
    },
    // The jwt-bearer grant sets `extra`.
    extraTokenClaims: async (_ctx, token) => ('extra' in token ? token.extra : undefined),
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: true, nonceSecret: dpopNonceSecret, requireNonce: () => true },
      clientCredentials: { enabled: true },
      jwtIntrospection: { enabled: true },
      introspection: {
        enabled: true,
        // The library's default policy lets every client that authenticates introspect every token.
        allowedPolicy: async (_ctx, client, token) => {
          const server = resourceServers().find(({ client_id }) => client_id === client.clientId)
          const [audience] = [(token as { aud?: string | string[] }).aud].flat()
          // The API is one resource server with two audiences: its own, and the audience of the tokens of apps.
          return (
            server !== undefined &&
            (audience === server.audience || (audience === urls.signedInMcp && server.audience === urls.base))
          )
        },
      },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => {
          if (token.clientId !== client.clientId) throw new Problem('foreign-token')
          return true
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async (ctx) => (findAppRequest(ctx) ? urls.signedInMcp : urls.base),
        useGrantedResource: async () => true,
        getResourceServerInfo: async (ctx, resource, client) => {
          if (findAppRequest(ctx)) {
            if (resource !== urls.signedInMcp) throw new errors.InvalidTarget()
            return { scope: APP_SCOPE, audience: resource, accessTokenFormat: 'opaque' }
          }
          if (resource !== urls.base) throw createInvalidTargetProblem(urls)
          requireProof(ctx, client)
          const allowedScopes = Scope.options.filter((scope) => client.scope?.split(' ').includes(scope))
          const granted = grantScope(ctx.oidc.params?.['scope'] as string | undefined, allowedScopes)
          if (!granted.ok)
            throw new Problem('invalid-scope', { detail: formatNoScopeDetail(allowedScopes, urls) })
          replaceScope(ctx, granted.value)
          return {
            scope: Scope.options.join(' '),
            audience: urls.base,
            accessTokenTTL: computeTokenSeconds(ctx, now()),
            accessTokenFormat: 'opaque',
          }
        },
      },
    },
  }
}

/**
 * Finds the connection (the library's *account*) to which a sign-in, code or refresh token belongs. Also stores it in the app
 * request, which needs it for token lifetimes and storage, and counts the request against the connection's client limits.
 *
 * @returns undefined if the request is not from an app, or if the connection has ended, ends within a second, or belongs to
 *   another app
 * @throws {Problem} `rate-limited`
 */
async function findAccount(
  ctx: KoaContextWithOIDC,
  id: string,
  { connections, limiter, now }: Pick<ProviderDeps, 'connections' | 'limiter' | 'now'>,
): Promise<Account | undefined> {
  const request = findAppRequest(ctx)
  const connection = await connections.find(id, now())
  if (!request || connection?.appClientId !== request.client.id) return undefined
  request.connection = connection
  if (computeRemainingConnectionSeconds(ctx, now()) < 1) return undefined
  for (const policy of LIMITS.client) spendLimits(ctx, await limiter.take(policy, connection.agentId))
  return { accountId: connection.agentId, claims: async () => ({ sub: connection.agentId }) }
}

/** Computes the remaining lifetime of the app request's connection, in whole seconds. */
function computeRemainingConnectionSeconds(ctx: object, now: Date): number {
  const connection = findAppRequest(ctx)?.connection
  if (!connection) throw new Error('cannot compute a lifetime: the app request has no connection')
  return Math.floor((connection.expiresAt.getTime() - now.getTime()) / 1000)
}

/** Creates the problem for a `resource` parameter (RFC 8707) that does not name the API. */
export const createInvalidTargetProblem = (urls: ServiceUrls) => {
  const resourceParameters = listResourceNames(urls).map((name) => `resource=${name}`)
  return new Problem('invalid-target', {
    detail: `Leave resource out, or send ${resourceParameters.join(' or ')}`,
  })
}

/** Formats the detail for a client that is allowed none of the requested scopes. */
const formatNoScopeDetail = (allowedScopes: readonly Scope[], urls: ServiceUrls) =>
  `This client can have: ${allowedScopes.join(' ')}. The grant client_credentials never gives contact:write. ` +
  'For that scope, a person must first confirm the client by e-mail. ' +
  `Begin with POST ${urls.claim}; the steps are in ${urls.authVerifiedEmail}.`
