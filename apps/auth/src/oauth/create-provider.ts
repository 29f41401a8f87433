/*
 * Configures oidc-provider: grants, scopes, features and policies. Changes to the library beyond its configuration are in
 * `override-provider.ts`, its storage in `provider-adapters.ts`, and the routes that reach it in `oauth-routes.ts`.
 */
import { ASSERTION_ALGORITHMS, RULES, Scope } from '@plainpath/domain'
import { type Limiter, Problem, spendLimits } from '@plainpath/http'
import { GRANT_TYPES, resourceNames, type ServiceUrls } from '@plainpath/metadata'
import type { Context, Next } from 'koa'
import compose from 'koa-compose'
import Provider, {
  type Account,
  type AdapterFactory,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { Connections } from '../connections/connection-store.ts'
import type { InstanceKeys } from '../keys/signing-key.ts'
import { LIMITS } from '../limits.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import { grantScope, requireProof, tokenSeconds } from './agent-token.ts'
import { appRequestOf } from './app-request.ts'
import { type JwtBearerDeps, registerJwtBearerGrant } from './jwt-bearer-grant.ts'
import { type OverrideDeps, overrideProvider, replaceScope } from './override-provider.ts'

export interface ProviderDeps extends OverrideDeps, JwtBearerDeps {
  adapter: AdapterFactory
  resourceServers: () => readonly ResourceServer[]
  /** 32 bytes from which DPoP nonces are derived, the same at every instance. */
  dpopNonceSecret: Buffer
  connections: Pick<Connections, 'find'>
  limiter: Pick<Limiter, 'take'>
  /** Signs the cookies that bind a sign-in to the browser that began it. The same at every instance. */
  cookieKey: string
}

/** The paths that oidc-provider serves. Requests for its other endpoints never reach it. */
export const ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks.json',
}

/** The path of the sign-in pages, without the id of the interaction. */
export const SIGN_IN_PATH = '/oauth/sign-in'
/** The one scope of apps: with it a person's messages are sent, seen and withdrawn. What is public needs none. */
export const APP_SCOPE = 'contact:write' satisfies Scope
const AUTHORIZATION_CODE_SECONDS = 60

/** Builds the Provider, without I/O or timers. A change of the key ring needs a new one. */
export function createProvider(deps: ProviderDeps): Provider {
  const provider = new Provider(deps.urls.origin, configuration(deps))
  overrideProvider(provider, deps)
  registerJwtBearerGrant(provider, deps)
  return provider
}

/**
 * Holds the Provider in use, so that one with a new key ring can replace it between two requests: oidc-provider reads
 * its keys only in its constructor.
 */
export function providerSlot(build: (ring: InstanceKeys) => Provider, first: InstanceKeys) {
  const open = (provider: Provider) => ({ provider, serve: compose(provider.middleware) })
  let current = open(build(first))
  return {
    middleware: (ctx: Context, next: Next): Promise<void> => current.serve(ctx, next),
    /** The Provider in use now. */
    get provider(): Provider {
      return current.provider
    },
    swap(ring: InstanceKeys): void {
      current = open(build(ring))
    },
  }
}

export type ProviderSlot = ReturnType<typeof providerSlot>

