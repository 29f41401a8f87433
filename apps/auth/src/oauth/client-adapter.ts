import { AgentId } from '@plainpath/domain'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { Adapter, AllClientMetadata } from 'oidc-provider'
import type { KnownClient } from '../clients/authenticate-client.ts'
import { type ResourceServer, secretDigest } from '../resource-servers/resource-servers.ts'
import { readOnlyAdapter } from './token-adapter.ts'

export interface ClientAdapterDeps {
  find(id: AgentId): Promise<KnownClient | undefined>
  resourceServers: readonly ResourceServer[]
}

/**
 * oidc-provider's Client model over our agents and resource servers, with as little metadata as it takes: the
 * algorithms come from `clientDefaults`, so that a change of keys never invalidates a client.
 */
export function clientAdapter({ find, resourceServers }: ClientAdapterDeps): Adapter {
  return {
    ...readOnlyAdapter('clients are written by agent registration only'),
    async find(id): Promise<AllClientMetadata | undefined> {
      const server = resourceServers.find((each) => each.client_id === id)
      if (server)
        return {
          client_id: id,
          client_secret: server.secrets.join(' '),
          grant_types: [],
          response_types: [],
          redirect_uris: [],
        }
      const agentId = AgentId.safeParse(id)
      const known = agentId.success ? await find(agentId.data) : undefined
      if (known?.agent.status !== 'active') return undefined
      return {
        client_id: id,
        client_secret: known.secrets.map((secret) => `hmac:${secret.digest.toString('base64url')}`).join(' '),
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        scope: known.agent.scopes.join(' '),
      }
    },
  }
}

/** For `Client.prototype.compareClientSecret`, which the library awaits: `kept` holds hashes, never a secret. */
export function matchesKeptSecret(kept: string, presented: string, hashKey: HashKey): boolean {
  const digests = [
    secretDigest(presented),
    `hmac:${hashKey.hash('client-secret', presented).toString('base64url')}`,
  ]
  return kept
    .split(' ')
    .some((each) => digests.some((digest) => equalBytes(Buffer.from(each), Buffer.from(digest))))
}
