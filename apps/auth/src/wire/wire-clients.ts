/* Connects the functions that find and authenticate clients: agents, and the apps that people connect. */
import { type Limiter, type WatchedClock, withSynchronisedClock } from '@plainpath/http'
import { findExpiredAgent } from '../agents/agent-expiry.ts'
import { createFetchDocument } from '../agents/refresh-document.ts'
import type { FindAppClient } from '../app-clients/app-client.ts'
import { createAppClientFinder } from '../app-clients/app-client-finder.ts'
import { createAppDocumentReader } from '../app-clients/app-document.ts'
import {
  createClientDocumentFetcher,
  createDocumentFetcher,
  type DocumentFetcherOptions,
} from '../client-documents/document-fetcher.ts'
import {
  type AuthenticateClient,
  type AuthenticateClientDeps,
  createClientAuthenticator,
} from '../clients/client-authenticator.ts'
import { createUrlClientFinder } from '../clients/url-clients.ts'
import type { Config } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import type { Stores } from '../stores.ts'

interface WireClientsDeps {
  readonly stores: Stores
  readonly clock: WatchedClock
  readonly limiter: Limiter
  readonly events: AuthEvents
  readonly now: () => Date
  /** In tests, replacements for DNS and the trusted certificate authorities. */
  readonly documentOverrides: Pick<DocumentFetcherOptions, 'ca' | 'resolve' | 'timeoutMs'> | undefined
}

interface Clients {
  readonly findAppClient: FindAppClient
  /** Finds agents in the cache of this process. Most requests use it. */
  readonly authenticate: AuthenticateClient
  /** Finds agents in PostgreSQL, for requests that change an agent: a secret that was just removed must be rejected. */
  readonly authenticateUncached: AuthenticateClient
}

/** Creates the functions that find and authenticate clients. Two fetchers of client documents are behind them. */
export function wireClients(config: Config, deps: WireClientsDeps): Clients {
  const { stores, clock, limiter, events, now } = deps
  const { chatHosts, hashKey } = config
  const fetchOptions: DocumentFetcherOptions = {
    ...deps.documentOverrides,
    testHosts: config.clientDocumentTestHosts,
    now,
    onOutcome: (outcome) => events.emit('document-fetched', { outcome }),
  }
  const fetchDocument = createFetchDocument(createClientDocumentFetcher(fetchOptions).fetch, now)
  // Apps have their own fetcher, because anybody can cause fetches of invented app URLs. These must not use up the slots of agents.
  const fetchAppDocument = createDocumentFetcher(createAppDocumentReader(chatHosts, now), fetchOptions).fetch

  function createAuthenticator(find: AuthenticateClientDeps['find']): AuthenticateClient {
    const authenticate = createClientAuthenticator({
      find,
      findExpired: (id) => findExpiredAgent(stores.db, id, now()),
      findUrlClient: createUrlClientFinder({ ...stores, fetchDocument, limiter, now }, find),
      usedJtis: stores.usedJtis,
      issuer: config.origin,
      hashKey,
      limiter,
      now,
    })
    // Without a synchronised clock, expired assertions and secrets could be accepted, so requests are refused.
    return (...args) => withSynchronisedClock(clock, () => authenticate(...args))
  }

  return {
    findAppClient: createAppClientFinder({
      ...stores,
      fetchDocument: fetchAppDocument,
      chatHosts,
      limiter,
      now,
    }),
    authenticate: createAuthenticator(stores.agentCache.find),
    authenticateUncached: createAuthenticator(stores.agents.find),
  }
}
