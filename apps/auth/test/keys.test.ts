import { writeFile } from 'node:fs/promises'
import { openPool } from '@plainpath/postgres'
import { generateKeyEncryptionKey } from '@plainpath/sealing'
import { decodeProtectedHeader } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { getToken, register, requestIntrospection } from './agent-client.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

const ORIGIN = 'https://plainpath.example'
/** Settings with which the commands need not wait long for caches and leases to expire. */
const SHORT_INTERVALS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '0.1',
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_OVERLAP_SECONDS: '0',
  AUTH_KEYS_LEASE_SECONDS: '2',
}

let resources: AsyncDisposableStack
let testbed: AuthTestbed
let env: Record<string, string>
beforeEach(async () => {
  resources = new AsyncDisposableStack()
  testbed = resources.use(await openAuthTestbed())
  env = { ...(await testbed.createSettings(ORIGIN)), ...SHORT_INTERVALS }
})
afterEach(() => resources.disposeAsync())

const start = async (moreSettings: Record<string, string> = {}) =>
  resources.use(await startInstance(testbed, { env: { ...SHORT_INTERVALS, ...moreSettings } }))

/** Runs a command `auth keys`. A `+` in the arguments stands for a space. */
function runKeys(args: string, moreSettings: Record<string, string> = {}) {
  const words = ['keys', ...args.split(' ')].map((word) => word.replaceAll('+', ' '))
  return runAuth(words, { ...env, ...moreSettings })
}
/** Repeats a command, at most 200 times, until its step is due. */
async function runOnceDue(args: string) {
  let result = await runKeys(args)
  const isTooEarly = () => result.code !== 0 || result.printed.includes('Nothing is due')
  for (let tries = 0; isTooEarly() && tries < 200; tries += 1) result = await runKeys(args)
  return result
}
const listKeys = async () =>
  JSON.parse((await runKeys('list --json')).printed) as {
    ring_version: number
    keys: { kid: string; state: string }[]
    instances: { host: string; signing_kid?: string }[]
  }
const findKid = async (state: string) => (await listKeys()).keys.find((key) => key.state === state)?.kid ?? ''
const listPublishedKids = async (auth: RunningAuth) =>
  (
    JSON.parse((await send(auth.internalUrl, { path: '/oauth/jwks.json' })).text) as {
      keys: { kid: string }[]
    }
  ).keys.map(({ kid }) => kid)
/** Returns the kid with which an instance signs an introspection response, or the status of another response. */
async function findSigningKid(auth: RunningAuth, token: string) {
  const response = await requestIntrospection(auth, token)
  return response.status === 200 ? decodeProtectedHeader(response.text).kid : response.status
}
const getReadiness = async (auth: RunningAuth) => {
  const response = await send(auth.operationsUrl, { path: '/ready' })
  return { status: response.status, body: JSON.parse(response.text) as Record<string, unknown> }
}

test('both instances adopt each step of a rotation, and can introspect an earlier token throughout', async () => {
  const [instance, otherInstance] = [await start(), await start()]
  const token = await getToken(instance, await register(instance))
  const oldKid = await findKid('signing')
  expect((await runKeys('generate --algorithm EdDSA')).code).toBe(0)
  const newKid = await findKid('generated')
  expect(await listPublishedKids(instance)).toEqual([oldKid])
  expect((await runKeys('publish')).printed).toContain(`${newKid}  generated -> published`)
  for (const auth of [instance, otherInstance])
    expect((await listPublishedKids(auth)).toSorted()).toEqual([oldKid, newKid].toSorted())
  const activateResult = await runOnceDue('activate')
  expect(activateResult.printed).toContain(`${oldKid}  signing -> retiring`)
  for (const auth of [instance, otherInstance]) {
    expect(await findSigningKid(auth, token)).toBe(newKid)
    expect((await listPublishedKids(auth)).toSorted()).toEqual([oldKid, newKid].toSorted())
  }
  await runOnceDue('retire')
  for (const auth of [instance, otherInstance]) expect(await listPublishedKids(auth)).toEqual([newKid])
  const verifyResult = await runKeys('verify')
  expect(verifyResult).toMatchObject({
    code: 0,
    printed: expect.stringContaining('All checks passed: 2 keys, 2 running instances'),
  })
  // The five rows of the audit log: the creation of the first key, generate, publish, activate and retire.
  expect((await getReadiness(instance)).body['keys']).toEqual({
    ring_version: (await listKeys()).ring_version,
    signing_kid: newKid,
    signing_since: expect.any(String),
    audit: { head: expect.any(String), number: 5 },
  })
  const metrics = (await send(instance.operationsUrl, { path: '/metrics' })).text
  expect(metrics).toContain(`signing_key{kid="${newKid}",service="auth"} 1`)
  const sinceSeconds = Number(/^signing_key_since_seconds\{.*\} (\S+)$/m.exec(metrics)?.[1])
  expect(Math.abs(Date.now() / 1000 - sinceSeconds)).toBeLessThan(60)
  expect(metrics).not.toContain(oldKid)
})

