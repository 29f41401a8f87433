import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { RULES } from '@plainpath/domain'
import { createSealer, generateKeyEncryptionKey, UnsealError } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { copyRefreshToken } from '../../test/copy-refresh-token.ts'
import { dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createOAuthRecordStore, reencryptOAuthRecords, sweepOAuthRecords } from './oauth-record-store.ts'

const RELEASES = JSON.parse(
  readFileSync(new URL('../../../../docs/releases.json', import.meta.url), 'utf8'),
) as readonly { readonly tag: string }[]
const START = new Date('2026-11-24T09:00:00Z')
let stores: TestStores
let now = START
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())
beforeEach(async () => {
  now = START
  await stores.db.query('delete from oauth_records')
})

const advanceTime = (ms: number) => {
  now = new Date(now.getTime() + ms)
}
const kek = generateKeyEncryptionKey()
/** Creates a store with these key-encryption keys, the newest first. */
const createStoreWith = (...keks: string[]) =>
  createOAuthRecordStore(stores.db, {
    sealer: createSealer(keks.join('\n')),
    now: () => now,
  })
const createStore = () => createStoreWith(kek)
const createId = () => randomBytes(32).toString('base64url')
const countRecords = async () => (await stores.db.query('select from oauth_records')).rowCount

test('stores ids only as hashes and contents only encrypted, and finds a record only by its model and id', async () => {
  const records = createStore()
  const [id, grantId] = [createId(), createId()]
  const payload = { accountId: 'canary-account', grantId, params: { state: 'canary-state' } }
  await records.save('AuthorizationCode', id, payload, 60)
  expect(await records.find('AuthorizationCode', id)).toEqual({
    payload: { ...payload, jti: id },
    epoch: expect.any(Number),
    consumedAt: undefined,
  })
  for (const model of ['RefreshToken', 'Grant', 'Interaction'] as const)
    expect(await records.find(model, id)).toBeUndefined()
  const dump = await dumpTables(stores.db)
  for (const secret of [id, grantId, 'canary-account', 'canary-state']) expect(dump).not.toContain(secret)
})

test('repeats a code or refresh token in its encrypted content only while the last release needs it there', async () => {
  const records = createStore()
  const id = createId()
  await records.save('RefreshToken', id, { jti: id, accountId: 'a' }, 60)
  const { rows } = await stores.db.query<{ id: string; payload_sealed: Buffer }>(
    'select * from oauth_records',
  )
  const [row] = rows
  const content = createSealer(kek).unseal(row?.payload_sealed ?? Buffer.alloc(0), `oauth_records/${row?.id}`)
  // An instance of 0.2.0 reads the id from the content. Once there is a newer release, `save` must leave it out.
  const lastReleaseNeedsId = RELEASES.at(-1)?.tag === 'release-0.2.0'
  expect(JSON.parse(content.toString('utf8'))).toEqual({
    accountId: 'a',
    ...(lastReleaseNeedsId && { jti: id }),
  })
  expect((await records.find('RefreshToken', id))?.payload).toEqual({ jti: id, accountId: 'a' })

  const otherId = createId()
  await records.save('RefreshToken', otherId, { accountId: 'b' }, 60)
  expect((await records.find('RefreshToken', otherId))?.payload).toEqual({ jti: otherId, accountId: 'b' })
})

test('does not find a record whose content was copied from another row', async () => {
  const records = createStore()
  const [firstId, secondId] = [createId(), createId()]
  for (const id of [firstId, secondId]) await records.save('Grant', id, { accountId: id }, 60)
  await stores.db.query(
    'update oauth_records set payload_sealed = (select payload_sealed from oauth_records limit 1)',
  )
  const found = [await records.find('Grant', firstId), await records.find('Grant', secondId)]
  expect(found.filter(Boolean)).toHaveLength(1)
})

test('sweeps expired records, and extends an interaction that is saved again', async () => {
  const records = createStore()
  const [id, otherId] = [createId(), createId()]
  await records.save('Interaction', id, { cid: 'a' }, 60)
  await records.save('Interaction', otherId, { cid: 'b' }, 60)
  advanceTime(30_000)
  await records.save('Interaction', id, { cid: 'c' }, 60)
  advanceTime(30_000)
  expect(await records.find('Interaction', otherId)).toBeUndefined()
  expect(await records.find('Interaction', id)).toMatchObject({ payload: { cid: 'c' } })
  expect(await sweepOAuthRecords(stores.db, now)).toBe(1)
  expect(await countRecords()).toBe(1)
})

