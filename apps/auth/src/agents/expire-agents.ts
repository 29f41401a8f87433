import type { AgentId } from '@plainpath/domain'
import type { EndedAgent, ExpiringAgents, ExpiryBounds } from './expired-agents.ts'

/** @returns how many agents ended; 0 when none is due */
export type ExpireAgents = (now: Date) => Promise<number>

/**
 * Ends agents that are due, a batch at a time, in the way in which one is deleted (`endAgent`): numbers raised beside
 * the tokens before and after the commit, then forgotten, then told to APIs. None of them has a token that lives, so
 * should the telling fail, nothing has to be told again.
 */
export const expireAgents =
  (deps: {
    expiring: Pick<ExpiringAgents, 'expire'>
    bounds: ExpiryBounds
    raiseGeneration: (id: AgentId, generation: number) => Promise<void>
    announceEnd: (id: AgentId) => Promise<void>
    forget: (id: AgentId) => void
  }): ExpireAgents =>
  async (now) => {
    const raise = async (ended: readonly EndedAgent[]) => {
      await Promise.all(ended.map(({ id, generation }) => deps.raiseGeneration(id, generation)))
    }
    const ended = await deps.expiring.expire(now, deps.bounds, raise)
    for (const { id } of ended) deps.forget(id)
    await raise(ended)
    await Promise.all(ended.map(({ id }) => deps.announceEnd(id)))
    return ended.length
  }