test('`keys activate` refuses to run too early and says when it will be safe, as text and as JSON', async () => {
  await start()
  await runKeys('generate')
  await runKeys('publish')
  const longWait = { AUTH_KEYS_MAX_AGE_SECONDS: '300' }
  const refusal = await runKeys('activate --json', longWait)
  expect(refusal.code).toBe(1)
  const { safe_from: safeFrom, ok } = JSON.parse(refusal.printed) as { safe_from: string; ok: boolean }
  expect(ok).toBe(false)
  expect(new Date(safeFrom).getTime() - Date.now()).toBeGreaterThan(290_000)
  expect((await runKeys('activate', longWait)).errors).toContain(`This step is safe from 20`)
  expect(await runKeys('rotate', longWait)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('Nothing is due. Next: activate'),
  })
})

test('`keys rotate` performs the step that is due, and changes nothing in a dry run', async () => {
  await start()
  const listBefore = await listKeys()
  expect((await runKeys('rotate')).printed).toContain('Nothing is due. Next: generate')
  expect((await runKeys('rotate --now --dry-run')).printed).toMatch(/^Would generate/)
  expect((await listKeys()).ring_version).toBe(listBefore.ring_version)
  for (const step of ['generate', 'publish', 'activate', 'retire'])
    await expect
      .poll(async () => (await runKeys(step === 'generate' ? 'rotate --now' : 'rotate')).printed)
      .toContain(`Done: ${step}`)
  expect((await listKeys()).keys.map(({ state }) => state)).toEqual(['retired', 'signing'])
})

test('an instance reports the head of the key audit in the log, in /ready and in a metric, at the start and after a change', async () => {
  const readHead = async () =>
    (JSON.parse((await runKeys('audit --verify --json')).printed) as { head: string }).head
  const firstHead = await readHead()
  const auth = await start()
  const listLoggedHeads = () =>
    auth.logged
      .map((line) => JSON.parse(line) as { msg: string; head?: string; number?: number })
      .filter(({ msg }) => msg === 'read the head of the key audit')
      .map(({ head, number }) => [head, number])
  const readMetrics = async () => (await send(auth.operationsUrl, { path: '/metrics' })).text
  expect(listLoggedHeads()).toEqual([[firstHead, 1]])
  expect(await readMetrics()).toContain(`key_audit_number{head="${firstHead}",service="auth"} 1`)
  await runKeys('generate')
  const secondHead = await readHead()
  await expect.poll(listLoggedHeads).toEqual([
    [firstHead, 1],
    [secondHead, 2],
  ])
  expect((await getReadiness(auth)).body['keys']).toMatchObject({ audit: { head: secondHead, number: 2 } })
  expect(await readMetrics()).toContain(`key_audit_number{head="${secondHead}",service="auth"} 2`)
  expect(await readMetrics()).not.toContain(firstHead)
})

test('an instance that cannot read the head of the key audit reports that in a metric and in /ready, and stays ready', async () => {
  const auth = await start()
  const readMetrics = async () => (await send(auth.operationsUrl, { path: '/metrics' })).text
  expect(await readMetrics()).toContain('key_audit_readable{service="auth"} 1')
  await using owner = openPool(testbed.database.ownerUrl)
  await owner.query('alter table key_audit rename to key_audit_away')
  try {
    await owner.query('update key_ring set version = version + 1')
    await expect.poll(readMetrics).toContain('key_audit_readable{service="auth"} 0')
    expect((await getReadiness(auth)).body).toMatchObject({ status: 'ready', keys: { audit_unread: true } })
  } finally {
    await owner.query('alter table key_audit_away rename to key_audit')
  }
  await expect.poll(readMetrics).toContain('key_audit_readable{service="auth"} 1')
  expect((await getReadiness(auth)).body['keys']).not.toHaveProperty('audit_unread')
})