function configuration(deps: ProviderDeps): Configuration {
  const { urls, adapter, ring, resourceServers, dpopNonceSecret, now } = deps
  const algorithm = ring.signing.alg
  return {
    adapter,
    jwks: { keys: [ring.signing] },
    routes: ROUTES,
    scopes: Scope.options,
    claims: { acr: null, sid: null, auth_time: null, iss: null },
    responseTypes: ['code'],
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Nothing outlasts the claim of the connection, which ends instead: see `app-adapters.ts`.
    revokeGrantPolicy: () => false,
    expiresWithSession: async () => false,
    cookies: { keys: [deps.cookieKey] },
    interactions: { url: (_ctx, { uid }) => `${SIGN_IN_PATH}/${uid}` },
    findAccount: (ctx, agentId) => findAccount(ctx, agentId, deps),
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      grant_types: [...GRANT_TYPES],
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
      ClientCredentials: (ctx) => tokenSeconds(ctx, now()),
      AccessToken: (ctx) => Math.min(RULES.appTokenMs / 1000, connectionSeconds(ctx, now())),
      RefreshToken: (ctx) => connectionSeconds(ctx, now()),
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
    // Set by the jwt-bearer grant.
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
        // The library's default policy lets any client introspect any token.
        allowedPolicy: async (_ctx, client, token) => {
          const server = resourceServers().find((each) => each.client_id === client.clientId)
          const [audience] = [(token as { aud?: string | string[] }).aud].flat()
          // The API is one resource server with two audiences: its own, and that of the tokens of people.
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
        defaultResource: async (ctx) => (appRequestOf(ctx) ? urls.signedInMcp : urls.base),
        useGrantedResource: async () => true,
        getResourceServerInfo: async (ctx, resource, client) => {
          if (appRequestOf(ctx)) {
            if (resource !== urls.signedInMcp) throw new errors.InvalidTarget()
            return { scope: APP_SCOPE, audience: resource, accessTokenFormat: 'opaque' }
          }
          if (resource !== urls.base) throw otherResource(urls)
          requireProof(ctx, client)
          const allowed = Scope.options.filter((scope) => client.scope?.split(' ').includes(scope))
          const granted = grantScope(ctx.oidc.params?.['scope'] as string | undefined, allowed)
          if (!granted.ok) throw new Problem('invalid-scope', { detail: nothingLeft(allowed, urls) })
          replaceScope(ctx, granted.value)
          return {
            scope: Scope.options.join(' '),
            audience: urls.base,
            accessTokenTTL: tokenSeconds(ctx, now()),
            accessTokenFormat: 'opaque',
          }
        },
      },
    },
  }
}

/**
 * Finds the account of a sign-in, a code or a refresh token, which is its connection, and counts the request against the
 * limits of an agent.
 *
 * @returns undefined when the connection has ended, or is about to, or belongs to another app
 * @throws {Problem} `rate-limited`
 */
async function findAccount(
  ctx: KoaContextWithOIDC,
  id: string,
  { connections, limiter, now }: Pick<ProviderDeps, 'connections' | 'limiter' | 'now'>,
): Promise<Account | undefined> {
  const request = appRequestOf(ctx)
  const connection = await connections.find(id, now())
  if (!request || connection?.appClientId !== request.client.id) return undefined
  request.connection = connection
  if (connectionSeconds(ctx, now()) < 1) return undefined
  for (const policy of LIMITS.client) spendLimits(ctx, await limiter.take(policy, connection.agentId))
  return { accountId: connection.agentId, claims: async () => ({ sub: connection.agentId }) }
}

/** Returns the rest of the lifetime of the connection that the request is about, in seconds. */
function connectionSeconds(ctx: object, now: Date): number {
  const connection = appRequestOf(ctx)?.connection
  if (!connection) throw new Error('a token is issued for no connection')
  return Math.floor((connection.expiresAt.getTime() - now.getTime()) / 1000)
}

/** Creates the problem for a `resource` parameter (RFC 8707) that is no name of the API. */
export const otherResource = (urls: ServiceUrls) => {
  const named = resourceNames(urls).map((name) => `resource=${name}`)
  return new Problem('invalid-target', { detail: `Leave resource out, or send ${named.join(' or ')}` })
}

const nothingLeft = (allowed: readonly Scope[], urls: ServiceUrls) =>
  `This client can have: ${allowed.join(' ')}. The grant client_credentials never gives contact:write. ` +
  `A person must first confirm the client by e-mail. Begin with POST ${urls.claim}; the steps are in ${urls.authVerifiedEmail}.`
