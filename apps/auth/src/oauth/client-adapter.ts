import { AgentId } from '@plainpath/domain'
import { GRANT_TYPES } from '@plainpath/metadata'
import type { Adapter, AllClientMetadata } from 'oidc-provider'
import type { KnownClient } from '../clients/authenticate-client.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import { readOnlyAdapter } from './token-adapter.ts'

export interface ClientAdapterDeps {
  find(id: AgentId): Promise<KnownClient | undefined>
  resourceServers: () => readonly ResourceServer[]
}

/**
 * oidc-provider's Client model over our agents and resource servers, with as little metadata as it takes: the
 * algorithms come from `clientDefaults`, so that a change of keys never invalidates a client.
 */
export function clientAdapter({ find, resourceServers }: ClientAdapterDeps): Adapter {
  const servers = madeOnce(serverMetadata)
  const agents = madeOnce(agentMetadata)
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

const serverMetadata = (server: ResourceServer): AllClientMetadata => ({
  client_id: server.client_id,
  client_secret: VOUCHED_FOR,
  grant_types: [],
  response_types: [],
  redirect_uris: [],
})

const agentMetadata = (known: KnownClient): AllClientMetadata => ({
  client_id: known.agent.id,
  client_secret: VOUCHED_FOR,
  grant_types: [...GRANT_TYPES],
  response_types: [],
  redirect_uris: [],
  scope: known.agent.scopes.join(' '),
})
