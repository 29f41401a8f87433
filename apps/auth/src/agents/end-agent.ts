import type { AgentId } from '@plainpath/domain'
import type { Revoker } from '../revocation/revoker.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import type { AgentRepository } from './agent-repository.ts'
import type { CachedAgents } from './cached-agents.ts'

/** What disabling or deleting an agent, or removing one of its credentials, needs. */
export interface EndAgentDeps {
  readonly tokens: Pick<TokenStore, 'revokeTokensOf'>
  readonly cachedAgents: Pick<CachedAgents, 'forget'>
  readonly revoker: Pick<Revoker, 'publishRevocation'>
}

/**
 * Disables or deletes an agent. When it returns, no API accepts a token of the agent, not even one that an instance
 * with a stale cache issues later, or that an API has cached (R-LIN, docs/revocation).
 *
 * 1. Before the commit, raise the generation in the token store. If the commit then fails, the agent stays active but
 *    its tokens are invalid until the number expires there: safe, and rare.
 * 2. Commit.
 * 3. Raise the generation again, since the token store may have lost it in between and reloaded the old one. If this
 *    fails, the agent is disabled although the caller gets an error.
 * 4. Publish to the APIs, also for an agent that was ended before: an earlier call may have failed at this step.
 *
 * @returns false when there is no such agent, or it is already deleted
 */
export async function endAgent(
  { agents, tokens, cachedAgents, revoker }: EndAgentDeps & { readonly agents: Pick<AgentRepository, 'end'> },
  id: AgentId,
  status: 'disabled' | 'deleted',
): Promise<boolean> {
  const revokeTokens = (generation: number) => tokens.revokeTokensOf({ kind: 'client', id, generation })
  try {
    const generation = await agents.end(id, status, revokeTokens)
    if (generation !== undefined) await revokeTokens(generation)
    // Before publishing: an API that introspects because of the notification must not get a cached response.
    cachedAgents.forget(id)
    await revoker.publishRevocation({ kind: 'client', id })
    return generation !== undefined
  } finally {
    cachedAgents.forget(id)
  }
}
