/*
 * Configures oidc-provider: grants, scopes, features and policies. Changes to the library beyond its configuration are in
 * `override-provider.ts`, its storage in `provider-adapters.ts`, and the routes that reach it in `oauth-routes.ts`.
 */
import {
  AgentId,
  ASSERTION_ALGORITHMS,
  err,
  ok,
  type Result,
  RULES,
  Scope,
  type StandingClaim,
} from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { GRANT_TYPES, JWT_BEARER_GRANT, resourceNames, type ServiceUrls } from '@plainpath/metadata'
import type { Context, Next } from 'koa'
import compose from 'koa-compose'
import Provider, { type AdapterFactory, type Configuration } from 'oidc-provider'
import { z } from 'zod'
import { DOCUMENT_EXPIRES_AT } from '../clients/authenticate-client.ts'
import { invalidClient } from '../clients/invalid-client.ts'
import type { InstanceKeys } from '../keys/signing-key.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import { proofChecks } from './override-proofs.ts'
import { type OverrideDeps, overrideProvider, replaceScope } from './override-provider.ts'

export interface ProviderDeps extends OverrideDeps {
  adapter: AdapterFactory
  resourceServers: () => readonly ResourceServer[]
  /** 32 bytes from which DPoP nonces are derived, the same at every instance. */
  dpopNonceSecret: Buffer
  /** @returns the claim for which an identity assertion of this client was issued; undefined for an invalid one */
  exchangeAssertion(assertion: string, clientId: AgentId): Promise<StandingClaim | undefined>
  now: () => Date
}

const TOKEN_SECONDS = RULES.tokenMs / 1000

/**
 * Returns the lifetime of a token that the client of the request may get, in seconds: an hour, or the rest of the lifetime
 * of the document that the client's keys are from. A key that is gone from a document therefore has no token once the
 * stored document has expired.
 *
 * @throws {Problem} `invalid-client` when it expired since the client was authenticated
 */
function tokenSeconds({ state }: Pick<Context, 'state'>, now: Date): number {
  const expiresAt = z.date().optional().parse(state[DOCUMENT_EXPIRES_AT])
  if (expiresAt === undefined) return TOKEN_SECONDS
  const left = Math.floor((expiresAt.getTime() - now.getTime()) / 1000)
  if (left < 1)
    throw invalidClient('The stored copy of your document has just expired. Send the request again.')
  return Math.min(TOKEN_SECONDS, left)
}

/** The paths that oidc-provider serves. Requests for its other endpoints never reach it. */
export const ROUTES = {
  token: '/oauth/token',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks.json',
}

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
  let current = compose(build(first).middleware)
  return {
    middleware: (ctx: Context, next: Next): Promise<void> => current(ctx, next),
    swap(ring: InstanceKeys): void {
      current = compose(build(ring).middleware)
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
    responseTypes: [],
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
    ttl: { ClientCredentials: (ctx) => tokenSeconds(ctx, now()) },
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
          return (
            server !== undefined &&
            [(token as { aud?: string | string[] }).aud].flat().includes(server.audience)
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
        defaultResource: async () => urls.base,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (ctx, resource, client) => {
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

/** Creates the problem for a `resource` parameter (RFC 8707) that is no name of the API. */
export const otherResource = (urls: ServiceUrls) => {
  const named = resourceNames(urls).map((name) => `resource=${name}`)
  return new Problem('invalid-target', { detail: `Leave resource out, or send ${named.join(' or ')}` })
}

const nothingLeft = (allowed: readonly Scope[], urls: ServiceUrls) =>
  `This client can have: ${allowed.join(' ')}. The grant client_credentials never gives contact:write. ` +
  `A person must first confirm the client by e-mail. Begin with POST ${urls.claim}; the steps are in ${urls.authVerifiedEmail}.`

/**
 * Registers the grant of RFC 7523 §2.1 for identity assertions that this server issued. By then, `oauth-routes.ts` has
 * authenticated the client and checked `resource`, and the Provider has checked that the client may use the grant.
 *
 * The token uses the library's ClientCredentials model, which has no user account either. It carries its claim as
 * `registration_id`, and never outlasts it.
 */
function registerJwtBearerGrant(provider: Provider, deps: ProviderDeps): void {
  const resource = deps.urls.base
  provider.registerGrantType<{ assertion?: string; scope?: string }>(
    JWT_BEARER_GRANT,
    async (ctx) => {
      const { client, params } = ctx.oidc
      requireProof(ctx, client)
      const checks = proofChecks(provider, ctx)
      const proof = await checks.validate()
      if (!params.assertion) throw new Problem('invalid-request', { detail: MISSING })
      const claim = await deps.exchangeAssertion(params.assertion, AgentId.parse(client.clientId))
      if (!claim) throw new Problem('invalid-grant', { detail: INVALID })
      const scope = grantScope(params.scope, Scope.options)
      if (!scope.ok)
        throw new Problem('invalid-scope', {
          detail: `This grant gives these scopes: ${Scope.options.join(' ')}.`,
        })
      const left = Math.floor((claim.expiresAt.getTime() - deps.now().getTime()) / 1000)
      if (left < 1) throw new Problem('invalid-grant', { detail: INVALID })
      const token = new provider.ClientCredentials({
        client,
        scope: scope.value,
        expiresIn: Math.min(tokenSeconds(ctx, deps.now()), left),
        extra: { registration_id: claim.id },
        resourceServer: new provider.ResourceServer(resource, {
          scope: Scope.options.join(' '),
          audience: resource,
          accessTokenFormat: 'opaque',
        }),
      })
      await checks.bind(token, proof)
      ctx.oidc.entity('ClientCredentials', token)
      ctx.body = {
        access_token: await token.save(),
        expires_in: token.expiration,
        token_type: token.tokenType,
        scope: token.scope,
      }
    },
    ['assertion', 'scope', 'resource'],
    ['resource'],
  )
}

const MISSING = 'Send the identity assertion as the form field assertion.'
const INVALID =
  'The identity assertion was not issued to this client, has expired, or its confirmation has expired or was revoked. Get another one ' +
  'with POST /api/agent/assertion. If that responds no_claim, do not ask the person again on your own.'

/**
 * Refuses a request without a DPoP proof for a client that registered `dpop_bound_access_tokens`. The library does so too,
 * but as `invalid_grant` and without a reason.
 */
function requireProof(ctx: Context, client: { readonly dpopBoundAccessTokens?: boolean | undefined }): void {
  if (client.dpopBoundAccessTokens && !ctx.get('dpop'))
    throw new Problem('dpop-proof-required', { detail: ALL_ARE_BOUND })
}

const ALL_ARE_BOUND =
  'This client registered dpop_bound_access_tokens, so each token request needs a proof: send one in the DPoP header (RFC 9449).'

/**
 * Determines the scope of a token: the requested scope, narrowed to what the client may have (RFC 6749 §3.3), or all of
 * that when the request has no scope.
 *
 * @param requested the `scope` parameter; empty counts as absent
 */
export function grantScope(
  requested: string | undefined,
  allowed: readonly Scope[],
): Result<string, 'nothing-left'> {
  const words = requested?.split(' ').filter(Boolean) ?? []
  const granted = words.length === 0 ? allowed : allowed.filter((scope) => words.includes(scope))
  return granted.length > 0 ? ok(granted.join(' ')) : err('nothing-left')
}
