import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@plainpath/http/free-ports'
import { newKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { type FaultProxy, startFaultProxy } from './start-fault-proxy.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
/** A process starts within this time, also on a busy machine. */
const SOON = { timeout: 60_000, interval: 50 }

let stores: AuthStores
let settings: Record<string, string>
let proxy: FaultProxy

beforeAll(async () => {
  stores = await openAuthStores()
  settings = await stores.settingsFor('https://plainpath.example')
  proxy = await startFaultProxy(stores.database.appUrl, 5432)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await stores[Symbol.asyncDispose]()
})

interface RunningServe extends AsyncDisposable {
  readonly child: ChildProcess
  readonly printed: readonly string[]
  readonly ended: Promise<number | null>
  /** Gets a path of the operations listener: its JSON, and the status as `code`; undefined before it listens. */
  getOperations(path: string): Promise<Record<string, unknown> | undefined>
  /** Returns whether the public listener is open. */
  isOpen(): Promise<boolean>
}

/** Starts `auth serve` as a process. Does not wait until it is ready. */
async function startServe(env: Record<string, string> = {}): Promise<RunningServe> {
  const [port, internal, operations] = await freePorts(3)
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...settings,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      AUTH_HOST: '127.0.0.1',
      AUTH_PORT: String(port),
      AUTH_INTERNAL_PORT: String(internal),
      AUTH_OPERATIONS_PORT: String(operations),
      AUTH_DRAIN_DELAY_SECONDS: '0',
      ...env,
    },
  })
  const printed: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => printed.push(line))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const fetchFrom = (to: number | undefined, path: string) =>
    fetch(`http://127.0.0.1:${to}${path}`).catch(() => undefined)
  return {
    child,
    printed,
    ended,
    async getOperations(path) {
      const response = await fetchFrom(operations, path)
      return response && { code: response.status, ...((await response.json()) as Record<string, unknown>) }
    },
    isOpen: async () => (await fetchFrom(port, '/auth.md')) !== undefined,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Expects the server to be live, to open only the operations listener, and to report what it waits for. */
async function expectWaiting(auth: RunningServe, awaited: Record<string, unknown>) {
  await expect
    .poll(() => auth.getOperations('/ready'), SOON)
    .toMatchObject({ code: 503, status: 'not ready', awaited })
  expect(await auth.getOperations('/live')).toMatchObject({ code: 200, status: 'ok' })
  expect(await auth.isOpen()).toBe(false)
}

/** Expects the server to serve, and to exit with 0 on SIGTERM. */
async function expectServing(auth: RunningServe) {
  await expect.poll(() => auth.getOperations('/ready'), SOON).toMatchObject({ code: 200, status: 'ready' })
  expect(await auth.isOpen()).toBe(true)
  auth.child.kill('SIGTERM')
  expect(await auth.ended).toBe(0)
}

const OTHER_KEYS = 'signing key'

test('F-36 waits at the start while PostgreSQL is unavailable, says so, and serves once it is available', async () => {
  await proxy.refuse()
  await using auth = await startServe({ AUTH_DATABASE_URL: proxy.url })
  await expectWaiting(auth, { database: 'PostgreSQL' })
  await proxy.restore()
  await expectServing(auth)
  expect(auth.printed.join('')).not.toContain(new URL(proxy.url).password)
}, 120_000)

test('F-36 waits at the start while Redis is unavailable, and exits with 0 on SIGTERM', async () => {
  await using auth = await startServe({ AUTH_REDIS_URL: 'redis://127.0.0.1:9' })
  await expectWaiting(auth, { redis: 'Redis' })
  expect(await auth.getOperations('/ready')).toMatchObject({
    checks: { database: 'ok', keys: 'ok', redis: 'failed' },
  })
  auth.child.kill('SIGTERM')
  expect(await auth.ended).toBe(0)
}, 120_000)

test('F-36 waits at the start for missing migrations, names them, and applies none', async () => {
  const { database } = stores
  const asOwner = (sql: string) => stores.asOwner(sql)
  await asOwner(`delete from schema_migrations where name = '0009-identity-assertions'`)
  await using auth = await startServe({ AUTH_DATABASE_URL: database.appUrl })
  await expectWaiting(auth, { database: 'migrations 0009-identity-assertions: run "auth migrate"' })
  await asOwner(`insert into schema_migrations (name, run_on) values ('0009-identity-assertions', now())`)
  await expectServing(auth)
}, 120_000)

test('F-36 waits at the start for a signing key, and creates none', async () => {
  await stores.asOwner(`alter table signing_keys rename to away; create table signing_keys (like away)`)
  await stores.asOwner(`grant select on signing_keys to public`)
  await using auth = await startServe()
  await expectWaiting(auth, { keys: 'no signing key: run "auth keys init" once' })
  await stores.asOwner(`drop table signing_keys; alter table away rename to signing_keys`)
  await expectServing(auth)
}, 120_000)

test('F-22 only an instance whose key-encryption keys cannot decrypt the signing key is not ready', async () => {
  const file = `${settings['AUTH_KEK_FILE']}-other`
  await writeFile(file, newKeyEncryptionKey(), { mode: 0o600 })
  await using wrong = await startServe({ AUTH_KEK_FILE: file })
  await using right = await startServe()
  await expectWaiting(wrong, {
    keys: expect.stringMatching(new RegExp(`^${OTHER_KEYS} .*: see AUTH_KEK_FILE$`)),
  })
  await expectServing(right)
}, 120_000)

test('exits at once for errors that waiting cannot fix: invalid settings, all named, and a port in use', async () => {
  await using wrong = await startServe({
    AUTH_PORT: 'x',
    AUTH_ORIGIN: 'x',
    AUTH_REDIS_URL: 'redis://127.0.0.1:9',
  })
  expect(await wrong.ended).toBe(2)
  expect(wrong.printed).toEqual([
    'bad configuration',
    expect.stringMatching(/^ {2}AUTH_ORIGIN /),
    expect.stringMatching(/^ {2}AUTH_PORT /),
  ])
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  await using late = await startServe({ AUTH_PORT: String(port) })
  expect(await late.ended).toBe(1)
  expect(late.printed.at(-1)).toBe(`The port is taken: ${port}.`)
  taken.close()
}, 120_000)
