import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { VerifiedProof } from './dpop-proof.ts'
import type { UsedProofs } from './used-proofs.ts'

export const newProof = (change: Partial<VerifiedProof> = {}): VerifiedProof => ({
  jkt: 'k'.repeat(43),
  jti: randomUUID(),
  iat: Math.floor(Date.now() / 1_000),
  ...change,
})

export interface UsedProofsUnderTest extends AsyncDisposable {
  /** The same proofs, as two instances see them. */
  readonly stores: readonly [UsedProofs, UsedProofs]
  /** All that is stored, as text. */
  stored(): Promise<string>
}

/** Every store of used proofs must pass this. */
export function describeUsedProofs(kind: string, open: () => Promise<UsedProofsUnderTest>): void {
  describe(`used proofs in ${kind}`, () => {
    test('accepts a proof once, on whatever instance', async () => {
      await using opened = await open()
      const [one, two] = opened.stores
      const proof = newProof()
      expect([await one.use(proof), await two.use(proof), await one.use(proof)]).toEqual([true, false, false])
    })

    test('accepts exactly one of several simultaneous uses', async () => {
      await using opened = await open()
      const proof = newProof()
      const uses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => opened.stores[index % 2 === 0 ? 0 : 1].use(proof)),
      )
      expect(uses.filter(Boolean)).toHaveLength(1)
    })

    test('distinguishes keys and jtis', async () => {
      await using opened = await open()
      const [store] = opened.stores
      const proof = newProof()
      const others = [newProof(), newProof({ jti: proof.jti, jkt: 'l'.repeat(43) })]
      for (const each of [proof, ...others]) expect(await store.use(each)).toBe(true)
      for (const each of [proof, ...others]) expect(await store.use(each)).toBe(false)
    })

    test('stores neither jti nor thumbprint in clear', async () => {
      await using opened = await open()
      const proof = newProof({ jti: 'canary-jti', jkt: `canary-jkt${'k'.repeat(33)}` })
      await opened.stores[0].use(proof)
      const stored = await opened.stored()
      expect(stored).not.toBe('')
      expect(stored).not.toContain('canary')
    })
  })
}
