import type { AgentId } from '@plainpath/domain'
import type { Revoker } from '../revocation/revoker.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import type { AgentRepository } from './agent-repository.ts'
import type { CachedAgents } from './cached-agents.ts'

/** What ending an agent, or a secret of it, needs. */
export interface EndAgentDeps {
  readonly tokens: Pick<TokenStore, 'endTokensOf'>
  readonly cachedAgents: Pick<CachedAgents, 'forget'>
  readonly revoker: Pick<Revoker, 'announceEnd'>
}

/**
 * Disables or deletes an agent; when it returns, no token of the agent is active anywhere, not even one that a
 * process issues later because it had not heard, or that an API knows from memory (R-LIN, docs/revocation).
 *
 * The generation is raised beside the tokens before the change commits, and again after it, since the tokens' store may
 * have lost the number in between and been told the old one. Should the commit fail, the agent lives on with its
 * tokens ended, until the number expires there: closed, and rare. Should the second raise fail, the agent has ended
 * although the caller is told that nobody knows. APIs are told last; of an agent that has ended already they are told
 * again, since that may be what failed the first time.
 *
 * @returns false when there is no such agent, or it is deleted already
 */
export async function endAgent(
  { agents, tokens, cachedAgents, revoker }: EndAgentDeps & { readonly agents: Pick<AgentRepository, 'end'> },
  id: AgentId,
  status: 'disabled' | 'deleted',
): Promise<boolean> {
  const endTokens = (generation: number) => tokens.endTokensOf({ kind: 'client', id, generation })
  try {
    const generation = await agents.end(id, status, endTokens)
    if (generation !== undefined) await endTokens(generation)
    // Before APIs are told: what they ask from now on must not be answered from memory.
    cachedAgents.forget(id)
    await revoker.announceEnd({ kind: 'client', id })
    return generation !== undefined
  } finally {
    cachedAgents.forget(id)
  }
}
