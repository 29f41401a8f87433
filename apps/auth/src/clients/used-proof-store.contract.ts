import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { UsedProofStore } from './used-proof-store.ts'

interface OpenedStore extends AsyncDisposable {
  readonly proofs: UsedProofStore
  /** The same store, as another instance opens it. */
  readonly elsewhere: UsedProofStore
  /** Returns everything that is stored, as text. */
  dump(): Promise<string>
}

/** Defines the tests that every UsedProofStore must pass. */
export function describeUsedProofStore(kind: string, open: () => Promise<OpenedStore>): void {
  describe(`${kind} store of used proofs`, () => {
    let store: OpenedStore
    beforeAll(async () => {
      store = await open()
    })
    afterAll(() => store[Symbol.asyncDispose]())

    const createProof = (overrides: { clientId?: string; jti?: string } = {}) => ({
      clientId: 'agt_1',
      jti: randomUUID(),
      expiresAt: new Date(Date.now() + 300_000),
      ...overrides,
    })

    test('accepts a proof once, at whichever instance', async () => {
      const [one, other] = [createProof(), createProof()]
      expect([
        await store.proofs.markUsed(one),
        await store.proofs.markUsed(one),
        await store.elsewhere.markUsed(one),
      ]).toEqual([true, false, false])
      expect([await store.elsewhere.markUsed(other), await store.proofs.markUsed(other)]).toEqual([
        true,
        false,
      ])
    })

    test('accepts exactly one of many simultaneous uses', async () => {
      const sharedProof = createProof()
      const uses = Array.from({ length: 30 }, (_, n) =>
        (n % 2 ? store.proofs : store.elsewhere).markUsed(sharedProof),
      )
      expect((await Promise.all(uses)).filter(Boolean)).toHaveLength(1)
    })

    test('two clients may use one jti, and each of them similar ones', async () => {
      const [one, jti] = [createProof({ clientId: 'agt_one' }), randomUUID()]
      const distinctProofs = [
        { ...one, jti },
        { ...one, clientId: 'agt_two', jti },
        { ...one, jti: `${jti} ` },
        { ...one, jti: `${jti}\n` },
        { ...one, jti: jti.toUpperCase() },
      ]
      for (const distinct of distinctProofs)
        expect(await store.proofs.markUsed(distinct), distinct.jti).toBe(true)
      for (const distinct of distinctProofs)
        expect(await store.proofs.markUsed(distinct), distinct.jti).toBe(false)
    })

    test('stores no jti in clear', async () => {
      await store.proofs.markUsed(createProof({ jti: 'Canary-jti-58b1' }))
      expect(await store.dump()).not.toContain('Canary-jti')
    })
  })
}
