/*
 * The oidc-provider storage: adapters between its models and the clients and token stores of this server. `app-adapters.ts`
 * contains those for the authorization code flow.
 */
import { AgentId, RegistrationId } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { AGENT_GRANT_TYPES, APP_GRANT_TYPES } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Adapter, AdapterPayload, AllClientMetadata } from 'oidc-provider'
import { z } from 'zod'
import type { AgentCache } from '../agents/agent-cache.ts'
import { type AgentRecord, getActiveCredentialVersion } from '../agents/agent-store.ts'
import { describeProvenFacts } from '../agents/proven-facts.ts'
import type { UsageRecorder } from '../agents/usage-recorder.ts'
import type { AppClient } from '../app-clients/app-client.ts'
import { invalidClient } from '../clients/invalid-client.ts'
import type { AuthEvents } from '../events.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { TokenCutoff, TokenStore } from '../tokens/token-store.ts'
import { getCurrentAppRequest } from './app-request.ts'

export type { Adapter } from 'oidc-provider'

/**
 * Adapts agents, apps and resource servers to oidc-provider's Client model, with minimal metadata: algorithms come from
 * `clientDefaults`, so a change of signing keys never invalidates a client.
 */
export function createClientAdapter(
  find: (id: AgentId) => Promise<AgentRecord | undefined>,
  resourceServers: () => readonly ResourceServer[],
): Adapter {
  const getServerMetadata = memoize((server: ResourceServer) => toMetadata(server.client_id, []))
  const getAgentMetadata = memoize(({ agent }: AgentRecord) => ({
    ...toMetadata(agent.id, AGENT_GRANT_TYPES, agent.scopes.join(' ')),
    ...(agent.dpopBound && { dpop_bound_access_tokens: true }),
  }))
  const getAppMetadata = memoize(toAppMetadata)
  return {
    ...createReadOnlyAdapter('clients are written by registration only'),
    /** Returns the same object while the record does not change: see `cacheClients`. */
    async find(id): Promise<AllClientMetadata | undefined> {
      const app = getCurrentAppRequest()?.client
      if (app) return app.id === id ? getAppMetadata(app) : undefined
      const server = resourceServers().find(({ client_id }) => client_id === id)
      if (server) return getServerMetadata(server)
      const agentId = AgentId.safeParse(id)
      const record = agentId.success ? await find(agentId.data) : undefined
      return record?.agent.status === 'active' ? getAgentMetadata(record) : undefined
    },
  }
}

/** The library requires a secret in the metadata. It is never compared: see `acceptInternalClientSecret`. */
const UNUSED_CLIENT_SECRET = 'authenticated-before-oidc-provider'

/** Creates a function that returns the same metadata object for the same source object. */
function memoize<From extends object>(createMetadata: (from: From) => AllClientMetadata) {
  const cache = new WeakMap<From, AllClientMetadata>()
  return (from: From): AllClientMetadata => {
    const metadata = cache.get(from) ?? createMetadata(from)
    cache.set(from, metadata)
    return metadata
  }
}

const toMetadata = (
  client_id: string,
  grant_types: readonly string[],
  scope?: string,
): AllClientMetadata => ({
  client_id,
  client_secret: UNUSED_CLIENT_SECRET,
  grant_types: [...grant_types],
  response_types: [],
  redirect_uris: [],
  ...(scope !== undefined && { scope }),
})

const toAppMetadata = (app: AppClient): AllClientMetadata => ({
  ...toMetadata(app.id, APP_GRANT_TYPES),
  application_type: app.applicationType,
  redirect_uris: [...app.redirectUris],
  response_types: ['code'],
})

/** The members that the jwt-bearer grant adds to a token. */
const Extra = z.object({ registration_id: RegistrationId }).optional()
const Thumbprint = z.string().optional()

/**
 * Adapts the token store to oidc-provider's ClientCredentials model. The library passes the token itself as
 * id and `jti`; only its SHA-256 reaches the store.
 */
