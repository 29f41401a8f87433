import { type AgentKey, err, type Result } from '@plainpath/domain'
import type { AuthenticatedAgent } from '../clients/credential-version.ts'
import { type KeyProofFault, verifyKeyProofs } from '../clients/key-proof.ts'
import type { AgentStore, ReplacedKeys, ReplaceKeysFault } from './agent-store.ts'
import { changeAndRevoke, type RevocationDeps } from './change-and-revoke.ts'

export interface ReplaceKeysRefusal {
  readonly fault: ReplaceKeysFault | KeyProofFault
  /** The index of the invalid proof; absent if no proof is invalid. */
  readonly index?: number
}

/**
 * Replaces an agent's key set and removes its secrets. If this removes a key or a secret, every earlier token of the
 * agent is revoked, because a token does not record which credential it was issued for. If an instance with a stale cache
 * still issues a token for a removed credential, that token is invalid. A set that only adds keys revokes no token. A
 * revocation is published even if the set changes nothing, since an earlier call may have failed to publish it.
 *
 * @param request.proofs JWTs that prove that the client can sign with its new keys (`key-proof.ts`); may be empty
 * @param request.endpoint the URL that each proof must name as its audience (`aud`)
 */
export async function replaceKeys(
  deps: RevocationDeps & { readonly agents: Pick<AgentStore, 'replaceKeys'> },
  request: {
    readonly agent: AuthenticatedAgent
    readonly keys: readonly AgentKey[]
    readonly proofs: readonly string[]
    readonly endpoint: string
  },
  now: Date,
): Promise<Result<ReplacedKeys, ReplaceKeysRefusal>> {
  const { agent, keys, endpoint } = request
  const { id } = agent
  const proofs = await verifyKeyProofs(request.proofs, keys, { clientId: id, endpoint, now })
  if (!proofs.ok) return proofs
  const replacement = await changeAndRevoke(
    deps,
    id,
    (revokeTokens) => deps.agents.replaceKeys(agent, { keys, proofs: proofs.value }, revokeTokens),
    // Revokes nothing if no credential was removed, because the version is then unchanged.
    (result) => (result.ok ? result.value.agent.credentialVersion : undefined),
  )
  return replacement.ok ? replacement : err({ fault: replacement.error })
}
