import { writeFile } from 'node:fs/promises'
import { openPool } from '@plainpath/postgres'
import { newKeyEncryptionKey } from '@plainpath/sealing'
import { decodeProtectedHeader } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { getToken, register, requestIntrospection } from './agent-client.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

const ORIGIN = 'https://plainpath.example'
const SHORT = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '0.1',
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_OVERLAP_SECONDS: '0',
  AUTH_KEYS_LEASE_SECONDS: '2',
}

let resources: AsyncDisposableStack
let stores: AuthStores
let env: Record<string, string>
let instances: RunningAuth[]
beforeEach(async () => {
  resources = new AsyncDisposableStack()
  stores = resources.use(await openAuthStores())
  env = { ...(await stores.settingsFor(ORIGIN)), ...SHORT }
  instances = []
})
afterEach(() => resources.disposeAsync())

const start = async (more: Record<string, string> = {}) => {
  const instance = resources.use(await startInstance(stores, { env: { ...SHORT, ...more } }))
  instances.push(instance)
  return instance
}

function keys(args: string, more: Record<string, string> = {}) {
  const words = ['keys', ...args.split(' ')].map((word) => word.replaceAll('+', ' '))
  return runAuth(words, { ...env, ...more })
}
/** Runs the command until it is not too early for it. */
async function done(args: string) {
  let last = await keys(args)
  const early = () => last.code !== 0 || last.printed.includes('Nothing is due')
  for (let tries = 0; early() && tries < 200; tries += 1) last = await keys(args)
  return last
}
const ring = async () =>
  JSON.parse((await keys('list --json')).printed) as {
    ring_version: number
    keys: { kid: string; state: string }[]
    instances: { host: string; signing_kid?: string }[]
  }
const kidOf = async (state: string) => (await ring()).keys.find((key) => key.state === state)?.kid ?? ''
const jwks = async (auth: RunningAuth) =>
  (
    JSON.parse((await send(auth.internalUrl, { path: '/oauth/jwks.json' })).text) as {
      keys: { kid: string }[]
    }
  ).keys.map(({ kid }) => kid)
async function signsWith(auth: RunningAuth, token: string) {
  const response = await requestIntrospection(auth, token)
  return response.status === 200 ? decodeProtectedHeader(response.text).kid : response.status
}
const ready = async (auth: RunningAuth) => {
  const response = await send(auth.operationsUrl, { path: '/ready' })
  return { status: response.status, body: JSON.parse(response.text) as Record<string, unknown> }
}

test('every instance adopts each step of a rotation, and a token stays valid throughout', async () => {
  const one = await start()
  const two = await start()
  const token = await getToken(one, await register(one))
  const old = await kidOf('signing')
  expect((await keys('generate --algorithm EdDSA')).code).toBe(0)
  const next = await kidOf('generated')
  expect(await jwks(one)).toEqual([old])
  expect((await keys('publish')).printed).toContain(`${next}  generated -> published`)
  for (const auth of [one, two]) expect((await jwks(auth)).toSorted()).toEqual([old, next].toSorted())
  const activated = await done('activate')
  expect(activated.printed).toContain(`${old}  signing -> retiring`)
  for (const auth of [one, two]) {
    expect(await signsWith(auth, token)).toBe(next)
    expect((await jwks(auth)).toSorted()).toEqual([old, next].toSorted())
  }
  await done('retire')
  for (const auth of [one, two]) expect(await jwks(auth)).toEqual([next])
  const verified = await keys('verify')
  expect(verified).toMatchObject({
    code: 0,
    printed: expect.stringContaining('All checks passed: 2 keys, 2 running instances'),
  })
  expect((await ready(one)).body['keys']).toEqual({
    ring_version: (await ring()).ring_version,
    signing_kid: next,
    signing_since: expect.any(String),
    audit: { head: expect.any(String), number: 5 },
  })
  const metrics = (await send(one.operationsUrl, { path: '/metrics' })).text
  expect(metrics).toContain(`signing_key{kid="${next}",service="auth"} 1`)
  const since = Number(/^signing_key_since_seconds\{.*\} (\S+)$/m.exec(metrics)?.[1])
  expect(Math.abs(Date.now() / 1000 - since)).toBeLessThan(60)
  expect(metrics).not.toContain(old)
})

