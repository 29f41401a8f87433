import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { type StoreProxy, startStoreProxy } from './start-store-proxy.ts'

// The numbers in the titles, such as F-36, are those of the faults in e2e/faults/fault-numbers.ts.

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
/** Options for polling a process. It starts within a minute, even on a busy machine. */
const WITHIN_A_MINUTE = { timeout: 60_000, interval: 50 }

let testbed: AuthTestbed
let settings: Record<string, string>
let proxy: StoreProxy

beforeAll(async () => {
  testbed = await openAuthTestbed()
  settings = await testbed.createSettings('https://plainpath.example')
  proxy = await startStoreProxy(testbed.database.appUrl, 5432)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await testbed[Symbol.asyncDispose]()
})

interface RunningServe extends AsyncDisposable {
  readonly child: ChildProcess
  /** The lines of its standard output and standard error. */
  readonly printed: readonly string[]
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>
  /** Gets JSON from the operations listener, with the HTTP status as `code`; undefined while nothing listens. */
  getOperations(path: string): Promise<Record<string, unknown> | undefined>
  /** Returns whether the public listener is open. */
  isOpen(): Promise<boolean>
}

/** Starts `auth serve` in a separate process. Does not wait until it is ready. */
async function startServe(env: Record<string, string> = {}): Promise<RunningServe> {
  const [publicPort, internalPort, operationsPort] = await reserveFreePorts(3)
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...settings,
      // The process gets only the variables listed here. With the cache of compiled code, it starts faster.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      AUTH_HOST: '127.0.0.1',
      AUTH_PORT: String(publicPort),
      AUTH_INTERNAL_PORT: String(internalPort),
      AUTH_OPERATIONS_PORT: String(operationsPort),
      // There is no load balancer that needs time to notice the shutdown.
      AUTH_DRAIN_DELAY_SECONDS: '0',
      ...env,
    },
  })
  const printed: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => printed.push(line))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  /** Sends a GET. Returns undefined if nothing listens on the port. */
  const fetchAt = (port: number | undefined, path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
  return {
    child,
    printed,
    exited,
    async getOperations(path) {
      const response = await fetchAt(operationsPort, path)
      return response && { code: response.status, ...((await response.json()) as Record<string, unknown>) }
    },
    isOpen: async () => (await fetchAt(publicPort, '/auth.md')) !== undefined,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Checks that the server is live but not ready, reports what it waits for, and has not opened its public listener. */
async function expectWaiting(auth: RunningServe, awaited: Record<string, unknown>) {
  await expect
    .poll(() => auth.getOperations('/ready'), WITHIN_A_MINUTE)
    .toMatchObject({ code: 503, status: 'not ready', awaited })
  expect(await auth.getOperations('/live')).toMatchObject({ code: 200, status: 'ok' })
  expect(await auth.isOpen()).toBe(false)
}

/** Checks that the server becomes ready and opens its public listener, and that it exits with 0 on SIGTERM. */
async function expectServing(auth: RunningServe) {
  await expect
    .poll(() => auth.getOperations('/ready'), WITHIN_A_MINUTE)
    .toMatchObject({
      code: 200,
      status: 'ready',
    })
  expect(await auth.isOpen()).toBe(true)
  auth.child.kill('SIGTERM')
  expect(await auth.exited).toBe(0)
}

test('F-36 an instance that starts waits while PostgreSQL is unavailable, says so, and serves once it is available', async () => {
  await proxy.refuse()
  await using auth = await startServe({ AUTH_DATABASE_URL: proxy.url })
  await expectWaiting(auth, { database: 'PostgreSQL' })
  await proxy.restore()
  await expectServing(auth)
  expect(auth.printed.join('')).not.toContain(new URL(proxy.url).password)
}, 120_000)

test('F-36 an instance that starts waits while Redis is unavailable, and exits with 0 on SIGTERM', async () => {
  // Nothing should listen on port 9, the discard port.
  await using auth = await startServe({ AUTH_REDIS_URL: 'redis://127.0.0.1:9' })
  await expectWaiting(auth, { redis: 'Redis' })
  expect(await auth.getOperations('/ready')).toMatchObject({
    checks: { database: 'ok', keys: 'ok', redis: 'failed' },
  })
  auth.child.kill('SIGTERM')
  expect(await auth.exited).toBe(0)
}, 120_000)

test('F-36 an instance that starts waits for missing migrations, names them, and applies none', async () => {
  const { database } = testbed
  const runAsOwner = (sql: string) => testbed.runAsOwner(sql)
  await runAsOwner(`delete from schema_migrations where name = '0009-identity-assertions'`)
  await using auth = await startServe({ AUTH_DATABASE_URL: database.appUrl })
  await expectWaiting(auth, { database: 'migrations 0009-identity-assertions: run "auth migrate"' })
  await runAsOwner(`insert into schema_migrations (name, run_on) values ('0009-identity-assertions', now())`)
  await expectServing(auth)
}, 120_000)

test('F-36 an instance that starts waits for a signing key, and creates none', async () => {
  // Replaces the table of keys with an empty one that the app may read.
  await testbed.runAsOwner(`alter table signing_keys rename to away; create table signing_keys (like away)`)
  await testbed.runAsOwner(`grant select on signing_keys to public`)
  await using auth = await startServe()
  await expectWaiting(auth, { keys: 'no signing key: run "auth keys init" once' })
  await testbed.runAsOwner(`drop table signing_keys; alter table away rename to signing_keys`)
  await expectServing(auth)
}, 120_000)

test('F-22 only an instance whose key-encryption keys cannot decrypt the signing key is not ready', async () => {
  const file = `${settings['AUTH_KEK_FILE']}-other`
  await writeFile(file, generateKeyEncryptionKey(), { mode: 0o600 })
  await using misconfigured = await startServe({ AUTH_KEK_FILE: file })
  await using healthy = await startServe()
  await expectWaiting(misconfigured, {
    keys: expect.stringMatching(/^signing key .*: see AUTH_KEK_FILE$/),
  })
  await expectServing(healthy)
}, 120_000)

test('an instance exits at its start for invalid settings, which it names, and for a port in use', async () => {
  await using misconfigured = await startServe({
    AUTH_PORT: 'x',
    AUTH_ORIGIN: 'x',
    // Valid, but nothing listens there: the server must report the mistakes without waiting for Redis.
    AUTH_REDIS_URL: 'redis://127.0.0.1:9',
  })
  expect(await misconfigured.exited).toBe(2)
  expect(misconfigured.printed).toEqual([
    'bad configuration',
    expect.stringMatching(/^ {2}AUTH_ORIGIN /),
    expect.stringMatching(/^ {2}AUTH_PORT /),
  ])
  await using portHolder = createServer().listen(0, '127.0.0.1')
  await once(portHolder, 'listening')
  const { port } = portHolder.address() as { port: number }
  await using blocked = await startServe({ AUTH_PORT: String(port) })
  expect(await blocked.exited).toBe(1)
  expect(blocked.printed.at(-1)).toBe(`Port ${port} is already in use.`)
}, 120_000)
