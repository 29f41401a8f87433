import { RULES } from '@plainpath/domain'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MIGRATIONS } from '../migrations.ts'
import { createProof, describeUsedProofs } from './used-proofs.contract.ts'
import { createPostgresUsedProofs, sweepUsedProofs } from './used-proofs.ts'

const resources = new AsyncDisposableStack()
let db: Pool
beforeAll(async () => {
  const database = resources.use(await openTestDatabase({ folder: MIGRATIONS, name: 'used-proofs' }))
  db = resources.use(openPool(database.appUrl))
})
afterAll(() => resources.disposeAsync())

const LIFETIME_SECONDS = RULES.usedProofMs / 1_000
const NOW = new Date('2026-11-23T09:00:00Z')
const secondsLater = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000)
const countProofs = async () => (await db.query('select 1 from used_proofs')).rowCount

describeUsedProofs('PostgreSQL', async () => {
  const createStore = () => createPostgresUsedProofs(db, () => NOW)
  return {
    stores: [createStore(), createStore()],
    // The format `escape` shows ASCII bytes as text, so that plain text in `proof_hash` would be found.
    async readStored() {
      const { rows } = await db.query('select used_proofs::text, encode(proof_hash, $1) from used_proofs', [
        'escape',
      ])
      return JSON.stringify(rows)
    },
    // All tests of this file share the database, which `afterAll` closes.
    [Symbol.asyncDispose]: async () => undefined,
  }
})

test('deletes expired proofs, at most 1,000 at a time', async () => {
  await db.query('delete from used_proofs')
  const store = createPostgresUsedProofs(db, () => NOW)
  const proof = createProof()
  await store.use(proof)
  expect(await sweepUsedProofs(db, secondsLater(LIFETIME_SECONDS - 1))).toBe(0)
  expect(await store.use(proof)).toBe(false)
  expect(await sweepUsedProofs(db, secondsLater(LIFETIME_SECONDS))).toBe(1)
  expect(await countProofs()).toBe(0)
  // More proofs than a sweep deletes.
  await db.query(
    `insert into used_proofs select sha256(number::text::bytea), $1 from generate_series(1, 1500) number`,
    [NOW],
  )
  const deletedCounts = await Promise.all([sweepUsedProofs(db, NOW), sweepUsedProofs(db, NOW)])
  expect(Math.max(...deletedCounts)).toBeLessThanOrEqual(1_000)
  while ((await sweepUsedProofs(db, NOW)) > 0);
  expect(await countProofs()).toBe(0)
})
