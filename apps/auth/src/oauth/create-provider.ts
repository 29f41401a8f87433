import { Scope } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import { equalBytes } from '@plainpath/sealing'
import Provider, { type Adapter, type AdapterFactory, type Client, type Configuration } from 'oidc-provider'
import type { ExchangeAssertion } from '../assertions/exchange-assertion.ts'
import type { InstanceKeys } from '../keys/instance-keys.ts'
import { jwsSigner } from '../keys/jws-signer.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { GateVoucher } from './gate-voucher.ts'
import { grantScope } from './grant-scope.ts'
import { registerJwtBearerGrant } from './jwt-bearer-grant.ts'

export interface ProviderDeps {
  urls: ServiceUrls
  adapter: AdapterFactory
  ring: InstanceKeys
  vouch: GateVoucher
  resourceServers: () => readonly ResourceServer[]
  exchangeAssertion: ExchangeAssertion
  /** The address of a claim that stands. */
  emailOf(claimId: string): Promise<string | undefined>
  now: () => Date
  /** Of the store through which APIs are told of ends; undefined where they are not. */
  revocationMark: () => string | undefined
}

const TOKEN_SECONDS = 3600

/** What oidc-provider answers; the paths of everything else it offers are never passed to it. */
export const ROUTES = {
  token: '/oauth/token',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks.json',
}

/** Builds the OAuth server. Pure wiring, no I/O, no timers: a new key ring means a new Provider. */
export function createProvider(deps: ProviderDeps): Provider {
  const provider = new Provider(deps.urls.origin, configuration(deps))
  // Its URLs would be built from the Host of the request.
  provider.OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options)
  makeTokensOurs(provider)
  const client = provider.Client.prototype as Client & { compareClientSecret(presented: string): boolean }
  client.compareClientSecret = function compareClientSecret(presented) {
    return equalBytes(Buffer.from(deps.vouch(this.clientId)), Buffer.from(presented))
  }
  keepClients(provider)
  signOurAnswers(provider, deps)
  registerJwtBearerGrant(provider, { ...deps, resource: deps.urls.base, tokenSeconds: TOKEN_SECONDS })
  return provider
}

/** Tokens are `ppt_` and what the library makes: 43 characters of 64, from random bytes that it gets in large pieces. */
function makeTokensOurs(provider: Provider): void {
  const prototype = provider.ClientCredentials.prototype as unknown as { generateTokenId(): string }
  const { generateTokenId } = prototype
  prototype.generateTokenId = function generateOurTokenId() {
    return `ppt_${generateTokenId.call(this)}`
  }
}

/**
 * The library makes a client from its metadata for each request, but for the 100 seen last, and that takes longer than all
 * else a token takes. Ours is kept exactly as long as the adapter gives the same metadata object, so it is never older
 * than what this process knows of the agent.
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
 * They are all that is signed in the library, which would hand each to the thread pool.
 */
function signOurAnswers(
  provider: Provider,
  { urls, ring, emailOf, revocationMark }: Pick<ProviderDeps, 'urls' | 'ring' | 'emailOf' | 'revocationMark'>,
): void {
  type Issuing = {
    ctx: { state: Record<string, unknown> }
    client: Client
    extra: { token_introspection?: { active?: boolean; registration_id?: string; email?: string } }
    issue(): Promise<string>
  }
  const sign = jwsSigner(ring.signing, 'token-introspection+jwt')
  const prototype = provider.IdToken.prototype as unknown as Issuing
  prototype.issue = async function issueBound() {
    const { state } = this.ctx
    const { token_introspection: about } = this.extra
    const mark = revocationMark()
    const isKept = !state[WITH_EMAIL] && about?.active === true && mark !== undefined
    const email = state[WITH_EMAIL] && about?.registration_id && (await emailOf(about.registration_id))
    return sign({
      iss: urls.origin,
      aud: this.client.clientId,
      // By the clock that the library takes its times from.
      // oxlint-disable-next-line no-restricted-properties -- a point in time beside others that the library takes from that clock
      iat: Math.floor(Date.now() / 1000),
      token_hash: state[INTROSPECTED_HASH],
      ...(isKept && { revocation_mark: mark }),
      token_introspection: email ? { ...about, email } : about,
    })
  }
}

function configuration({ urls, adapter, ring, resourceServers }: ProviderDeps): Configuration {
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
    },
    ttl: { ClientCredentials: () => TOKEN_SECONDS },
    clientBasedCORS: () => false,
    renderError: async (ctx, out) => {
      ctx.type = 'json'
      ctx.body = out
    },
    // What the jwt-bearer grant put there.
    extraTokenClaims: async (_ctx, token) => ('extra' in token ? token.extra : undefined),
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      clientCredentials: { enabled: true },
      jwtIntrospection: { enabled: true },
      introspection: {
        enabled: true,
        // The library's own policy lets any client introspect any token.
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
          if (resource !== urls.base) throw otherResource(urls.base)
          const allowed = Scope.options.filter((scope) => client.scope?.split(' ').includes(scope))
          const granted = grantScope(ctx.oidc.params?.['scope'] as string | undefined, allowed)
          if (!granted.ok) throw new Problem('invalid-scope', { detail: nothingLeft(allowed, urls) })
          if (ctx.oidc.params) ctx.oidc.params['scope'] = granted.value
          return {
            scope: Scope.options.join(' '),
            audience: urls.base,
            accessTokenTTL: TOKEN_SECONDS,
            accessTokenFormat: 'opaque',
          }
        },
      },
    },
  }
}

/** For a `resource` parameter (RFC 8707) that is not the API. */
export const otherResource = (base: string) =>
  new Problem('invalid-target', { detail: `Leave resource out, or send resource=${base}` })

const nothingLeft = (allowed: readonly Scope[], urls: ServiceUrls) =>
  `This client may have: ${allowed.join(' ')}. contact:write needs a verified e-mail address, never client_credentials: a person ` +
  `has to confirm the client. Begin with POST ${urls.claim}; ${urls.authMd} leads through it.`