test('lets one of several simultaneous calls use a record, and keeps the time of the first use', async () => {
  const records = createStore()
  const id = createId()
  await records.save('AuthorizationCode', id, {}, 600)
  const results = await Promise.all([1, 2, 3, 4].map(() => records.consume('AuthorizationCode', id)))
  expect(results.filter(Boolean)).toHaveLength(1)
  advanceTime(1_000)
  expect(await records.consume('AuthorizationCode', id)).toBe(false)
  expect(await records.find('AuthorizationCode', id)).toMatchObject({ consumedAt: START })
  expect(await records.consume('AuthorizationCode', createId())).toBe(false)
})

test('reports the removal of a record to only one of several simultaneous calls', async () => {
  const records = createStore()
  const id = createId()
  await records.save('Interaction', id, {}, 600)
  const results = await Promise.all([1, 2, 3].map(() => records.remove('Interaction', id)))
  expect(results.filter(Boolean)).toHaveLength(1)
})

test('lets a grant have 1,000 refresh tokens, and keeps them all', async () => {
  const records = createStore()
  const [grantId, otherGrantId] = [createId(), createId()]
  const [token, otherToken] = [createId(), createId()]
  await records.save('RefreshToken', token, { grantId }, 600)
  await records.save('RefreshToken', otherToken, { grantId: otherGrantId }, 600)
  await records.save('AuthorizationCode', createId(), { grantId }, 600)
  await copyRefreshToken(stores.db, token, RULES.refreshTokens - 2)
  expect(await records.mayRefresh(token)).toBe(true)
  await records.save('RefreshToken', createId(), { grantId }, 600)
  expect(await records.mayRefresh(token)).toBe(false)
  expect(await records.mayRefresh(otherToken)).toBe(true)
  // These include the token of the other grant, and the code.
  expect(await countRecords()).toBe(RULES.refreshTokens + 2)
})

test('does not find a record that an emergency revocation covers, even if it was saved again', async () => {
  const records = createStore()
  const [firstId, secondId, thirdId] = [createId(), createId(), createId()]
  await records.save('Grant', firstId, {}, 600)
  // A revocation of all tokens. The last epoch that was reserved (`claimed`) is never lower than `epoch`.
  await stores.db.query('update token_stop set epoch = epoch + 1, claimed = claimed + 1')
  await records.save('Grant', firstId, {}, 600)
  await records.save('Grant', secondId, {}, 600)
  expect(await records.find('Grant', firstId)).toBeUndefined()
  const { rows } = await stores.db.query<{ epoch: number }>('select epoch from token_stop')
  expect(await records.find('Grant', secondId)).toMatchObject({ epoch: rows[0]?.epoch })
  advanceTime(10_000)
  // A revocation of everything that was issued before `now`.
  await stores.db.query('update token_stop set issued_before = $1', [now])
  await records.save('Grant', secondId, {}, 600)
  await records.save('Grant', thirdId, {}, 600)
  expect(await records.find('Grant', secondId)).toBeUndefined()
  expect(await records.find('Grant', thirdId)).toBeDefined()
  // The other tests use the same database.
  await stores.db.query('update token_stop set issued_before = null')
})

test('re-encrypts records under the newest key, and does not find a record without its key', async () => {
  const id = createId()
  await createStore().save('Grant', id, { accountId: 'a' }, 600)
  const newKek = generateKeyEncryptionKey()
  expect(await createStoreWith(newKek).find('Grant', id)).toBeUndefined()
  const sealer = createSealer(`${newKek}\n${kek}`)
  expect(await reencryptOAuthRecords(stores.db, sealer, { dryRun: true })).toBe(1)
  expect(await reencryptOAuthRecords(stores.db, sealer, { dryRun: false })).toBe(1)
  expect(await reencryptOAuthRecords(stores.db, sealer, { dryRun: false })).toBe(0)
  expect(await createStoreWith(newKek).find('Grant', id)).toMatchObject({ payload: { accountId: 'a' } })
  await expect(
    reencryptOAuthRecords(stores.db, createSealer(generateKeyEncryptionKey()), { dryRun: false }),
  ).rejects.toThrow(UnsealError)
})
