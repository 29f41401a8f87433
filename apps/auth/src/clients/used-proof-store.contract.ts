import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { UsedProofStore } from './used-proof-store.ts'

interface OpenedStore extends AsyncDisposable {
  readonly proofs: UsedProofStore
  /** The same store, as a second instance opens it. */
  readonly secondInstance: UsedProofStore
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
      // Late enough that no proof expires during the tests.
      expiresAt: new Date(Date.now() + 300_000),
      ...overrides,
    })

    test('accepts a proof once among all instances', async () => {
      const firstProof = createProof()
      const secondProof = createProof()
      expect([
        await store.proofs.markUsed(firstProof),
        await store.proofs.markUsed(firstProof),
        await store.secondInstance.markUsed(firstProof),
      ]).toEqual([true, false, false])
      expect(await store.secondInstance.markUsed(secondProof)).toBe(true)
      expect(await store.proofs.markUsed(secondProof)).toBe(false)
    })

    test('accepts exactly one of many simultaneous uses', async () => {
      const sharedProof = createProof()
      const uses = Array.from({ length: 30 }, (_, index) =>
        (index % 2 ? store.proofs : store.secondInstance).markUsed(sharedProof),
      )
      expect((await Promise.all(uses)).filter(Boolean)).toHaveLength(1)
    })

    test('accepts the same jti from two clients, and similar but different ones from one client', async () => {
      const baseProof = createProof({ clientId: 'agt_one' })
      const jti = randomUUID()
      // A store that trimmed a jti, or ignored its case or its client, would confuse some of these.
      const distinctProofs = [
        { ...baseProof, jti },
        { ...baseProof, clientId: 'agt_two', jti },
        { ...baseProof, jti: `${jti} ` },
        { ...baseProof, jti: `${jti}\n` },
        { ...baseProof, jti: jti.toUpperCase() },
      ]
      for (const proof of distinctProofs) expect(await store.proofs.markUsed(proof), proof.jti).toBe(true)
      for (const proof of distinctProofs) expect(await store.proofs.markUsed(proof), proof.jti).toBe(false)
    })

    test('stores a jti only as a hash', async () => {
      await store.proofs.markUsed(createProof({ jti: 'Canary-jti-58b1' }))
      expect(await store.dump()).not.toContain('Canary-jti')
    })
  })
}
