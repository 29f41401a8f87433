/*
 * The storage of oidc-provider: adapters from its models to this server's agents, resource servers and token stores.
 */
import { AgentId, RegistrationId } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { APP_GRANT_TYPES, GRANT_TYPES } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Adapter, AdapterPayload, AllClientMetadata } from 'oidc-provider'
import { z } from 'zod'
import { type AgentRecord, activeGeneration } from '../agents/agent-repository.ts'
import type { CachedAgents } from '../agents/cached-agents.ts'
import type { UseMarks } from '../agents/mark-use.ts'
import { provenFacts } from '../agents/proven-facts.ts'
import type { AppClient } from '../app-clients/app-client.ts'
import { invalidClient } from '../clients/invalid-client.ts'
import type { AuthEvents } from '../events.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { TokenStop, TokenStore } from '../tokens/token-store.ts'
import { currentAppRequest } from './app-request.ts'

/**
 * Adapts agents and resource servers to oidc-provider's Client model, with minimal metadata: algorithms come from
 * `clientDefaults`, so that a change of signing keys never invalidates a client.
 */
export function clientAdapter(
  find: (id: AgentId) => Promise<AgentRecord | undefined>,
  resourceServers: () => readonly ResourceServer[],
): Adapter {
  const servers = memoize((server: ResourceServer) => metadata(server.client_id, []))
  const agents = memoize(({ agent }: AgentRecord) => ({
    ...metadata(agent.id, GRANT_TYPES, agent.scopes.join(' ')),
    ...(agent.dpopBound && { dpop_bound_access_tokens: true }),
  }))
  const apps = memoize(appClientMetadata)
  return {
    ...readOnlyAdapter('clients are written by registration only'),
    /** Returns the same object as long as the record is the same: see `cacheClients`. */
    async find(id): Promise<AllClientMetadata | undefined> {
      const app = currentAppRequest()?.client
      if (app) return app.id === id ? apps(app) : undefined
      const server = resourceServers().find((each) => each.client_id === id)
      if (server) return servers(server)
      const agentId = AgentId.safeParse(id)
      const record = agentId.success ? await find(agentId.data) : undefined
      return record?.agent.status === 'active' ? agents(record) : undefined
    },
  }
}

/** The library requires a secret in the metadata. It is never compared: see `acceptInternalClientSecret`. */
const UNUSED_CLIENT_SECRET = 'authenticated-before-oidc-provider'

function memoize<From extends object>(make: (from: From) => AllClientMetadata) {
  const made = new WeakMap<From, AllClientMetadata>()
  return (from: From): AllClientMetadata => {
    const metadata = made.get(from) ?? make(from)
    made.set(from, metadata)
    return metadata
  }
}

const metadata = (client_id: string, grant_types: readonly string[], scope?: string): AllClientMetadata => ({
  client_id,
  client_secret: UNUSED_CLIENT_SECRET,
  grant_types: [...grant_types],
  response_types: [],
  redirect_uris: [],
  ...(scope !== undefined && { scope }),
})

/** Describes an app. Its metadata may have changed since the last request, so the library is given a new object then. */
const appClientMetadata = (app: AppClient): AllClientMetadata => ({
  ...metadata(app.id, APP_GRANT_TYPES),
  application_type: app.applicationType,
  redirect_uris: [...app.redirectUris],
  response_types: ['code'],
})

/** What the jwt-bearer grant adds to a token. */
const Extra = z.object({ registration_id: RegistrationId }).optional()
const Thumbprint = z.string().optional()

/**
 * Adapts the token store to oidc-provider's ClientCredentials model. The library passes the token itself as id and
 * `jti`; only its SHA-256 reaches the store.
 */
