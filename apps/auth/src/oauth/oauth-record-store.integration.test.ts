import { randomBytes } from 'node:crypto'
import { newKeyEncryptionKey, parseKeyEncryptionKeys, SealError } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Authority, dumpTables, openAuthority } from '../../test/open-authority.ts'
import { createOAuthRecordStore, reencryptOAuthRecords, sweepOAuthRecords } from './oauth-record-store.ts'

const START = new Date('2026-11-24T09:00:00Z')
let authority: Authority
let now = START
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())
beforeEach(async () => {
  now = START
  await authority.db.query('delete from oauth_records')
})

const wait = (ms: number) => {
  now = new Date(now.getTime() + ms)
}
const kek = newKeyEncryptionKey()
const under = (...keys: string[]) =>
  createOAuthRecordStore(authority.db, {
    sealingKeys: parseKeyEncryptionKeys(keys.join('\n')),
    now: () => now,
  })
const open = () => under(kek)
const newId = () => randomBytes(32).toString('base64url')
const count = async () => (await authority.db.query('select from oauth_records')).rowCount

test('stores neither ids nor contents in clear, and finds them by model and id', async () => {
  const records = open()
  const [id, grantId] = [newId(), newId()]
  const payload = { accountId: 'canary-account', grantId, params: { state: 'canary-state' } }
  await records.save('AuthorizationCode', id, payload, 60)
  expect(await records.find('AuthorizationCode', id)).toEqual({
    payload,
    epoch: expect.any(Number),
    consumedAt: undefined,
  })
  for (const model of ['RefreshToken', 'Grant', 'Interaction'] as const)
    expect(await records.find(model, id)).toBeUndefined()
  const stored = await dumpTables(authority.db)
  for (const secret of [id, grantId, 'canary-account', 'canary-state']) expect(stored).not.toContain(secret)
})

test('a record that was copied to another row is not found', async () => {
  const records = open()
  const [one, two] = [newId(), newId()]
  for (const id of [one, two]) await records.save('Grant', id, { accountId: id }, 60)
  await authority.db.query(
    'update oauth_records set payload_sealed = (select payload_sealed from oauth_records limit 1)',
  )
  const found = [await records.find('Grant', one), await records.find('Grant', two)]
  expect(found.filter(Boolean)).toHaveLength(1)
})

test('expires, is swept, and an interaction that is saved again lives on', async () => {
  const records = open()
  const [id, other] = [newId(), newId()]
  await records.save('Interaction', id, { cid: 'a' }, 60)
  await records.save('Interaction', other, { cid: 'b' }, 60)
  wait(30_000)
  await records.save('Interaction', id, { cid: 'c' }, 60)
  wait(30_000)
  expect(await records.find('Interaction', other)).toBeUndefined()
  expect(await records.find('Interaction', id)).toMatchObject({ payload: { cid: 'c' } })
  expect(await sweepOAuthRecords(authority.db, now)).toBe(1)
  expect(await count()).toBe(1)
})

test('is consumed once, by one of several at once, and remembers the first time', async () => {
  const records = open()
  const id = newId()
  await records.save('AuthorizationCode', id, {}, 600)
  const consumed = await Promise.all([1, 2, 3, 4].map(() => records.consume('AuthorizationCode', id)))
  expect(consumed.filter(Boolean)).toHaveLength(1)
  wait(1_000)
  expect(await records.consume('AuthorizationCode', id)).toBe(false)
  expect(await records.find('AuthorizationCode', id)).toMatchObject({ consumedAt: START })
  expect(await records.consume('AuthorizationCode', newId())).toBe(false)
})

test('is removed once', async () => {
  const records = open()
  const id = newId()
  await records.save('Interaction', id, {}, 600)
  const removed = await Promise.all([1, 2, 3].map(() => records.remove('Interaction', id)))
  expect(removed.filter(Boolean)).toHaveLength(1)
})

test('keeps the newest 100 refresh tokens of a grant, and no fewer of another', async () => {
  const records = open()
  const [grantId, otherGrant] = [newId(), newId()]
  const tokens: string[] = []
  const add = async (grant: string) => {
    const id = newId()
    await records.save('RefreshToken', id, { grantId: grant }, 600)
    wait(1)
    return id
  }
  const others = await add(otherGrant)
  for (let n = 0; n < 103; n++) tokens.push(await add(grantId))
  expect(await count()).toBe(101)
  const found = await Promise.all(tokens.map((id) => records.find('RefreshToken', id)))
  expect(found.map(Boolean)).toEqual(tokens.map((_id, index) => index >= 3))
  expect(await records.find('RefreshToken', others)).toBeDefined()
})

test('is not found once an emergency revocation covers it, also if it was saved again since', async () => {
  const records = open()
  const [early, late, later] = [newId(), newId(), newId()]
  await records.save('Grant', early, {}, 600)
  await authority.db.query('update token_stop set epoch = epoch + 1, claimed = claimed + 1')
  await records.save('Grant', early, {}, 600)
  await records.save('Grant', late, {}, 600)
  expect(await records.find('Grant', early)).toBeUndefined()
  const { rows } = await authority.db.query<{ epoch: number }>('select epoch from token_stop')
  expect(await records.find('Grant', late)).toMatchObject({ epoch: rows[0]?.epoch })
  wait(10_000)
  await authority.db.query('update token_stop set issued_before = $1', [now])
  await records.save('Grant', late, {}, 600)
  await records.save('Grant', later, {}, 600)
  expect(await records.find('Grant', late)).toBeUndefined()
  expect(await records.find('Grant', later)).toBeDefined()
  await authority.db.query('update token_stop set issued_before = null')
})

test('is encrypted under the newest key by rewrap, and is not found when its key is gone', async () => {
  const id = newId()
  await open().save('Grant', id, { accountId: 'a' }, 600)
  const newer = newKeyEncryptionKey()
  expect(await under(newer).find('Grant', id)).toBeUndefined()
  const keys = parseKeyEncryptionKeys(`${newer}\n${kek}`)
  expect(await reencryptOAuthRecords(authority.db, keys, { dryRun: true })).toBe(1)
  expect(await reencryptOAuthRecords(authority.db, keys, { dryRun: false })).toBe(1)
  expect(await reencryptOAuthRecords(authority.db, keys, { dryRun: false })).toBe(0)
  expect(await under(newer).find('Grant', id)).toMatchObject({ payload: { accountId: 'a' } })
  await expect(
    reencryptOAuthRecords(authority.db, parseKeyEncryptionKeys(newKeyEncryptionKey()), { dryRun: false }),
  ).rejects.toThrow(SealError)
})
