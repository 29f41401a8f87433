import { DAY_MS, HOUR_MS, RULES } from '@plainpath/domain'
import { newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Authority, dumpTables, openAuthority } from '../../test/open-authority.ts'
import { type AppClientStore, createAppClientStore, sweepAppClients } from './app-client-store.ts'

let authority: Authority
let store: AppClientStore
const NOW = new Date('2026-11-23T12:00:00Z')
const after = (ms: number) => new Date(NOW.getTime() + ms)
const APP = {
  redirectUris: ['http://127.0.0.1/callback'],
  applicationType: 'native',
  authMethod: 'none',
  keys: [],
} as const
beforeAll(async () => {
  authority = await openAuthority()
  store = createAppClientStore(authority.db, authority.sealingKeys)
})
afterAll(() => authority[Symbol.asyncDispose]())
beforeEach(async () => {
  await authority.db.query('delete from app_clients')
})
const sweep = async (now: Date, unused = 1_000) => {
  let swept = 0
  for (let n; (n = await sweepAppClients(authority.db, now, unused)) > 0; ) swept += n
  return swept
}
const existing = async (...ids: string[]) =>
  Promise.all(ids.map(async (id) => (await store.find(id)) !== undefined))

test('an unused app expires after a day, a used one 90 days after its last use', async () => {
  const [unused, used] = [await store.add(APP, NOW), await store.add(APP, NOW)]
  await store.markUsed(used, NOW)
  const url = 'https://apps.example/client.json'
  await store.saveDocument(url, APP, { fetchedAt: NOW, expiresAt: after(HOUR_MS) })
  expect(await sweep(after(RULES.unusedAppMs - 1))).toBe(0)
  expect(await sweep(after(RULES.unusedAppMs))).toBe(2)
  expect(await existing(unused, used, url)).toEqual([false, true, false])
  expect(await sweep(after(RULES.idleMs + RULES.useRecordedMs - 1))).toBe(0)
  expect(await sweep(after(RULES.idleMs + RULES.useRecordedMs))).toBe(1)
  // Longer than any claim, so no connection is without its app.
  expect(RULES.idleMs).toBeGreaterThan(RULES.claimMs)
})

test('the oldest expire when there are too many unused apps, but no app of the last hour and no used one', async () => {
  const used = await store.add(APP, after(-2 * HOUR_MS))
  await store.markUsed(used, after(-HOUR_MS))
  const old: string[] = []
  for (let n = 0; n < 3; n += 1) old.push(await store.add(APP, after(-2 * HOUR_MS + n)))
  const young: string[] = []
  for (let n = 0; n < 3; n += 1) young.push(await store.add(APP, after(-RULES.floodMs + 1 + n)))
  expect(await sweep(NOW, 6)).toBe(0)
  expect(await sweep(NOW, 5)).toBe(1)
  expect(await existing(...old)).toEqual([false, true, true])
  expect(await sweep(NOW, 1)).toBe(2)
  expect(await existing(used, ...young)).toEqual([true, true, true, true])
})

test('a use is recorded at most once a day', async () => {
  const id = await store.add(APP, NOW)
  await store.markUsed(id, NOW)
  await store.markUsed(id, after(DAY_MS - 1))
  expect((await store.find(id))?.usedAt).toEqual(NOW)
  await store.markUsed(id, after(DAY_MS))
  expect((await store.find(id))?.usedAt).toEqual(after(DAY_MS))
  await store.markUsed('https://apps.example/unknown.json', NOW)
})

test('a document that is read again is still in use', async () => {
  const id = 'https://apps.example/client.json'
  await store.saveDocument(id, APP, { fetchedAt: NOW, expiresAt: after(HOUR_MS) })
  await store.markUsed(id, NOW)
  await store.saveDocument(
    id,
    { ...APP, name: 'Example' },
    { fetchedAt: after(HOUR_MS), expiresAt: after(DAY_MS) },
  )
  expect(await store.find(id)).toMatchObject({ name: 'Example', usedAt: NOW, registeredAt: NOW })
})

test('names are encrypted for their row, and re-encrypted under a new key', async () => {
  const name = 'Canary of an app'
  const id = await store.add({ ...APP, name }, NOW)
  expect(await dumpTables(authority.db)).not.toContain(name)
  expect(await store.find(id)).toMatchObject({ name })
  const other = await store.add({ ...APP, name: 'Other' }, NOW)
  await authority.db.query(
    'update app_clients set name_sealed = (select name_sealed from app_clients where id = $1) where id = $2',
    [id, other],
  )
  await expect(store.find(other)).rejects.toThrow(/./)
  await authority.db.query('delete from app_clients where id = $1', [other])
  expect(await store.reencryptNames({ dryRun: false })).toBe(0)
})

test('names are re-encrypted under the newest key-encryption key', async () => {
  const [old, young] = [newKeyEncryptionKey(), newKeyEncryptionKey()]
  const storeUnder = (keys: string) => createAppClientStore(authority.db, parseKeyEncryptionKeys(keys))
  const id = await storeUnder(old).add({ ...APP, name: 'Example' }, NOW)
  await storeUnder(old).add(APP, NOW)
  const both = storeUnder(`${young}\n${old}`)
  expect(await both.reencryptNames({ dryRun: true })).toBe(1)
  expect(await both.reencryptNames({ dryRun: false })).toBe(1)
  expect(await both.reencryptNames({ dryRun: false })).toBe(0)
  expect(await storeUnder(young).find(id)).toMatchObject({ name: 'Example' })
})
