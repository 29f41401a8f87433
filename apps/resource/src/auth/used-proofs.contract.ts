import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { VerifiedProof } from './dpop-proof.ts'
import type { UsedProofs } from './used-proofs.ts'

/** Creates a proof that was issued now and has a `jti` of its own. */
export const newProof = (change: Partial<VerifiedProof> = {}): VerifiedProof => ({
  jkt: 'k'.repeat(43),
  jti: randomUUID(),
  iat: Math.floor(Date.now() / 1_000),
  ...change,
})

/** An empty store of used proofs, as two instances of the API open it. */
export interface UsedProofsUnderTest extends AsyncDisposable {
  /** Two instances of the store, which share their proofs. */
  readonly stores: readonly [UsedProofs, UsedProofs]
  /** Reads everything that is stored, as text. */
  readStored(): Promise<string>
}

/** Registers the tests that every store of used proofs must pass. */
export function describeUsedProofs(kind: string, open: () => Promise<UsedProofsUnderTest>): void {
  describe(`the store of used proofs in ${kind}`, () => {
    test('accepts a proof once, on any instance', async () => {
      await using underTest = await open()
      const [one, two] = underTest.stores
      const proof = newProof()
      expect([await one.use(proof), await two.use(proof), await one.use(proof)]).toEqual([true, false, false])
    })

    test('accepts exactly one of several simultaneous uses', async () => {
      await using underTest = await open()
      const proof = newProof()
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) => underTest.stores[index % 2 === 0 ? 0 : 1].use(proof)),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
    })

    test('accepts a proof whose key or jti differs from that of a used proof', async () => {
      await using underTest = await open()
      const [store] = underTest.stores
      const proof = newProof()
      const otherProofs = [newProof(), newProof({ jti: proof.jti, jkt: 'l'.repeat(43) })]
      for (const candidate of [proof, ...otherProofs]) expect(await store.use(candidate)).toBe(true)
      for (const candidate of [proof, ...otherProofs]) expect(await store.use(candidate)).toBe(false)
    })

    test('stores neither the jti nor the thumbprint as plain text', async () => {
      await using underTest = await open()
      const proof = newProof({ jti: 'canary-jti', jkt: `canary-jkt${'k'.repeat(33)}` })
      await underTest.stores[0].use(proof)
      const storedText = await underTest.readStored()
      expect(storedText).not.toBe('')
      expect(storedText).not.toContain('canary')
    })
  })
}
