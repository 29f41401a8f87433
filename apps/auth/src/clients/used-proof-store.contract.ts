import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { UsedProofStore } from './used-proof-store.ts'

interface OpenedStore extends AsyncDisposable {
  readonly proofs: UsedProofStore
  /** The same store, as another instance opens it. */
  readonly elsewhere: UsedProofStore
  /** Everything that is stored, as text. */
  dump(): Promise<string>
}

/** Every UsedProofStore must pass this. */
export function describeUsedProofStore(kind: string, open: () => Promise<OpenedStore>): void {
  describe(`${kind} store of used proofs`, () => {
    let store: OpenedStore
    beforeAll(async () => {
      store = await open()
    })
    afterAll(() => store[Symbol.asyncDispose]())

    const proof = (more: { clientId?: string; jti?: string } = {}) => ({
      clientId: 'agt_1',
      jti: randomUUID(),
      expiresAt: new Date(Date.now() + 300_000),
      ...more,
    })

    test('accepts a proof once, at whichever instance', async () => {
      const [one, other] = [proof(), proof()]
      expect([
        await store.proofs.use(one),
        await store.proofs.use(one),
        await store.elsewhere.use(one),
      ]).toEqual([true, false, false])
      expect([await store.elsewhere.use(other), await store.proofs.use(other)]).toEqual([true, false])
    })

    test('accepts exactly one of many simultaneous uses', async () => {
      const used = proof()
      const uses = Array.from({ length: 30 }, (_, n) => (n % 2 ? store.proofs : store.elsewhere).use(used))
      expect((await Promise.all(uses)).filter(Boolean)).toHaveLength(1)
    })

    test('two clients may use one jti, and each of them similar ones', async () => {
      const [one, jti] = [proof({ clientId: 'agt_one' }), randomUUID()]
      const sent = [
        { ...one, jti },
        { ...one, clientId: 'agt_two', jti },
        { ...one, jti: `${jti} ` },
        { ...one, jti: `${jti}\n` },
        { ...one, jti: jti.toUpperCase() },
      ]
      for (const each of sent) expect(await store.proofs.use(each), each.jti).toBe(true)
      for (const each of sent) expect(await store.proofs.use(each), each.jti).toBe(false)
    })

    test('stores no jti in clear', async () => {
      await store.proofs.use(proof({ jti: 'Canary-jti-58b1' }))
      expect(await store.dump()).not.toContain('Canary-jti')
    })
  })
}
