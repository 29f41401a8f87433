import { err, ok } from '@plainpath/domain'
import { openPool } from '@plainpath/postgres'
import { newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { exampleSealingKeys } from '../../test/example-agent.ts'
import { type Authority, dumpTables, openAuthority } from '../../test/open-authority.ts'
import { verifyKeyAudit } from './key-audit.ts'
import { initKeys } from './key-operations.ts'
import { type Circumstances, generate, publish, retire, revoke } from './key-ring.ts'
import { createKeyStore, type KeyStore, UnreadableKey } from './key-store.ts'
import { generateKeyPair, type KeyPair } from './signing-key.ts'

let authority: Authority
let keys: KeyStore
beforeEach(async () => {
  authority = await openAuthority()
  keys = createKeyStore(authority.db, authority.sealingKeys)
})
afterEach(() => authority[Symbol.asyncDispose]())

const by = { user: 'rosa', host: 'desk' }
const POLICY = { maxAgeMs: 0, pollMs: 0, overlapMs: 0, periodMs: 0, leaseMs: 1_000 }
const at = (now: Date): Circumstances => ({ now, policy: POLICY, followers: [] })

async function add(added: KeyPair = generateKeyPair('EdDSA')): Promise<KeyPair> {
  const done = await keys.update(by, ({ ring }) => {
    const step = generate(ring, added.kid)
    return step.ok ? ok({ step: 'generate', transitions: step.value, added }) : err(step.error)
  })
  expect(done).toMatchObject({ ok: true })
  return added
}
const toPublished = (kid: string) =>
  keys.update(by, ({ ring }) => {
    const step = publish(ring, kid)
    return step.ok ? ok({ step: 'publish', transitions: step.value }) : err(step.error)
  })
const end = (kid: string, successor = generateKeyPair('ES256')) =>
  keys.update(by, ({ ring }) => {
    const step = revoke(ring, kid, successor.kid)
    return step.ok
      ? ok({ step: 'revoke', transitions: step.value, added: successor, reason: 'a test' })
      : err(step.error)
  })

test('stores and reads keys of both algorithms', async () => {
  const kid = await initKeys({ keys })
  const added = await add()
  const { keys: read, version } = await keys.read()
  expect(version).toBe(3)
  expect(read.map((key) => [key.kid, key.algorithm, key.state])).toEqual([
    [kid, 'ES256', 'signing'],
    [added.kid, 'EdDSA', 'generated'],
  ])
  expect(read[1]?.privateJwk).toEqual(added.privateJwk)
})

test('stores no private key in clear', async () => {
  const added = await add()
  expect(added.privateJwk.d).toHaveLength(43)
  expect(await dumpTables(authority.db)).not.toContain(added.privateJwk.d)
})

test('creates exactly one first key for several simultaneous starts', async () => {
  const results = await Promise.all(Array.from({ length: 4 }, () => initKeys({ keys })))
  const kids = (await keys.read()).keys.map(({ kid }) => kid)
  expect(kids).toHaveLength(1)
  expect(results.filter((kid) => kid !== undefined)).toEqual(kids)
  expect(await initKeys({ keys })).toBeUndefined()
})

test('adds keys that are older than the audit to it at the next start', async () => {
  await initKeys({ keys })
  await using owner = openPool(authority.database.ownerUrl)
  await owner.query('truncate key_audit')
  await owner.query('update key_ring set version = 1')
  expect(await initKeys({ keys })).toBeUndefined()
  const chain = verifyKeyAudit(await keys.readAudit())
  expect(chain).toMatchObject({ ok: true, value: { entries: [{ step: 'adopt' }] } })
})

test('erases the private part when the state does not need it any more', async () => {
  const kid = (await initKeys({ keys })) ?? ''
  await end(kid)
  const { rows } = await authority.db.query('select kid, private_sealed from signing_keys where state = $1', [
    'revoked',
  ])
  expect(rows).toEqual([{ kid, private_sealed: null }])
  expect((await keys.read()).keys.filter(({ state }) => state === 'signing')).toHaveLength(1)
})

test('lets one of two simultaneous operators take the step, and tells the other why not', async () => {
  await initKeys({ keys })
  const { kid } = await add()
  const published = await Promise.all([toPublished(kid), toPublished(kid), toPublished(kid)])
  expect(published.filter((done) => done.ok)).toHaveLength(1)
  expect(published.find((done) => !done.ok)).toMatchObject({
    error: { reason: `${kid} is published, not generated.` },
  })
  expect(await keys.readAudit()).toHaveLength(3)
})

test('prevents a second signing key, also for direct writes to the table', async () => {
  await initKeys({ keys })
  await add()
  await expect(authority.db.query(`update signing_keys set state = 'signing'`)).rejects.toThrow(
    'signing_keys_one_signs',
  )
})

test('changes nothing in a dry run or after a refusal', async () => {
  const kid = (await initKeys({ keys })) ?? ''
  const before = await dumpTables(authority.db)
  const tried = await keys.update(
    by,
    ({ ring }) => {
      const step = revoke(ring, kid, 'none')
      return step.ok
        ? ok({ step: 'revoke', transitions: [{ kid, from: 'signing', to: 'revoked' }] })
        : err(step.error)
    },
    { dryRun: true },
  )
  expect(tried).toMatchObject({ ok: true, value: { head: undefined, ring: { version: 3 } } })
  await keys.update(by, ({ ring, now }) => {
    const step = retire(ring, kid, at(now))
    return step.ok ? ok({ step: 'retire', transitions: step.value }) : err(step.error)
  })
  expect(await dumpTables(authority.db)).toBe(before)
})

describe('the audit', () => {
  test('accepts only inserts by the role of the app', async () => {
    await initKeys({ keys })
    for (const change of ['update key_audit set number = 2', 'delete from key_audit', 'truncate key_audit'])
      await expect(authority.db.query(change)).rejects.toMatchObject({ code: '42501' })
  })

  test('prevents a change when it cannot be written', async () => {
    const kid = (await initKeys({ keys })) ?? ''
    await using owner = openPool(authority.database.ownerUrl)
    await owner.query('revoke insert on key_audit from public')
    const { rows } = await owner.query<{ role: string }>(
      `select grantee as role from information_schema.role_table_grants
       where table_name = 'key_audit' and privilege_type = 'INSERT' and grantee <> current_user`,
    )
    for (const { role } of rows) await owner.query(`revoke insert on key_audit from "${role}"`)
    const before = await dumpTables(authority.db)
    await expect(end(kid)).rejects.toMatchObject({ code: '42501' })
    expect(await dumpTables(authority.db)).toBe(before)
  })

  test('shows edits by the owner of the table', async () => {
    await initKeys({ keys })
    await add()
    const head = verifyKeyAudit(await keys.readAudit())
    await using owner = openPool(authority.database.ownerUrl)
    await owner.query(`update key_audit set entry = replace(entry, 'rosa', 'carl') where number = 2`)
    expect(verifyKeyAudit(await keys.readAudit())).toMatchObject({
      ok: false,
      error: expect.stringContaining('Row 2'),
    })
    await owner.query('delete from key_audit where number = 2')
    expect(verifyKeyAudit(await keys.readAudit()).ok).toBe(true)
    expect(verifyKeyAudit(await keys.readAudit(), head.ok ? head.value.head : '').ok).toBe(false)
  })
})

describe('a row of the table of keys that somebody changed', () => {
  test.for([
    [
      'a byte of the private part',
      `private_sealed = set_byte(private_sealed, 100, get_byte(private_sealed, 100) # 1)`,
    ],
    ['the y of the public part', `public_jwk = jsonb_set(public_jwk, '{y}', '"AAAA"')`],
    ['the x of the public part', `public_jwk = jsonb_set(public_jwk, '{x}', '"AAAA"')`],
    ['the curve', `public_jwk = jsonb_set(public_jwk, '{crv}', '"P-384"')`],
    ['the kid in the public part', `public_jwk = jsonb_set(public_jwk, '{kid}', '"another"')`],
    ['the algorithm', `algorithm = 'EdDSA'`],
    ['the private part away', `private_sealed = null`],
    ['the state to one that has no private part', `state = 'retiring'`],
    ['a member that is no part of a public key', `public_jwk = public_jwk || '{"d":"AAAA"}'`],
  ])('refuses a row in which somebody changed %s', async ([_what, change]) => {
    await initKeys({ keys })
    await authority.db.query(`update signing_keys set ${change}`)
    await expect(keys.read()).rejects.toThrow(UnreadableKey)
  })

  test('detects any flipped bit of an encrypted key', async () => {
    const kid = await initKeys({ keys })
    const { rows } = await authority.db.query<{ sealed: Buffer }>(
      'select private_sealed as sealed from signing_keys',
    )
    const sealed = rows[0]?.sealed ?? Buffer.alloc(0)
    expect(sealed.length).toBeGreaterThan(250)
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(() => authority.sealingKeys.open(flipped, `signing_keys/${kid}`), `bit ${bit}`).toThrow(/./)
    }
  })

  test('rejects two rows whose private parts were swapped', async () => {
    await initKeys({ keys })
    await add(generateKeyPair('ES256'))
    await authority.db.query(
      `update signing_keys k set private_sealed = (select private_sealed from signing_keys o where o.kid <> k.kid)`,
    )
    await expect(keys.read()).rejects.toThrow(UnreadableKey)
  })

  test('refuses to continue without the key-encryption key, and creates no new key', async () => {
    await initKeys({ keys })
    const elsewhere = createKeyStore(authority.db, exampleSealingKeys())
    await expect(elsewhere.read()).rejects.toThrow(UnreadableKey)
    expect(await initKeys({ keys: elsewhere })).toBeUndefined()
    expect((await keys.read()).keys).toHaveLength(1)
  })

  test('allows a key that cannot be decrypted to be revoked, and continues under another key-encryption key', async () => {
    const kid = (await initKeys({ keys })) ?? ''
    keys = createKeyStore(authority.db, exampleSealingKeys())
    expect(await end(kid)).toMatchObject({ ok: true })
    expect((await keys.read()).keys.map(({ state }) => state)).toEqual(['revoked', 'signing'])
  })
})

test('rewrap re-encrypts every private key under the newest key-encryption key, once', async () => {
  const [old, young] = [newKeyEncryptionKey(), newKeyEncryptionKey()]
  const store = (text: string) => createKeyStore(authority.db, parseKeyEncryptionKeys(text))
  keys = store(old)
  await initKeys({ keys })
  await add()
  const before = await keys.read()
  const both = store(`${young}\n${old}`)
  expect(await both.reencrypt(by, { dryRun: true })).toHaveLength(2)
  expect(await both.reencrypt(by)).toHaveLength(2)
  expect(await both.reencrypt(by)).toEqual([])
  expect((await store(young).read()).keys).toEqual(before.keys)
  await expect(keys.read()).rejects.toThrow(UnreadableKey)
})