test('the key audit contains each step, and `keys audit --head` detects that the row of this head was deleted', async () => {
  await runKeys('generate')
  const { head } = JSON.parse((await runKeys('audit --verify --json')).printed) as { head: string }
  await runKeys('publish')
  expect(await runKeys(`audit --verify --head ${head}`)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('Rows added since the given head: 1.'),
  })
  expect((await runKeys('audit')).printed).toMatch(
    /ring 3 {2}generate {2}by \S+ on \S+\n {4}\S+ {2}generated\n/,
  )
  await using owner = openPool(testbed.database.ownerUrl)
  await owner.query('delete from key_audit where number > 1')
  expect(await runKeys('audit --verify')).toMatchObject({ code: 0 })
  expect(await runKeys(`audit --verify --head ${head}`)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('the newest rows were removed'),
  })
  expect((await runKeys('verify')).printed).toContain('but the audit log does not contain it')
  expect((await runKeys(`audit --head ${head}`)).code).toBe(2)
})

describe('`keys verify`', () => {
  /** Stores reports as if these instances were running. An instance without a `kid` does not sign. */
  const reportInstances = async (reports: { host: string; ring: number; kid: string | null }[]) => {
    for (const { host, ring, kid } of reports)
      await testbed.db.query(
        `insert into key_followers (instance_id, host, ring_version, signing_kid, followed_at, seen_at)
         values ($1, $1, $2, $3, clock_timestamp(), clock_timestamp())`,
        [host, ring, kid],
      )
  }
  const listFindings = async () =>
    (JSON.parse((await runKeys('verify --json')).printed) as { findings: string[] }).findings

  test('names each instance that does not sign, uses another ring, signs with another key or has no valid proof', async () => {
    const kid = await findKid('signing')
    const { ring_version: ring } = await listKeys()
    await reportInstances([
      { host: 'auth-1', ring: 0, kid: null },
      { host: 'auth-2', ring: ring - 1, kid },
      { host: 'auth-3', ring, kid: 'another-key' },
      { host: 'auth-4', ring: ring - 1, kid: 'another-key' },
      { host: 'auth-5', ring, kid },
    ])
    expect(await listFindings()).toEqual([
      'Instance auth-1 does not sign.',
      `Instance auth-2 uses ring ${ring - 1}, but the current ring is ${ring}.`,
      `Instance auth-3 signs with another-key, but the signing key is ${kid}.`,
      `Instance auth-4 uses ring ${ring - 1}, but the current ring is ${ring}.`,
      `Instance auth-4 signs with another-key, but the signing key is ${kid}.`,
      'The signing key does not verify the signature that instance auth-5 reported.',
    ])
  })

  test('names no instance if there is no signing key', async () => {
    const kid = await findKid('signing')
    await reportInstances([{ host: 'auth-1', ring: 0, kid: null }])
    await testbed.runAsOwner('delete from signing_keys')
    expect(await listFindings()).toEqual([
      `Key ${kid} is in the audit log, but not in the key ring.`,
      'There is no signing key.',
    ])
  })
})

test('after `keys revoke` returns, no instance signs with the key or publishes it, and another key signs', async () => {
  const [instance, otherInstance] = [await start(), await start()]
  const token = await getToken(instance, await register(instance))
  const leakedKid = await findKid('signing')
  expect((await runKeys(`revoke ${leakedKid}`)).code).toBe(2)
  expect((await runKeys(`revoke nobody --reason a+test`)).code).toBe(1)
  expect((await runKeys(`revoke ${leakedKid} --reason a+test --dry-run`)).printed).toMatch(/^Would revoke/)
  expect(await findKid('signing')).toBe(leakedKid)
  const revokeResult = await runKeys(`revoke ${leakedKid} --reason a+leaked+backup`)
  for (const auth of [instance, otherInstance]) {
    const kid = await findSigningKid(auth, token)
    expect(kid).not.toBe(leakedKid)
    expect(await listPublishedKids(auth)).toEqual([kid])
  }
  expect(revokeResult.code).toBe(0)
  expect(revokeResult.printed).toMatch(
    /^After \d+ ms, no instance signs with the revoked key and no API trusts it\.$/m,
  )
  expect((await runKeys('audit')).printed).toContain('(a leaked backup)')
  expect((await runKeys(`revoke ${leakedKid} --reason again --dry-run`)).printed).toBe(
    `Key ${leakedKid} was already revoked. Would wait until no instance signs with it and no API trusts it.`,
  )
  expect(await runKeys(`revoke ${leakedKid} --reason again`)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('already'),
  })
})

