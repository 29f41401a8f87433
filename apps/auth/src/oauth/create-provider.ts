/*
 * Configures oidc-provider, which serves the authorization code flow of apps: grants, scopes, features and policies.
 * `override-provider.ts` changes the library beyond its configuration. `app-adapters.ts` contains its storage, and
 * `app-routes.ts` the routes that call it. For agents, the library only checks DPoP proofs. Resource servers do not use it.
 */
import { ASSERTION_ALGORITHMS, RULES, Scope } from '@plainpath/domain'
import { enforceLimits, type Limiter } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import Provider, {
  type Account,
  type AdapterFactory,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { ConnectionStore } from '../connections/connection-store.ts'
import { generateKeyPair } from '../keys/signing-key.ts'
import { LIMITS } from '../limits.ts'
import { findAppRequest } from './app-request.ts'
import { type OverrideDeps, overrideProvider } from './override-provider.ts'

export interface ProviderDeps extends OverrideDeps {
  urls: ServiceUrls
  adapter: AdapterFactory
  /** A 32-byte secret that DPoP nonces are derived from. It is the same in every instance. */
  dpopNonceSecret: Buffer
  connections: Pick<ConnectionStore, 'find'>
  limiter: Pick<Limiter, 'take'>
  /** The key that signs sign-in cookies. It is the same in every instance. */
  cookieKey: string
  now: () => Date
}

/**
 * The paths of the OAuth endpoints. oidc-provider serves the authorization endpoint and the grants of apps; `oauth-routes.ts` and
 * `app-routes.ts` serve everything else. Requests for other endpoints of oidc-provider never reach it.
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
/** For settings that the library requires, although it signs nothing. */
const UNUSED_ALGORITHM = 'ES256'

/** Creates the Provider, without I/O or timers. */
export function createProvider(deps: ProviderDeps): Provider {
  const provider = new Provider(deps.urls.origin, buildConfiguration(deps))
  overrideProvider(provider, deps)
  return provider
}

function buildConfiguration(deps: ProviderDeps): Configuration {
  const { urls, adapter, dpopNonceSecret, now } = deps
  return {
    adapter,
    // The library signs nothing: it has no ID tokens and no JWT access tokens to issue. But it requires a key.
    jwks: { keys: [generateKeyPair(UNUSED_ALGORITHM).privateJwk] },
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
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: UNUSED_ALGORITHM,
    },
    enabledJWA: {
      idTokenSigningAlgValues: [UNUSED_ALGORITHM],
      dPoPSigningAlgValues: [...ASSERTION_ALGORITHMS],
    },
    ttl: {
      AccessToken: (ctx) => Math.min(RULES.appTokenMs / 1000, computeRemainingConnectionSeconds(ctx, now())),
      RefreshToken: (ctx) => computeRemainingConnectionSeconds(ctx, now()),
      AuthorizationCode: AUTHORIZATION_CODE_SECONDS,
      Grant: RULES.verificationMs / 1000,
      Interaction: RULES.signInMs / 1000,
      Session: RULES.signInMs / 1000,
    },
    // `createApp` applies CORS: see `passToProvider`.
    clientBasedCORS: () => false,
    // `throwProviderFailure` parses this body. The library's default is an HTML page.
    renderError: async (ctx, out) => {
      ctx.type = 'json'
      ctx.body = out
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: true, nonceSecret: dpopNonceSecret, requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => urls.signedInMcp,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_ctx, resource) => {
          if (resource !== urls.signedInMcp) throw new errors.InvalidTarget()
          return { scope: APP_SCOPE, audience: resource, accessTokenFormat: 'opaque' }
        },
      },
    },
  }
}

/**
 * Finds the connection (the library's *account*) to which a sign-in, code or refresh token belongs. Also stores it in the app
 * request, which needs it for token lifetimes and storage, and counts the request against the connection's client limits.
 *
 * @returns undefined if the connection has ended, ends within a second, or belongs to another app
 * @throws {Problem} `rate-limited`
 */
async function findAccount(
  ctx: KoaContextWithOIDC,
  id: string,
  { connections, limiter, now }: Pick<ProviderDeps, 'connections' | 'limiter' | 'now'>,
): Promise<Account | undefined> {
  const request = findAppRequest(ctx)
  if (!request) throw new Error('cannot find an account: the request was not recorded as an app request')
  const connection = await connections.find(id, now())
  if (connection?.appClientId !== request.client.id) return undefined
  request.connection = connection
  if (computeRemainingConnectionSeconds(ctx, now()) < 1) return undefined
  for (const policy of LIMITS.client) enforceLimits(ctx, await limiter.take(policy, connection.agentId))
  return { accountId: connection.agentId, claims: async () => ({ sub: connection.agentId }) }
}

/** Computes the remaining lifetime of the app request's connection, in whole seconds. */
function computeRemainingConnectionSeconds(ctx: object, now: Date): number {
  const connection = findAppRequest(ctx)?.connection
  if (!connection) throw new Error('cannot compute a lifetime: the app request has no connection')
  return Math.floor((connection.expiresAt.getTime() - now.getTime()) / 1000)
}
