import { AgentId } from '@plainpath/domain'
import { GRANT_TYPES } from '@plainpath/metadata'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { Adapter, AllClientMetadata } from 'oidc-provider'
import type { KnownClient } from '../clients/authenticate-client.ts'
import type { GateVoucher } from '../clients/gate-voucher.ts'
import { type ResourceServer, secretDigest } from '../resource-servers/resource-servers.ts'
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
  client_secret: server.secrets.join(' '),
  grant_types: [],
  response_types: [],
  redirect_uris: [],
})

const agentMetadata = (known: KnownClient): AllClientMetadata => ({
  client_id: known.agent.id,
  client_secret: known.agent.keys.length > 0 ? VOUCHED : hashesOf(known),
  grant_types: [...GRANT_TYPES],
  response_types: [],
  redirect_uris: [],
  scope: known.agent.scopes.join(' '),
})

/** Kept of a client with keys: our gate alone verifies its assertions, and vouches for it (decision 0010). */
const VOUCHED = 'vouched-for-by-the-gate'

const hashesOf = ({ secrets }: KnownClient) =>
  secrets.map((secret) => `hmac:${secret.digest.toString('base64url')}`).join(' ')

/** For `Client.prototype.compareClientSecret`, which the library awaits: `kept` holds hashes, never a secret. */
export function matchesKeptSecret(
  { clientId, clientSecret: kept = '' }: { clientId: string; clientSecret?: string | undefined },
  presented: string,
  { hashKey, vouch }: { hashKey: HashKey; vouch: GateVoucher },
): boolean {
  if (kept === VOUCHED) return equalBytes(Buffer.from(vouch(clientId)), Buffer.from(presented))
  const digests = [
    secretDigest(presented),
    `hmac:${hashKey.hash('client-secret', presented).toString('base64url')}`,
  ]
  return kept
    .split(' ')
    .some((each) => digests.some((digest) => equalBytes(Buffer.from(each), Buffer.from(digest))))
}
