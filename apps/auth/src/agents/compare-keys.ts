import type { AgentKey } from '@plainpath/domain'
import type { VerifiedKeyProof } from '../clients/key-proof.ts'

/** Identifies a key by its material: under another `kid` or algorithm name it is still the same key. */
const material = ({ crv, x, y = '' }: AgentKey) => `${crv} ${x} ${y}`

/**
 * Compares a client's old and new key sets.
 *
 * @param before empty for a client that had a secret
 * @returns `removes`: whether a key or the secret is removed. `unproven`: the `kid` of each new key without a proof
 */
export function compareKeys(
  before: readonly AgentKey[],
  after: readonly AgentKey[],
  proofs: readonly Pick<VerifiedKeyProof, 'key'>[],
): { readonly removes: boolean; readonly unproven: readonly string[] } {
  const [had, has] = [new Set(before.map(material)), new Set(after.map(material))]
  const proven = new Set(proofs.map(({ key }) => material(key)))
  return {
    removes: before.length === 0 || before.some((key) => !has.has(material(key))),
    unproven: after
      .filter((key) => !had.has(material(key)) && !proven.has(material(key)))
      .map(({ kid }) => kid),
  }
}
