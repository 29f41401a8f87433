import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { VerifiedProof } from './dpop-proof.ts'
import type { UsedProofs } from './used-proofs.ts'

/** Creates a proof that was issued now, with a unique `jti`. `overrides` replaces members. */
export const createProof = (overrides: Partial<VerifiedProof> = {}): VerifiedProof => ({
  // The length of a thumbprint.
  jkt: 'k'.repeat(43),
  jti: randomUUID(),
  iat: Math.floor(Date.now() / 1_000),
  ...overrides,
})

/** A store of used proofs, opened twice, as by two instances of the API. It may contain the proofs of earlier tests. */
export interface UsedProofsUnderTest extends AsyncDisposable {
  /** Two clients of the same store. A proof that was used with one counts as used with the other. */
  readonly stores: readonly [UsedProofs, UsedProofs]
  /** Reads everything that is stored, as text. */
  readStored(): Promise<string>
}

/** Registers the tests that every store of used proofs must pass. */
export function describeUsedProofs(kind: string, openStores: () => Promise<UsedProofsUnderTest>): void {
  describe(`the store of used proofs in ${kind}`, () => {
    test('accepts a proof once, on any instance', async () => {
      await using underTest = await openStores()
      const [one, two] = underTest.stores
      const proof = createProof()
      expect([await one.use(proof), await two.use(proof), await one.use(proof)]).toEqual([true, false, false])
    })

    test('accepts exactly one of several simultaneous uses', async () => {
      await using underTest = await openStores()
      const proof = createProof()
      const results = await Promise.all(
        // Alternates between the two clients.
        Array.from({ length: 20 }, (_, index) => underTest.stores[index % 2 === 0 ? 0 : 1].use(proof)),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
    })

    test('accepts a proof whose key or jti differs from that of a used proof', async () => {
      await using underTest = await openStores()
      const [store] = underTest.stores
      const proof = createProof()
      const otherProofs = [createProof(), createProof({ jti: proof.jti, jkt: 'l'.repeat(43) })]
      for (const candidate of [proof, ...otherProofs]) expect(await store.use(candidate)).toBe(true)
      for (const candidate of [proof, ...otherProofs]) expect(await store.use(candidate)).toBe(false)
    })

    test('stores neither the jti nor the thumbprint as plain text', async () => {
      await using underTest = await openStores()
      const proof = createProof({ jti: 'canary-jti', jkt: `canary-jkt${'k'.repeat(33)}` })
      await underTest.stores[0].use(proof)
      const storedText = await underTest.readStored()
      expect(storedText).not.toBe('')
      expect(storedText).not.toContain('canary')
    })
  })
}
