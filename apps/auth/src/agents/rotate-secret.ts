import { type AgentId, err, ok, type Result, RULES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import type { AddSecretRefusal, AgentRepository, EndedSecret } from './agent-repository.ts'
import type { AgentSecret } from './agent-secret.ts'
import type { CachedAgents } from './cached-agents.ts'
import type { EndAgentDeps } from './end-agent.ts'
import { generateSecret } from './register-agent.ts'

interface AddedSecret {
  /** Returned this once. */
  readonly secret: string
  readonly added: AgentSecret
  /** All secrets that are accepted now. */
  readonly secrets: readonly AgentSecret[]
}

/** Adds a second secret to an agent; the first expires seven days later. */
export async function addSecret(
  deps: {
    agents: Pick<AgentRepository, 'addSecret'>
    cachedAgents: Pick<CachedAgents, 'forget'>
    hashKey: HashKey
  },
  id: AgentId,
  now: Date,
): Promise<Result<AddedSecret, AddSecretRefusal>> {
  const { secret, stored } = generateSecret(deps.hashKey, now)
  try {
    const added = await deps.agents.addSecret(id, stored, new Date(now.getTime() + RULES.oldSecretMs))
    return added.ok ? ok({ secret, added: stored, secrets: added.value }) : err(added.error)
  } finally {
    deps.cachedAgents.forget(id)
  }
}

/**
 * Removes a secret and revokes every token of its agent. When it returns, no instance accepts the secret, and a token
 * that an instance with a stale cache issues for it is invalid. Steps and reasons are those of `endAgent`; for a secret
 * that was removed before, the revocation is published again, since an earlier call may have failed at that.
 */
export async function endSecret(
  deps: EndAgentDeps & { readonly agents: Pick<AgentRepository, 'endSecret'> },
  { id, secretId }: { id: AgentId; secretId: string },
  now: Date,
): Promise<EndedSecret['outcome']> {
  const revokeTokens = (generation: number) => deps.tokens.revokeTokensOf({ kind: 'client', id, generation })
  try {
    const ended = await deps.agents.endSecret(id, secretId, now, revokeTokens)
    if ('generation' in ended) {
      await revokeTokens(ended.generation)
      deps.cachedAgents.forget(id)
      await deps.revoker.publishRevocation({ kind: 'client', id })
    }
    return ended.outcome
  } finally {
    deps.cachedAgents.forget(id)
  }
}
