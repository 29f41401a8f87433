import { type AgentId, err, ok, type Result, RULES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import type { AddSecretRefusal, AgentRepository, EndedSecret } from './agent-repository.ts'
import type { AgentSecret } from './agent-secret.ts'
import type { CachedAgents } from './cached-agents.ts'
import type { EndAgentDeps } from './end-agent.ts'
import { newSecret } from './register-agent.ts'

interface AddedSecret {
  /** Told this once. */
  readonly secret: string
  readonly added: AgentSecret
  /** All that are accepted. */
  readonly secrets: readonly AgentSecret[]
}

/** Gives an agent a second secret; the first ends seven days later. */
export async function addSecret(
  deps: {
    agents: Pick<AgentRepository, 'addSecret'>
    cachedAgents: Pick<CachedAgents, 'forget'>
    hashKey: HashKey
  },
  id: AgentId,
  now: Date,
): Promise<Result<AddedSecret, AddSecretRefusal>> {
  const { secret, kept } = newSecret(deps.hashKey, now)
  try {
    const added = await deps.agents.addSecret(id, kept, new Date(now.getTime() + RULES.oldSecretMs))
    return added.ok ? ok({ secret, added: kept, secrets: added.value }) : err(added.error)
  } finally {
    deps.cachedAgents.forget(id)
  }
}

/**
 * Ends a secret, and every token of its agent with it: when it returns, the secret opens nothing, at any instance. What
 * an instance issues for it that has not heard is dead; the steps and their reasons are those of `endAgent`. Of a secret
 * that is gone already all are told again, since that may be what failed the first time.
 */
export async function endSecret(
  deps: EndAgentDeps & { readonly agents: Pick<AgentRepository, 'endSecret'> },
  { id, secretId }: { id: AgentId; secretId: string },
  now: Date,
): Promise<EndedSecret['outcome']> {
  const endTokens = (generation: number) => deps.tokens.endTokensOf({ kind: 'client', id, generation })
  try {
    const ended = await deps.agents.endSecret(id, secretId, now, endTokens)
    if ('generation' in ended) {
      await endTokens(ended.generation)
      deps.cachedAgents.forget(id)
      await deps.revoker.announceEnd({ kind: 'client', id })
    }
    return ended.outcome
  } finally {
    deps.cachedAgents.forget(id)
  }
}