test('`keys revoke` confirms nothing if no instance is running, and ends with 1 if one reported within the hour', async () => {
  await runKeys('init')
  const leakedKid = await findKid('signing')
  // A copy of a database has the last report of an instance that uses the original.
  const reportMinutesAgo = (minutes: number) =>
    testbed.db.query(
      `insert into key_followers (instance_id, host, ring_version, followed_at, seen_at)
       values ('of-the-original', 'auth-1:7', 0, now(), now() - $1 * interval '1 minute')
       on conflict (instance_id) do update set seen_at = excluded.seen_at`,
      [minutes],
    )
  await reportMinutesAgo(59)
  const unconfirmed = {
    code: 1,
    printed: expect.not.stringContaining('no API trusts it'),
    errors: expect.stringMatching(/no instance has confirmed it\. .*: auth-1:7\. .*AUTH_DATABASE_URL/),
  }
  const revokeResult = await runKeys(`revoke ${leakedKid} --reason a+leak`)
  expect(revokeResult).toMatchObject(unconfirmed)
  expect(revokeResult.printed).toMatch(/^Done: revoke[^]*\nAudit head: /)
  expect(await findKid('revoked')).toBe(leakedKid)
  expect(await runKeys(`revoke ${leakedKid} --reason again`)).toMatchObject(unconfirmed)
  await reportMinutesAgo(61)
  expect(await runKeys(`revoke ${leakedKid} --reason again`)).toMatchObject({
    code: 0,
    printed: `Key ${leakedKid} was already revoked.\nNo instance of the authorization server is running.`,
  })
})

describe('an instance', () => {
  test('adopts changes without notifications, because it polls', async () => {
    const auth = await start()
    await using owner = openPool(testbed.database.ownerUrl)
    // Without the triggers, nothing notifies the instance.
    await owner.query('alter table signing_keys disable trigger all')
    await owner.query('alter table key_ring disable trigger all')
    await runKeys('generate')
    await runKeys('publish')
    await expect.poll(async () => (await listPublishedKids(auth)).length).toBe(2)
  })

  test('is not ready while the row of a key is altered, logs this, still signs, and recovers', async () => {
    const auth = await start()
    const token = await getToken(auth, await register(auth))
    await runKeys('generate')
    const generatedKid = await findKid('generated')
    // `#` is XOR: it flips one bit of byte 150, and a second call flips this bit back.
    const flipBit = () =>
      testbed.db.query(
        `update signing_keys set private_sealed = set_byte(private_sealed, 150, get_byte(private_sealed, 150) # 4) where kid = $1`,
        [generatedKid],
      )
    await flipBit()
    await expect.poll(async () => (await getReadiness(auth)).status).toBe(503)
    expect((await getReadiness(auth)).body).toMatchObject({
      checks: { keys: 'failed' },
      keys: { problem: expect.stringContaining(generatedKid) },
    })
    expect(auth.logged.join('')).toContain('signing keys cannot be read: this instance is not ready')
    expect(await findSigningKid(auth, token)).toBe(await findKid('signing'))
    expect(await runKeys('verify')).toMatchObject({ code: 1, printed: expect.stringContaining(generatedKid) })
    await flipBit()
    await expect.poll(async () => (await getReadiness(auth)).status).toBe(200)
    expect((await listKeys()).keys).toHaveLength(2)
  })

  test('stops signing after its lease if it cannot decrypt a new ring, and a revocation succeeds without it', async () => {
    const auth = await start()
    const token = await getToken(auth, await register(auth))
    const leakedKid = await findKid('signing')
    // The command encrypts the new signing key under a key-encryption key that the instance does not have.
    const file = `${env['AUTH_KEK_FILE']}-other`
    await writeFile(file, generateKeyEncryptionKey())
    const revokeResult = await runKeys(`revoke ${leakedKid} --reason a+test`, { AUTH_KEK_FILE: file })
    expect(await findSigningKid(auth, token)).toBe(503)
    const jwksResponse = await send(auth.url, { path: '/oauth/jwks.json' })
    expect([jwksResponse.status, jwksResponse.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect((await send(auth.internalUrl, { path: '/oauth/jwks.json' })).status).toBe(503)
    expect((await getReadiness(auth)).status).toBe(503)
    expect(revokeResult).toMatchObject({ code: 0 })
  })

  test('does not start if it can decrypt no key, and generates none', async () => {
    const file = `${env['AUTH_KEK_FILE']}-other`
    await writeFile(file, generateKeyEncryptionKey())
    await expect(start({ AUTH_KEK_FILE: file })).rejects.toThrow('cannot be read')
    expect((await listKeys()).keys).toHaveLength(1)
    expect((await listKeys()).instances).toEqual([])
  })
})
