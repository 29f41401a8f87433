import { AgentId, RegistrationId } from '@plainpath/domain'
import { GRANT_TYPES } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Adapter, AdapterPayload, AllClientMetadata } from 'oidc-provider'
import { z } from 'zod'
import { type AgentRecord, activeGeneration } from '../agents/agent-repository.ts'
import type { CachedAgents } from '../agents/cached-agents.ts'
import type { UseMarks } from '../agents/mark-use.ts'
import { invalidClient } from '../clients/authenticate-client.ts'
import type { AuthEvents } from '../events.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { TokenStop, TokenStore } from '../tokens/token-store.ts'

/**
 * oidc-provider's Client model over our agents and resource servers, with as little metadata as it takes: the
 * algorithms come from `clientDefaults`, so that a change of keys never invalidates a client.
 */
export function clientAdapter(
  find: (id: AgentId) => Promise<AgentRecord | undefined>,
  resourceServers: () => readonly ResourceServer[],
): Adapter {
  const servers = madeOnce((server: ResourceServer) => metadata(server.client_id, []))
  const agents = madeOnce(({ agent }: AgentRecord) => metadata(agent.id, GRANT_TYPES, agent.scopes.join(' ')))
  return {
    ...readOnlyAdapter('clients are written by agent registration only'),
    /** The same object while what is known of the client is the same: see `keepClients`. */
    async find(id): Promise<AllClientMetadata | undefined> {
      const server = resourceServers().find((each) => each.client_id === id)
      if (server) return servers(server)
      const agentId = AgentId.safeParse(id)
      const known = agentId.success ? await find(agentId.data) : undefined
      return known?.agent.status === 'active' ? agents(known) : undefined
    },
  }
}

/** The library wants a secret of each client. Our gate alone knows who is who, and vouches for whom it has recognised. */
const VOUCHED_FOR = 'vouched-for-by-the-gate'

function madeOnce<From extends object>(make: (from: From) => AllClientMetadata) {
  const made = new WeakMap<From, AllClientMetadata>()
  return (from: From): AllClientMetadata => {
    const metadata = made.get(from) ?? make(from)
    made.set(from, metadata)
    return metadata
  }
}

const metadata = (client_id: string, grant_types: readonly string[], scope?: string): AllClientMetadata => ({
  client_id,
  client_secret: VOUCHED_FOR,
  grant_types: [...grant_types],
  response_types: [],
  redirect_uris: [],
  ...(scope !== undefined && { scope }),
})

/** What the jwt-bearer grant says of a token. */
const Extra = z.object({ registration_id: RegistrationId }).optional()

/**
 * oidc-provider's ClientCredentials model over our token store. The library hands us the token itself as id and `jti`;
 * only its SHA-256 goes further.
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
  }: {
    marks: Pick<UseMarks, 'mark'>
    events: AuthEvents
    /** Under which the client of the request was authenticated. */
    authenticatedGeneration: () => number | undefined
  },
): Adapter {
  /** Of an active agent, as this process knows it. */
  const generationOf = async (id: AgentId) => activeGeneration(await cachedAgents.find(id))
  const stopSeen = onRise(({ epoch }) => events.emit('tokens-stopped', { epoch }))
  return {
    ...readOnlyAdapter('tokens are issued by the token endpoint only'),
    async upsert(token, payload) {
      const clientId = AgentId.parse(payload.clientId)
      const generation = authenticatedGeneration()
      if (generation === undefined)
        throw new Error('a token is stored for a client that was not authenticated')
      if ((await generationOf(clientId)) === undefined || !(await marks.mark(clientId))) throw invalidClient()
      const scope = payload['scope'] ?? ''
      const stop = await tokens.save(sha256(token), {
        clientId,
        generation,
        scope,
        audience: String([payload['aud']].flat()[0]),
        issuedAt: new Date(Number(payload.iat) * 1000),
        expiresAt: new Date(Number(payload.exp) * 1000),
        claimId: Extra.parse(payload['extra'])?.registration_id,
      })
      if (stop) stopSeen(stop)
      events.emit('token-issued', { scopes: scope.split(' ').filter(Boolean) })
    },
    async find(token): Promise<AdapterPayload | undefined> {
      const found = await tokens.find(sha256(token))
      if (!found) return undefined
      // The store has judged the generation; this process may know of a newer one that the store's mirror lost. An older
      // one says that this process has not heard, not that the token ended: its revocation must reach it.
      const known = await generationOf(found.clientId)
      if (known === undefined || known > found.generation) return undefined
      return {
        kind: 'ClientCredentials',
        jti: token,
        clientId: found.clientId,
        scope: found.scope,
        aud: found.audience,
        iat: Math.floor(found.issuedAt.getTime() / 1000),
        exp: Math.floor(found.expiresAt.getTime() / 1000),
        extra: found.claimId
          ? { identity_type: 'verified_email', registration_id: found.claimId }
          : { identity_type: 'anonymous' },
      }
    },
    destroy: (token) => tokens.revoke(sha256(token)),
  }
}

/** Calls back when a stop is further than the last that was seen; the first that is seen may be long ago. */
function onRise(risen: (stop: TokenStop) => void): (stop: TokenStop) => void {
  const markOf = ({ epoch, issuedBefore }: TokenStop) => [epoch, issuedBefore?.getTime() ?? 0] as const
  let last: readonly [number, number] | undefined
  return (stop) => {
    const [epoch, before] = markOf(stop)
    if (last && (epoch > last[0] || before > last[1])) risen(stop)
    last = [Math.max(epoch, last?.[0] ?? 0), Math.max(before, last?.[1] ?? 0)]
  }
}

/** Finds nothing and refuses to write: for models of which nothing is ever made here. */
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