export function createTokenAdapter(
  {
    tokens,
    agentCache,
  }: { tokens: Pick<TokenStore, 'save' | 'find' | 'revoke'>; agentCache: Pick<AgentCache, 'find'> },
  {
    usage,
    events,
    getCredentialVersion,
    bindContact,
  }: {
    usage: Pick<UsageRecorder, 'recordUse'>
    events: AuthEvents
    /** Returns the client's credential version at the time the request was authenticated. */
    getCredentialVersion: () => number | undefined
    /**
     * Sets the lock on `contact:write`: see `contact-binding.ts`.
     *
     * @returns the credential version for the token
     */
    bindContact: (id: AgentId, credentialVersion: number) => Promise<number>
  },
): Adapter {
  /** Finds the credential version of an active agent, through this process's cache. */
  const findActiveVersion = async (id: AgentId) => getActiveCredentialVersion(await agentCache.find(id))
  const reportCutoff = notifyOnAdvance(({ epoch }) => events.emit('tokens-stopped', { epoch }))
  return {
    ...createReadOnlyAdapter('tokens are issued by the token endpoint only'),
    async upsert(token, payload) {
      const clientId = AgentId.parse(payload.clientId)
      const credentialVersion = getCredentialVersion()
      if (credentialVersion === undefined)
        throw new Error('a token is stored for a client that was not authenticated')
      const record = await agentCache.find(clientId)
      if (getActiveCredentialVersion(record) === undefined) throw invalidClient()
      const scope = payload['scope'] ?? ''
      const isContact = scope.split(' ').includes('contact:write')
      const jkt = Thumbprint.parse(payload['jkt'])
      if (isContact && jkt === undefined && record?.agent.contactBoundSince !== undefined)
        throw new Problem('dpop-proof-required', { detail: CONTACT_IS_BOUND })
      if (!(await usage.recordUse(clientId))) throw invalidClient()
      const cutoff = await tokens.save(sha256(token), {
        clientId,
        credentialVersion:
          isContact && jkt !== undefined ? await bindContact(clientId, credentialVersion) : credentialVersion,
        scope,
        audience: String([payload['aud']].flat()[0]),
        issuedAt: new Date(Number(payload.iat) * 1000),
        expiresAt: new Date(Number(payload.exp) * 1000),
        verificationId: Extra.parse(payload['extra'])?.registration_id,
        ...(jkt !== undefined && { jkt }),
      })
      if (cutoff) reportCutoff(cutoff)
      events.emit('token-issued', { scopes: scope.split(' ').filter(Boolean) })
    },
    async find(token): Promise<AdapterPayload | undefined> {
      const storedToken = await tokens.find(sha256(token))
      if (!storedToken) return undefined
      // The store has checked the credential version, but its cache may have lost a newer one that this process knows. If this
      // process knows only an older one, its own cache is stale. The token is then valid, and must be found, for instance to be
      // revoked.
      const credentialVersion = await findActiveVersion(storedToken.clientId)
      if (credentialVersion === undefined || credentialVersion > storedToken.credentialVersion)
        return undefined
      return {
        kind: 'ClientCredentials',
        jti: token,
        clientId: storedToken.clientId,
        scope: storedToken.scope,
        aud: storedToken.audience,
        ...(storedToken.jkt && { jkt: storedToken.jkt }),
        iat: Math.floor(storedToken.issuedAt.getTime() / 1000),
        exp: Math.floor(storedToken.expiresAt.getTime() / 1000),
        extra: {
          ...(storedToken.verificationId
            ? { identity_type: 'verified_email', registration_id: storedToken.verificationId }
            : { identity_type: 'anonymous' }),
          ...describeProvenFacts(storedToken.clientId, storedToken.verificationId !== undefined),
        },
      }
    },
    destroy: (token) => tokens.revoke(sha256(token)),
  }
}

const CONTACT_IS_BOUND =
  'This client got a token for contact:write that is bound to a key, so that scope needs a DPoP proof. ' +
  'Send one, request other scopes, or allow it without a proof by DELETE /api/agent/dpop-required-scopes.'

/**
 * Creates a function that calls `onAdvance` if its cutoff is higher than those of all its earlier calls. The first call has no
 * effect, since its cutoff may be old.
 */
function notifyOnAdvance(onAdvance: (cutoff: TokenCutoff) => void): (cutoff: TokenCutoff) => void {
  const toPosition = ({ epoch, issuedBefore }: TokenCutoff) => [epoch, issuedBefore?.getTime() ?? 0] as const
  let lastPosition: readonly [number, number] | undefined
  return (cutoff) => {
    const [epoch, issuedBeforeMs] = toPosition(cutoff)
    if (lastPosition && (epoch > lastPosition[0] || issuedBeforeMs > lastPosition[1])) onAdvance(cutoff)
    lastPosition = [Math.max(epoch, lastPosition?.[0] ?? 0), Math.max(issuedBeforeMs, lastPosition?.[1] ?? 0)]
  }
}

/** Creates an adapter that finds nothing and refuses writes. Other adapters replace the methods that their models need. */
export function createReadOnlyAdapter(reason: string): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error(reason)
  }
  const findNothing = async () => undefined
  return {
    upsert: refuse,
    find: findNothing,
    findByUserCode: findNothing,
    findByUid: findNothing,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  }
}
