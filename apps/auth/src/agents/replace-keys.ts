import { type AgentId, type AgentKey, err, type Result } from '@plainpath/domain'
import { type KeyProofFault, verifyKeyProofs } from '../clients/key-proof.ts'
import type { AgentRepository, KeysFault, ReplacedKeys } from './agent-repository.ts'
import type { EndAgentDeps } from './end-agent.ts'

export interface ReplaceKeysRefusal {
  readonly fault: KeysFault | KeyProofFault
  /** Which of the proofs is at fault; absent when none is. */
  readonly index?: number
}

/**
 * Replaces an agent's key set and removes its secrets. If a key or secret is removed, then after it returns that
 * credential is rejected everywhere and no earlier token of the agent is accepted, since tokens do not record the
 * credential they were issued for. A set that only adds keys revokes no token. Steps and reasons are those of
 * `endAgent`; a set that changes nothing is published again too, since an earlier call may have failed at that.
 *
 * @param request.endpoint the URL that proofs must have as audience
 */
export async function replaceKeys(
  deps: EndAgentDeps & { readonly agents: Pick<AgentRepository, 'replaceKeys'> },
  request: {
    readonly id: AgentId
    readonly keys: readonly AgentKey[]
    readonly proofs: readonly string[]
    readonly endpoint: string
  },
  now: Date,
): Promise<Result<ReplacedKeys, ReplaceKeysRefusal>> {
  const { id, keys, endpoint } = request
  const proofs = await verifyKeyProofs(request.proofs, keys, { clientId: id, endpoint, now })
  if (!proofs.ok) return proofs
  const revokeTokens = (generation: number) => deps.tokens.revokeTokensOf({ kind: 'client', id, generation })
  try {
    const replaced = await deps.agents.replaceKeys(id, { keys, proofs: proofs.value }, revokeTokens)
    if (!replaced.ok) return err({ fault: replaced.error })
    await revokeTokens(replaced.value.agent.generation)
    deps.cachedAgents.forget(id)
    await deps.revoker.publishRevocation({ kind: 'client', id })
    return replaced
  } finally {
    deps.cachedAgents.forget(id)
  }
}
