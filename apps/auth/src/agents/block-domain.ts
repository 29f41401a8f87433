import type { AgentId } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import type { AgentRepository } from './agent-repository.ts'
import { type EndAgentDeps, endAgent } from './end-agent.ts'
import type { UrlClientStore } from './url-client-store.ts'

/** Agents that are disabled at the same time: each waits for the APIs. */
const AT_ONCE = 10
const BATCH = 500

/**
 * Blocks a domain with its subdomains. When it returns, none of its agents is active, no API accepts a token of one, and
 * none begins at any instance: agents that began before the block was stored are among those that are disabled. A
 * domain that was blocked before has its agents disabled again, since an earlier call may have failed.
 *
 * @returns the head of the audit, undefined when the domain was blocked before; and how many agents it disabled
 */
export async function blockDomain(
  deps: EndAgentDeps & {
    readonly agents: Pick<AgentRepository, 'end'>
    readonly urlClients: Pick<UrlClientStore, 'setBlocked' | 'listOfDomain'>
  },
  domain: string,
  audit: { by: Actor; reason: string },
  now: Date,
): Promise<{ readonly head: string | undefined; readonly agents: number }> {
  const head = await deps.urlClients.setBlocked('block', domain, audit, now)
  let agents = 0
  for await (const ids of agentsOfDomain(deps.urlClients, domain)) {
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const ended = await Promise.all(
        ids.slice(from, from + AT_ONCE).map((id) => endAgent(deps, id, 'disabled')),
      )
      agents += ended.filter(Boolean).length
    }
  }
  return { head, agents }
}

/** Iterates over the agents of a domain in batches. */
export async function* agentsOfDomain(
  urlClients: Pick<UrlClientStore, 'listOfDomain'>,
  domain: string,
): AsyncIterable<readonly AgentId[]> {
  for (let after: AgentId | undefined; ; ) {
    const ids = await urlClients.listOfDomain(domain, BATCH, after)
    if (ids.length > 0) yield ids
    after = ids.at(-1)
    if (ids.length < BATCH) return
  }
}
