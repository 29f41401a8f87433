import type { AgentKey } from '@plainpath/domain'
import type { VerifiedKeyProof } from '../clients/key-proof.ts'

/**
 * Identifies a key by its material, because the same key can have another `kid` or algorithm name. An Ed25519 key has no
 * `y`.
 */
const toKeyMaterial = ({ crv, x, y = '' }: AgentKey) => `${crv} ${x} ${y}`

/**
 * Compares a client's old and new key sets.
 *
 * @param before the old keys; empty for a client that had a secret
 * @returns `isCredentialRemoved`: whether a key or the secret is removed. `unproven`: the `kid` of each new key without a proof
 */
export function compareKeys(
  before: readonly AgentKey[],
  after: readonly AgentKey[],
  proofs: readonly Pick<VerifiedKeyProof, 'key'>[],
): { readonly isCredentialRemoved: boolean; readonly unproven: readonly string[] } {
  const oldKeys = new Set(before.map(toKeyMaterial))
  const newKeys = new Set(after.map(toKeyMaterial))
  const provenKeys = new Set(proofs.map(({ key }) => toKeyMaterial(key)))
  return {
    isCredentialRemoved: before.length === 0 || before.some((key) => !newKeys.has(toKeyMaterial(key))),
    unproven: after
      .filter((key) => !oldKeys.has(toKeyMaterial(key)) && !provenKeys.has(toKeyMaterial(key)))
      .map(({ kid }) => kid),
  }
}
