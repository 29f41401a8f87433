import { expect, test } from 'vitest'
import { dumpTables, openTestStores } from '../../test/open-test-stores.ts'
import { sweepUsedJtis } from './used-jti-store.ts'
import { describeUsedProofStore } from './used-proof-store.contract.ts'
import { createPostgresUsedProofStore } from './used-proof-store.ts'

async function open() {
  const stores = await openTestStores()
  return {
    db: stores.db,
    proofs: createPostgresUsedProofStore(stores.db),
    secondInstance: createPostgresUsedProofStore(stores.db),
    dump: () => dumpTables(stores.db),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  }
}

describeUsedProofStore('PostgreSQL', open)

test('sweepUsedJtis deletes a proof a minute after it expired', async () => {
  await using store = await open()
  const expiresAt = new Date('2026-11-20T09:00:00Z')
  const proof = { clientId: 'agt_1', jti: 'one', expiresAt }
  await store.proofs.markUsed(proof)
  expect(await sweepUsedJtis(store.db, new Date(expiresAt.getTime() + 59_000))).toBe(0)
  expect(await store.proofs.markUsed(proof)).toBe(false)
  expect(await sweepUsedJtis(store.db, new Date(expiresAt.getTime() + 60_000))).toBe(1)
})
