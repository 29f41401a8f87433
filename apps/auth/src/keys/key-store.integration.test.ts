import { err, ok } from '@plainpath/domain'
import { openPool } from '@plainpath/postgres'
import { createSealer, generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createExampleSealer } from '../../test/example-agent.ts'
import { dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { verifyKeyAudit } from './key-audit.ts'
import { initKeys } from './key-operations.ts'
import { type Circumstances, generate, publish, retire, revoke } from './key-ring.ts'
import { createKeyStore, type KeyStore, UnreadableKey } from './key-store.ts'
import { generateKeyPair, type KeyPair } from './signing-key.ts'

let stores: TestStores
let keys: KeyStore
beforeEach(async () => {
  stores = await openTestStores()
  keys = createKeyStore(stores.db, stores.sealer)
})
afterEach(() => stores[Symbol.asyncDispose]())

const actor = { user: 'rosa', host: 'desk' }
const POLICY = { verifierCacheMs: 0, pollMs: 0, overlapMs: 0, signingPeriodMs: 0, leaseMs: 1_000 }
const createCircumstances = (now: Date): Circumstances => ({ now, policy: POLICY, followers: [] })

/** Adds a successor of the signing key. */
async function addSuccessor(added: KeyPair = generateKeyPair('EdDSA')): Promise<KeyPair> {
  const result = await keys.update(actor, ({ ring }) => {
    const step = generate(ring, added.kid)
    return step.ok ? ok({ step: 'generate', transitions: step.value, added }) : err(step.error)
  })
  expect(result).toMatchObject({ ok: true })
  return added
}
const publishKey = (kid: string) =>
  keys.update(actor, ({ ring }) => {
    const step = publish(ring, kid)
    return step.ok ? ok({ step: 'publish', transitions: step.value }) : err(step.error)
  })
const revokeKey = (kid: string, successor = generateKeyPair('ES256')) =>
  keys.update(actor, ({ ring }) => {
    const step = revoke(ring, kid, successor.kid)
    return step.ok
      ? ok({ step: 'revoke', transitions: step.value, added: successor, reason: 'a test' })
      : err(step.error)
  })

test('stores and reads keys of both algorithms', async () => {
  const kid = await initKeys({ keys })
  const added = await addSuccessor()
  const { keys: storedKeys, version } = await keys.read()
  expect(version).toBe(3)
  expect(storedKeys.map((key) => [key.kid, key.algorithm, key.state])).toEqual([
    [kid, 'ES256', 'signing'],
    [added.kid, 'EdDSA', 'generated'],
  ])
  expect(storedKeys[1]?.privateJwk).toEqual(added.privateJwk)
})

test('stores private keys only encrypted', async () => {
  const added = await addSuccessor()
  // The private value has 32 bytes, in base64url. This check ensures that the next one looks for a whole key.
  expect(added.privateJwk.d).toHaveLength(43)
  expect(await dumpTables(stores.db)).not.toContain(added.privateJwk.d)
})

test('initKeys creates exactly one first key for several simultaneous callers', async () => {
  const results = await Promise.all(Array.from({ length: 4 }, () => initKeys({ keys })))
  const kids = (await keys.read()).keys.map(({ kid }) => kid)
  expect(kids).toHaveLength(1)
  expect(results.filter((kid) => kid !== undefined)).toEqual(kids)
  expect(await initKeys({ keys })).toBeUndefined()
})

test('initKeys adds keys that are older than the audit log to it', async () => {
  await initKeys({ keys })
  await using owner = openPool(stores.database.ownerUrl)
  // A database from before the audit log has keys, and no audit rows.
  await owner.query('truncate key_audit')
  await owner.query('update key_ring set version = 1')
  expect(await initKeys({ keys })).toBeUndefined()
  const chain = verifyKeyAudit(await keys.readAudit())
  expect(chain).toMatchObject({ ok: true, value: { entries: [{ step: 'adopt' }] } })
})

test('erases the private part of a revoked key, and lets another key sign', async () => {
  const kid = (await initKeys({ keys })) ?? ''
  await revokeKey(kid)
  const { rows } = await stores.db.query('select kid, private_sealed from signing_keys where state = $1', [
    'revoked',
  ])
  expect(rows).toEqual([{ kid, private_sealed: null }])
  expect((await keys.read()).keys.filter(({ state }) => state === 'signing')).toHaveLength(1)
})

test('publishes a key for one of three simultaneous operators, and tells the others the state of the key', async () => {
  await initKeys({ keys })
  const { kid } = await addSuccessor()
  const results = await Promise.all([publishKey(kid), publishKey(kid), publishKey(kid)])
  expect(results.filter((result) => result.ok)).toHaveLength(1)
  expect(results.find((result) => !result.ok)).toMatchObject({
    error: { reason: `Key ${kid} is in the state published, but this step needs the state generated.` },
  })
  expect(await keys.readAudit()).toHaveLength(3)
})

test('refuses a direct write to the table that makes a second key sign', async () => {
  await initKeys({ keys })
  await addSuccessor()
  await expect(stores.db.query(`update signing_keys set state = 'signing'`)).rejects.toThrow(
    'signing_keys_one_signs',
  )
})

test('changes nothing in a dry run or after a refusal', async () => {
  const kid = (await initKeys({ keys })) ?? ''
  const before = await dumpTables(stores.db)
  // The `ring` in the result is the ring after the change, so its version is one higher than the stored version.
  const dryRun = await keys.update(
    actor,
    ({ ring }) => {
      const step = revoke(ring, kid, 'none')
      return step.ok
        ? ok({ step: 'revoke', transitions: [{ kid, from: 'signing', to: 'revoked' }] })
        : err(step.error)
    },
    { dryRun: true },
  )
  expect(dryRun).toMatchObject({ ok: true, value: { auditHead: undefined, ring: { version: 3 } } })
  await keys.update(actor, ({ ring, now }) => {
    const step = retire(ring, kid, createCircumstances(now))
    return step.ok ? ok({ step: 'retire', transitions: step.value }) : err(step.error)
  })
  expect(await dumpTables(stores.db)).toBe(before)
})

describe('the audit log', () => {
  test('refuses updates, deletions and truncation by the role of the app', async () => {
    await initKeys({ keys })
    // The SQLSTATE of `insufficient_privilege`.
    for (const change of ['update key_audit set number = 2', 'delete from key_audit', 'truncate key_audit'])
      await expect(stores.db.query(change)).rejects.toMatchObject({ code: '42501' })
  })

  test('prevents a change of the keys if the row for the change cannot be inserted', async () => {
    const kid = (await initKeys({ keys })) ?? ''
    await using owner = openPool(stores.database.ownerUrl)
    await owner.query('revoke insert on key_audit from public')
    // Every other role with the privilege loses it too, among them the app's.
    const { rows } = await owner.query<{ role: string }>(
      `select grantee as role from information_schema.role_table_grants
       where table_name = 'key_audit' and privilege_type = 'INSERT' and grantee <> current_user`,
    )
    for (const { role } of rows) await owner.query(`revoke insert on key_audit from "${role}"`)
    const before = await dumpTables(stores.db)
    await expect(revokeKey(kid)).rejects.toMatchObject({ code: '42501' })
    expect(await dumpTables(stores.db)).toBe(before)
  })

  test('reveals an edit by the owner and, given an earlier head, the removal of the last row', async () => {
    await initKeys({ keys })
    await addSuccessor()
    const verified = verifyKeyAudit(await keys.readAudit())
    await using owner = openPool(stores.database.ownerUrl)
    await owner.query(`update key_audit set entry = replace(entry, 'rosa', 'carl') where number = 2`)
    expect(verifyKeyAudit(await keys.readAudit())).toMatchObject({
      ok: false,
      error: expect.stringContaining('Row 2'),
    })
    // Without its last row, the chain is valid again. Only the earlier head reveals the removal.
    await owner.query('delete from key_audit where number = 2')
    expect(verifyKeyAudit(await keys.readAudit()).ok).toBe(true)
    const head = verified.ok ? verified.value.head : ''
    expect(verifyKeyAudit(await keys.readAudit(), head).ok).toBe(false)
  })
})

describe('a row that was changed or cannot be decrypted', () => {
  test.for([
    [
      'a flipped bit in the private part',
      `private_sealed = set_byte(private_sealed, 100, get_byte(private_sealed, 100) # 1)`,
    ],
    ['another y in the public part', `public_jwk = jsonb_set(public_jwk, '{y}', '"AAAA"')`],
    ['another x in the public part', `public_jwk = jsonb_set(public_jwk, '{x}', '"AAAA"')`],
    ['another curve', `public_jwk = jsonb_set(public_jwk, '{crv}', '"P-384"')`],
    ['another kid in the public part', `public_jwk = jsonb_set(public_jwk, '{kid}', '"another"')`],
    ['another algorithm', `algorithm = 'EdDSA'`],
    ['no private part', `private_sealed = null`],
    ['a state in which a key has no private part', `state = 'retiring'`],
    ['a member that does not belong in a public key', `public_jwk = public_jwk || '{"d":"AAAA"}'`],
  ])('is rejected: %s', async ([, change]) => {
    await initKeys({ keys })
    await stores.db.query(`update signing_keys set ${change}`)
    await expect(keys.read()).rejects.toThrow(UnreadableKey)
  })

  test('is rejected whichever bit of the encrypted key is flipped', async () => {
    const kid = await initKeys({ keys })
    const { rows } = await stores.db.query<{ sealed: Buffer }>(
      'select private_sealed as sealed from signing_keys',
    )
    const sealed = rows[0]?.sealed ?? Buffer.alloc(0)
    // If there were no encrypted key, the loop below would check nothing.
    expect(sealed.length).toBeGreaterThan(250)
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(() => stores.sealer.unseal(flipped, `signing_keys/${kid}`), `bit ${bit}`).toThrow(/./)
    }
  })

  test('is rejected if the private parts of two rows were swapped', async () => {
    await initKeys({ keys })
    await addSuccessor(generateKeyPair('ES256'))
    await stores.db.query(
      `update signing_keys k set private_sealed = (select private_sealed from signing_keys o where o.kid <> k.kid)`,
    )
    await expect(keys.read()).rejects.toThrow(UnreadableKey)
  })

  test('is rejected without its key-encryption key, and initKeys then creates no new key', async () => {
    await initKeys({ keys })
    const storeWithOtherKek = createKeyStore(stores.db, createExampleSealer())
    await expect(storeWithOtherKek.read()).rejects.toThrow(UnreadableKey)
    expect(await initKeys({ keys: storeWithOtherKek })).toBeUndefined()
    expect((await keys.read()).keys).toHaveLength(1)
  })

  test('can be revoked, and its successor is stored under another key-encryption key', async () => {
    const kid = (await initKeys({ keys })) ?? ''
    keys = createKeyStore(stores.db, createExampleSealer())
    expect(await revokeKey(kid)).toMatchObject({ ok: true })
    expect((await keys.read()).keys.map(({ state }) => state)).toEqual(['revoked', 'signing'])
  })
})

test('re-encrypts every private key under the newest key-encryption key, once', async () => {
  const oldKek = generateKeyEncryptionKey()
  const newKek = generateKeyEncryptionKey()
  const openStore = (text: string) => createKeyStore(stores.db, createSealer(text))
  keys = openStore(oldKek)
  await initKeys({ keys })
  await addSuccessor()
  const before = await keys.read()
  const storeWithBoth = openStore(`${newKek}\n${oldKek}`)
  expect(await storeWithBoth.reencrypt(actor, { dryRun: true })).toHaveLength(2)
  expect(await storeWithBoth.reencrypt(actor)).toHaveLength(2)
  expect(await storeWithBoth.reencrypt(actor)).toEqual([])
  expect((await openStore(newKek).read()).keys).toEqual(before.keys)
  await expect(keys.read()).rejects.toThrow(UnreadableKey)
})
