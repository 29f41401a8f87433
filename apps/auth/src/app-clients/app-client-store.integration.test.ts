import { DAY_MS, HOUR_MS, RULES } from '@plainpath/domain'
import { createSealer, generateKeyEncryptionKey, UnsealError } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { type AppClientStore, createAppClientStore, sweepAppClients } from './app-client-store.ts'

let stores: TestStores
let store: AppClientStore

const NOW = new Date('2026-11-23T12:00:00Z')
const addToNow = (ms: number) => new Date(NOW.getTime() + ms)
const APP = {
  redirectUris: ['http://127.0.0.1/callback'],
  applicationType: 'native',
  authMethod: 'none',
  keys: [],
} as const

beforeAll(async () => {
  stores = await openTestStores()
  store = createAppClientStore(stores.db, stores.sealer)
})
afterAll(() => stores[Symbol.asyncDispose]())
beforeEach(async () => {
  await stores.db.query('delete from app_clients')
})

/**
 * Deletes batches until none is left, and returns the number of deleted apps. No test stores as many unused apps as
 * `maxUnused` is by default.
 */
async function sweepAll(now: Date, maxUnused = 1_000): Promise<number> {
  let deletedCount = 0
  let batchSize = await sweepAppClients(stores.db, now, maxUnused)
  while (batchSize > 0) {
    deletedCount += batchSize
    batchSize = await sweepAppClients(stores.db, now, maxUnused)
  }
  return deletedCount
}

/** Returns, for each id, whether the app is stored. */
const areStored = async (...ids: string[]) =>
  Promise.all(ids.map(async (id) => (await store.find(id)) !== undefined))

test('sweepAppClients deletes an unused app 91 days after its registration, registered or known by its URL, and a used one 91 days after its recorded last use', async () => {
  const unused = await store.add(APP, NOW)
  const used = await store.add(APP, NOW)
  await store.markUsed(used, addToNow(DAY_MS))
  const url = 'https://apps.example/client.json'
  await store.saveDocument(url, APP, { fetchedAt: NOW, expiresAt: addToNow(HOUR_MS) })
  const lifetimeMs = RULES.idleMs + RULES.useRecordedMs
  expect(await sweepAll(addToNow(lifetimeMs - 1))).toBe(0)
  expect(await sweepAll(addToNow(lifetimeMs))).toBe(2)
  expect(await areStored(unused, used, url)).toEqual([false, true, false])
  expect(await sweepAll(addToNow(DAY_MS + lifetimeMs - 1))).toBe(0)
  expect(await sweepAll(addToNow(DAY_MS + lifetimeMs))).toBe(1)
  // An idle app is stored for longer than any verification lasts, so every connection still has its app.
  expect(RULES.idleMs).toBeGreaterThan(RULES.verificationMs)
})

test('sweepAppClients deletes the oldest of too many unused apps, but none from the last hour and no used app', async () => {
  const used = await store.add(APP, addToNow(-2 * HOUR_MS))
  await store.markUsed(used, addToNow(-HOUR_MS))
  const oldIds: string[] = []
  const recentIds: string[] = []
  // Six unused apps: three that are two hours old, and three that are a little younger than an hour.
  for (const ms of [0, 1, 2]) oldIds.push(await store.add(APP, addToNow(-2 * HOUR_MS + ms)))
  for (const ms of [1, 2, 3]) recentIds.push(await store.add(APP, addToNow(-RULES.floodMs + ms)))
  expect(await sweepAll(NOW, 6)).toBe(0)
  expect(await sweepAll(NOW, 5)).toBe(1)
  expect(await areStored(...oldIds)).toEqual([false, true, true])
  expect(await sweepAll(NOW, 1)).toBe(2)
  expect(await areStored(used, ...recentIds)).toEqual([true, true, true, true])
})

test('the store records a use at most once a day, and ignores an app that is not stored', async () => {
  const id = await store.add(APP, NOW)
  await store.markUsed(id, NOW)
  await store.markUsed(id, addToNow(DAY_MS - 1))
  expect((await store.find(id))?.usedAt).toEqual(NOW)
  await store.markUsed(id, addToNow(DAY_MS))
  expect((await store.find(id))?.usedAt).toEqual(addToNow(DAY_MS))
  // This call does not throw.
  await store.markUsed('https://apps.example/unknown.json', NOW)
})

test('the store keeps the last use and the registration time when a document is stored again', async () => {
  const id = 'https://apps.example/client.json'
  await store.saveDocument(id, APP, { fetchedAt: NOW, expiresAt: addToNow(HOUR_MS) })
  await store.markUsed(id, NOW)
  await store.saveDocument(
    id,
    { ...APP, name: 'Example' },
    { fetchedAt: addToNow(HOUR_MS), expiresAt: addToNow(DAY_MS) },
  )
  expect(await store.find(id)).toMatchObject({ name: 'Example', usedAt: NOW, registeredAt: NOW })
})

test('the store encrypts a name, which can be decrypted only in the row of its own app', async () => {
  // A name that occurs nowhere else, so a dump of the tables would show it.
  const name = 'Canary of an app'
  const id = await store.add({ ...APP, name }, NOW)
  expect(await dumpTables(stores.db)).not.toContain(name)
  expect(await store.find(id)).toMatchObject({ name })
  const other = await store.add({ ...APP, name: 'Other' }, NOW)
  await stores.db.query(
    'update app_clients set name_sealed = (select name_sealed from app_clients where id = $1) where id = $2',
    [id, other],
  )
  await expect(store.find(other)).rejects.toThrow(UnsealError)
  await stores.db.query('delete from app_clients where id = $1', [other])
  expect(await store.reencryptNames({ dryRun: false })).toBe(0)
})

test('the store re-encrypts names under the newest key-encryption key', async () => {
  const oldKey = generateKeyEncryptionKey()
  const newKey = generateKeyEncryptionKey()
  const createStoreWithKeys = (keks: string) => createAppClientStore(stores.db, createSealer(keks))
  const id = await createStoreWithKeys(oldKey).add({ ...APP, name: 'Example' }, NOW)
  // An app without a name is not counted.
  await createStoreWithKeys(oldKey).add(APP, NOW)
  const storeWithBothKeys = createStoreWithKeys(`${newKey}\n${oldKey}`)
  expect(await storeWithBothKeys.reencryptNames({ dryRun: true })).toBe(1)
  expect(await storeWithBothKeys.reencryptNames({ dryRun: false })).toBe(1)
  expect(await storeWithBothKeys.reencryptNames({ dryRun: false })).toBe(0)
  expect(await createStoreWithKeys(newKey).find(id)).toMatchObject({ name: 'Example' })
})