test('refuses a step that is too early and says when it will be safe, as text and as JSON', async () => {
  await start()
  await keys('generate')
  await keys('publish')
  const slow = { AUTH_KEYS_MAX_AGE_SECONDS: '300' }
  const refused = await keys('activate --json', slow)
  expect(refused.code).toBe(1)
  const { safe_from: safeFrom, ...rest } = JSON.parse(refused.printed) as { safe_from: string; ok: boolean }
  expect(rest.ok).toBe(false)
  expect(new Date(safeFrom).getTime() - Date.now()).toBeGreaterThan(290_000)
  expect((await keys('activate', slow)).errors).toContain(`It is safe from 20`)
  expect(await keys('rotate', slow)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('Nothing is due. Next: activate'),
  })
})

test('rotate performs the step that is due, and changes nothing in a dry run', async () => {
  await start()
  const before = await ring()
  expect((await keys('rotate')).printed).toContain('Nothing is due. Next: generate')
  expect((await keys('rotate --now --dry-run')).printed).toMatch(/^Would generate/)
  expect((await ring()).ring_version).toBe(before.ring_version)
  for (const step of ['generate', 'publish', 'activate', 'retire'])
    await expect
      .poll(async () => (await keys(step === 'generate' ? 'rotate --now' : 'rotate')).printed)
      .toContain(`Done: ${step}`)
  expect((await ring()).keys.map(({ state }) => state)).toEqual(['retired', 'signing'])
})

test('reports the head of the audit in the log, in /ready and in a metric, at the start and after each change', async () => {
  const headNow = async () =>
    (JSON.parse((await keys('audit --verify --json')).printed) as { head: string }).head
  const first = await headNow()
  const one = await start()
  const logged = () =>
    one.logged
      .map((line) => JSON.parse(line) as { msg: string; head?: string; number?: number })
      .filter(({ msg }) => msg === 'read the head of the key audit')
      .map(({ head, number }) => [head, number])
  const metric = async () => (await send(one.operationsUrl, { path: '/metrics' })).text
  expect(logged()).toEqual([[first, 1]])
  expect(await metric()).toContain(`key_audit_number{head="${first}",service="auth"} 1`)
  await keys('generate')
  const second = await headNow()
  await expect.poll(logged).toEqual([
    [first, 1],
    [second, 2],
  ])
  expect((await ready(one)).body['keys']).toMatchObject({ audit: { head: second, number: 2 } })
  expect(await metric()).toContain(`key_audit_number{head="${second}",service="auth"} 2`)
  expect(await metric()).not.toContain(first)
})

test('reports an unreadable end of the audit as a metric, and keeps running', async () => {
  const one = await start()
  const metric = async () => (await send(one.operationsUrl, { path: '/metrics' })).text
  expect(await metric()).toContain('key_audit_readable{service="auth"} 1')
  await using owner = openPool(stores.database.ownerUrl)
  await owner.query('alter table key_audit rename to key_audit_away')
  try {
    await owner.query('update key_ring set version = version + 1')
    await expect.poll(metric).toContain('key_audit_readable{service="auth"} 0')
    expect((await ready(one)).body).toMatchObject({ status: 'ready', keys: { audit_unread: true } })
  } finally {
    await owner.query('alter table key_audit_away rename to key_audit')
  }
  await expect.poll(metric).toContain('key_audit_readable{service="auth"} 1')
  expect((await ready(one)).body['keys']).not.toHaveProperty('audit_unread')
})

test('records rotations in the audit, in which an older head detects truncation', async () => {
  await keys('generate')
  const { head } = JSON.parse((await keys('audit --verify --json')).printed) as { head: string }
  await keys('publish')
  expect(await keys(`audit --verify --head ${head}`)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('1 rows newer'),
  })
  expect((await keys('audit')).printed).toMatch(/ring 3 {2}generate {2}by \S+ on \S+\n {4}\S+ {2}generated\n/)
  await using owner = openPool(stores.database.ownerUrl)
  await owner.query('delete from key_audit where number > 1')
  expect(await keys('audit --verify')).toMatchObject({ code: 0 })
  expect(await keys(`audit --verify --head ${head}`)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('cut off'),
  })
  expect((await keys('verify')).printed).toContain('by the audit it is unknown')
  expect((await keys(`audit --head ${head}`)).code).toBe(2)
})

