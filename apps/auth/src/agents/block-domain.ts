import type { AgentId } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import type { AgentStore } from './agent-store.ts'
import type { RevocationDeps } from './change-and-revoke.ts'
import { deactivateAgent } from './deactivate-agent.ts'
import type { UrlClientStore } from './url-client-store.ts'

/** The number of agents that are disabled concurrently. Disabling an agent waits until no API accepts its tokens. */
const CONCURRENCY = 10
const BATCH_SIZE = 500

/**
 * Blocks a domain and its subdomains. When it returns, none of its agents is active, no API accepts their tokens, and no
 * instance accepts a new agent of the domain. If the domain was already blocked, its agents are disabled again, since an
 * earlier call may have failed.
 *
 * @returns the audit head (undefined if the domain was already blocked), and the number of disabled agents, which includes
 *   those that were disabled before
 */
export async function blockDomain(
  deps: RevocationDeps & {
    readonly agents: Pick<AgentStore, 'deactivate'>
    readonly urlClients: Pick<UrlClientStore, 'setBlocked' | 'listByDomain'>
  },
  domain: string,
  audit: { actor: Actor; reason: string },
  now: Date,
): Promise<{ readonly auditHead: string | undefined; readonly disabledCount: number }> {
  const auditHead = await deps.urlClients.setBlocked('block', domain, audit, now)
  let disabledCount = 0
  for await (const ids of iterateAgentIdsOfDomain(deps.urlClients, domain)) {
    for (let start = 0; start < ids.length; start += CONCURRENCY) {
      const results = await Promise.all(
        ids
          .slice(start, start + CONCURRENCY)
          .map((id) => deactivateAgent(deps, { id, credentialVersion: undefined }, 'disabled')),
      )
      disabledCount += results.filter(Boolean).length
    }
  }
  return { auditHead, disabledCount }
}

/** Yields, in batches, the ids of all agents of a domain and its subdomains, except deleted agents. */
export async function* iterateAgentIdsOfDomain(
  urlClients: Pick<UrlClientStore, 'listByDomain'>,
  domain: string,
): AsyncIterable<readonly AgentId[]> {
  let lastId: AgentId | undefined
  for (;;) {
    const ids = await urlClients.listByDomain(domain, BATCH_SIZE, lastId)
    if (ids.length > 0) yield ids
    lastId = ids.at(-1)
    if (ids.length < BATCH_SIZE) return
  }
}
