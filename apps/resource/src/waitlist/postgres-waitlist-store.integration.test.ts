import { mailQueue, tellMails } from '@plainpath/mail'
import { openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import {
  newHashKey,
  newKeyEncryptionKey,
  parseHashKey,
  parseKeyEncryptionKeys,
  SealError,
} from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../migrations.ts'
import { postgresWaitlistStore } from './postgres-waitlist-store.ts'
import { describeWaitlistStore, newEntry } from './waitlist-store.contract.ts'

const sealingKeys = parseKeyEncryptionKeys(newKeyEncryptionKey())
const hashKey = parseHashKey(newHashKey())

async function open() {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  const db = opening.use(openPool(database.appUrl))
  const mailTeller = opening.use(tellMails({ db, log: { warn: () => undefined } }))
  const resources = opening.move()
  return {
    ...postgresWaitlistStore({
      db,
      sealingKeys,
      hashKey,
      mails: mailQueue(sealingKeys),
      mailTeller,
      onErased: () => undefined,
    }),
    db,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

describeWaitlistStore('Postgres', open)

test('an address opens in its own row alone, as typed', async () => {
  await using store = await open()
  const entry = newEntry('Ana+Tag@B\u00fccher.example')
  await store.add(entry)
  await store.add(newEntry('ben@example.org'))
  const { rows } = await store.db.query<{ id: string; email_sealed: Buffer; email_hash_key: string }>(
    'select * from waitlist_entries where id = $1',
    [entry.id],
  )
  const [row] = rows
  if (!row) throw new Error('no row')
  expect(sealingKeys.open(row.email_sealed, `waitlist_entries/${entry.id}/email`).toString()).toBe(
    entry.email,
  )
  expect(() => sealingKeys.open(row.email_sealed, `waitlist_entries/${newEntry('x').id}/email`)).toThrow(
    SealError,
  )
  expect(row.email_hash_key).toBe(hashKey.id)
})