export function tokenAdapter(
  {
    tokens,
    cachedAgents,
  }: { tokens: Pick<TokenStore, 'save' | 'find' | 'revoke'>; cachedAgents: Pick<CachedAgents, 'find'> },
  {
    marks,
    events,
    authenticatedGeneration,
    bindContact,
  }: {
    marks: Pick<UseMarks, 'mark'>
    events: AuthEvents
    /** The client's generation when the request was authenticated. */
    authenticatedGeneration: () => number | undefined
    /** Sets the lock on `contact:write`: see `contact-binding.ts`. @returns the generation that the token gets */
    bindContact: (id: AgentId, generation: number) => Promise<number>
  },
): Adapter {
  /** The generation of an active agent, as cached in this process. */
  const findGeneration = async (id: AgentId) => activeGeneration(await cachedAgents.find(id))
  const stopSeen = notifyOnAdvance(({ epoch }) => events.emit('tokens-stopped', { epoch }))
  return {
    ...readOnlyAdapter('tokens are issued by the token endpoint only'),
    async upsert(token, payload) {
      const clientId = AgentId.parse(payload.clientId)
      const generation = authenticatedGeneration()
      if (generation === undefined)
        throw new Error('a token is stored for a client that was not authenticated')
      const record = await cachedAgents.find(clientId)
      if (activeGeneration(record) === undefined) throw invalidClient()
      const scope = payload['scope'] ?? ''
      const isContact = scope.split(' ').includes('contact:write')
      const jkt = Thumbprint.parse(payload['jkt'])
      if (isContact && jkt === undefined && record?.agent.contactBoundSince !== undefined)
        throw new Problem('dpop-proof-required', { detail: CONTACT_IS_BOUND })
      if (!(await marks.mark(clientId))) throw invalidClient()
      const stop = await tokens.save(sha256(token), {
        clientId,
        generation: isContact && jkt !== undefined ? await bindContact(clientId, generation) : generation,
        scope,
        audience: String([payload['aud']].flat()[0]),
        issuedAt: new Date(Number(payload.iat) * 1000),
        expiresAt: new Date(Number(payload.exp) * 1000),
        claimId: Extra.parse(payload['extra'])?.registration_id,
        ...(jkt !== undefined && { jkt }),
      })
      if (stop) stopSeen(stop)
      events.emit('token-issued', { scopes: scope.split(' ').filter(Boolean) })
    },
    async find(token): Promise<AdapterPayload | undefined> {
      const found = await tokens.find(sha256(token))
      if (!found) return undefined
      // The store has checked the generation. This process may know a newer one, which the store's cache lost. If this
      // process knows an older one, its own cache is stale and the token is valid: revoking it must work.
      const generation = await findGeneration(found.clientId)
      if (generation === undefined || generation > found.generation) return undefined
      return {
        kind: 'ClientCredentials',
        jti: token,
        clientId: found.clientId,
        scope: found.scope,
        aud: found.audience,
        ...(found.jkt && { jkt: found.jkt }),
        iat: Math.floor(found.issuedAt.getTime() / 1000),
        exp: Math.floor(found.expiresAt.getTime() / 1000),
        extra: {
          ...(found.claimId
            ? { identity_type: 'verified_email', registration_id: found.claimId }
            : { identity_type: 'anonymous' }),
          ...provenFacts(found.clientId, found.claimId !== undefined),
        },
      }
    },
    destroy: (token) => tokens.revoke(sha256(token)),
  }
}

const CONTACT_IS_BOUND =
  'This client got a token for contact:write that is bound to a key, so that scope needs a DPoP proof. ' +
  'Send one, request other scopes, or allow it without a proof by DELETE /api/agent/dpop-required-scopes.'

/** Calls back when a stop has advanced since the last call. Not for the first call: that stop may be old. */
function notifyOnAdvance(risen: (stop: TokenStop) => void): (stop: TokenStop) => void {
  const toPosition = ({ epoch, issuedBefore }: TokenStop) => [epoch, issuedBefore?.getTime() ?? 0] as const
  let last: readonly [number, number] | undefined
  return (stop) => {
    const [epoch, before] = toPosition(stop)
    if (last && (epoch > last[0] || before > last[1])) risen(stop)
    last = [Math.max(epoch, last?.[0] ?? 0), Math.max(before, last?.[1] ?? 0)]
  }
}

/** Creates an adapter that finds nothing and refuses writes, for models that this server never stores. */
export function readOnlyAdapter(because: string): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error(because)
  }
  const nothing = async () => undefined
  return {
    upsert: refuse,
    find: nothing,
    findByUserCode: nothing,
    findByUid: nothing,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  }
}
