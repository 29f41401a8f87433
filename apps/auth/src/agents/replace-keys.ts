import { type AgentId, type AgentKey, err, type Result } from '@plainpath/domain'
import { type KeyProofFault, verifyKeyProofs } from '../clients/key-proof.ts'
import type { AgentRepository, KeysFault, ReplacedKeys } from './agent-repository.ts'
import type { EndAgentDeps } from './end-agent.ts'

export interface ReplaceKeysRefusal {
  readonly fault: KeysFault | KeyProofFault
  /** Which of the proofs has the fault, if it is one of them. */
  readonly index?: number
}

/**
 * Gives an agent another set of keys and ends its secrets. When it returns, a key or secret that went opens nothing, and no
 * token of the agent from before is active anywhere, since nobody knows which were got with it; a set that only adds keys ends
 * no token. The steps and their reasons are those of `endAgent`. A set that changes nothing is told again, too: telling it may
 * be what failed the first time.
 *
 * @param request.endpoint the address that proofs must be made for
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
  const endTokens = (generation: number) => deps.tokens.endTokensOf({ kind: 'client', id, generation })
  try {
    const replaced = await deps.agents.replaceKeys(id, { keys, proofs: proofs.value }, endTokens)
    if (!replaced.ok) return err({ fault: replaced.error })
    await endTokens(replaced.value.agent.generation)
    deps.cachedAgents.forget(id)
    await deps.revoker.announceEnd({ kind: 'client', id })
    return replaced
  } finally {
    deps.cachedAgents.forget(id)
  }
}
