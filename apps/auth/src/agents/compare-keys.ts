import type { AgentKey } from '@plainpath/domain'
import type { VerifiedKeyProof } from '../clients/key-proof.ts'

/** A key is the same under another `kid` or name of its algorithm: who can sign with it stays the same. */
const material = ({ crv, x, y = '' }: AgentKey) => `${crv} ${x} ${y}`

/**
 * What a set of keys changes.
 *
 * @param before none for a client that had a secret
 * @returns `removes`: whether a key, or the secret, goes. `unproven`: the new keys without a proof, by `kid`
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