test('when revoke returns, no instance signs with the key or publishes it, and the next signs', async () => {
  const [one, two] = [await start(), await start()]
  const token = await getToken(one, await register(one))
  const leaked = await kidOf('signing')
  expect((await keys(`revoke ${leaked}`)).code).toBe(2)
  expect((await keys(`revoke nobody --reason a+test`)).code).toBe(1)
  expect((await keys(`revoke ${leaked} --reason a+test --dry-run`)).printed).toMatch(/^Would revoke/)
  expect(await kidOf('signing')).toBe(leaked)
  const revoked = await keys(`revoke ${leaked} --reason a+leaked+backup`)
  for (const auth of [one, two]) {
    const kid = await signsWith(auth, token)
    expect(kid).not.toBe(leaked)
    expect(await jwks(auth)).toEqual([kid])
  }
  expect(revoked.code).toBe(0)
  expect(revoked.printed).toMatch(/\d+ ms after the command began to wait, no instance signs with it/)
  expect((await keys('audit')).printed).toContain('(a leaked backup)')
  expect(await keys(`revoke ${leaked} --reason again`)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('already'),
  })
})

describe('an instance', () => {
  test('polls without notifications, and adopts changes', async () => {
    const one = await start()
    await using owner = openPool(stores.database.ownerUrl)
    await owner.query('alter table signing_keys disable trigger all')
    await owner.query('alter table key_ring disable trigger all')
    await keys('generate')
    await keys('publish')
    await expect.poll(async () => (await jwks(one)).length).toBe(2)
  })

  test('is not ready with a tampered row, logs it, keeps running, and recovers', async () => {
    const one = await start()
    const token = await getToken(one, await register(one))
    await keys('generate')
    const generated = await kidOf('generated')
    const flip = () =>
      stores.db.query(
        `update signing_keys set private_sealed = set_byte(private_sealed, 150, get_byte(private_sealed, 150) # 4) where kid = $1`,
        [generated],
      )
    await flip()
    await expect.poll(async () => (await ready(one)).status).toBe(503)
    expect((await ready(one)).body).toMatchObject({
      checks: { keys: 'failed' },
      keys: { problem: expect.stringContaining(generated) },
    })
    expect(one.logged.join('')).toContain('signing keys cannot be read: this instance is not ready')
    expect(await signsWith(one, token)).toBe(await kidOf('signing'))
    expect(await keys('verify')).toMatchObject({ code: 1, printed: expect.stringContaining(generated) })
    await flip()
    await expect.poll(async () => (await ready(one)).status).toBe(200)
    expect((await ring()).keys).toHaveLength(2)
  })

  test('stops signing after its lease if it cannot decrypt a new ring, and rotation does not wait for it', async () => {
    const one = await start()
    const token = await getToken(one, await register(one))
    const leaked = await kidOf('signing')
    const file = `${env['AUTH_KEK_FILE']}-other`
    await writeFile(file, newKeyEncryptionKey())
    const revoked = await keys(`revoke ${leaked} --reason a+test`, { AUTH_KEK_FILE: file })
    expect(await signsWith(one, token)).toBe(503)
    const published = await send(one.url, { path: '/oauth/jwks.json' })
    expect([published.status, published.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect((await send(one.internalUrl, { path: '/oauth/jwks.json' })).status).toBe(503)
    expect((await ready(one)).status).toBe(503)
    expect(revoked).toMatchObject({ code: 0 })
  })

  test('does not start if it can decrypt no key, and generates none', async () => {
    const file = `${env['AUTH_KEK_FILE']}-other`
    await writeFile(file, newKeyEncryptionKey())
    await expect(start({ AUTH_KEK_FILE: file })).rejects.toThrow('cannot be read')
    expect((await ring()).keys).toHaveLength(1)
    expect((await ring()).instances).toEqual([])
  })
})
