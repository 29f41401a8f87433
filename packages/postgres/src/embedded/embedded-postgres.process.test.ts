import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { tryLock } from '../advisory-lock.ts'
import { connect, disconnect } from '../connection.ts'
import { openPool } from '../database.ts'
import { ensureRolesAndDatabases } from '../roles-and-databases.ts'
import { IN_USE_LOCK, useEmbeddedPostgres } from './embedded-postgres.ts'
import { findRunningServer, stopServer } from './postmaster.ts'
import { NOBODY } from './server-user.ts'

const FAST = { fsync: 'off' }
/** Lets those who are connected finish. */
const SMART_SHUTDOWN = 'SIGTERM'
let parent: string
let dir: string

/** A cluster that was used before: only the tests of a first start wait for initdb. */
let usedBefore: string
beforeAll(async () => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'plainpath-embedded-'))
  fs.chmodSync(folder, 0o755)
  usedBefore = path.join(folder, 'pg')
  await (await useEmbeddedPostgres({ dir: usedBefore, settings: FAST }))[Symbol.asyncDispose]()
})
afterAll(() => fs.rmSync(path.dirname(usedBefore), { recursive: true, force: true }))
/** Keeps owners and modes, as the server demands. */
const copyUsedCluster = () => execFileSync('cp', ['--archive', usedBefore, dir])

beforeEach(() => {
  parent = fs.mkdtempSync(path.join(tmpdir(), 'plainpath-embedded-'))
  fs.chmodSync(parent, 0o755)
  dir = path.join(parent, 'pg')
})
afterEach(async () => {
  await stopServer(dir)
  fs.rmSync(parent, { recursive: true, force: true })
})

/** Another process that uses the server, and what it said when it had it. */
async function startUser(): Promise<{ child: ChildProcess; url: string; port: number; started: boolean }> {
  const child = run('use-server.ts', dir, JSON.stringify(FAST))
  const [line] = await once(createInterface(child.stdout ?? process.stdin), 'line')
  return { child, ...JSON.parse(line) }
}
const run = (program: string, ...args: string[]) =>
  spawn(process.execPath, [path.join(import.meta.dirname, '../../test', program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  const exited = once(child, 'exit')
  child.kill(signal)
  const [exitCode] = await exited
  return exitCode
}
const serverPid = () => findRunningServer(dir)?.pid
const use = () => useEmbeddedPostgres({ dir, settings: FAST })

describe('a first start', () => {
  test('by two processes at once gives both the same server, and the last process that uses it stops it', async () => {
    const [one, other] = await Promise.all([startUser(), startUser()])
    expect(one.port).toBe(other.port)
    expect([one.started, other.started].toSorted()).toEqual([false, true])
    expect(fs.readdirSync(parent)).toEqual(['pg'])
    expect(await end(one.started ? one.child : other.child, 'SIGTERM')).toBe(0)
    expect(serverPid()).toBeDefined()
    expect(await end(one.started ? other.child : one.child, 'SIGTERM')).toBe(0)
    expect(serverPid()).toBeUndefined()
  })

  test('makes a server that lasts, listens on loopback alone and asks for a password that only its user can read', async () => {
    await using server = await useEmbeddedPostgres({ dir })
    await using pool = openPool(server.url)
    const setting = async (name: string) =>
      (await pool.query(`select current_setting($1) as value`, [name])).rows[0]?.['value']
    expect(await setting('fsync')).toBe('on')
    expect(await setting('synchronous_commit')).toBe('on')
    expect(await setting('full_page_writes')).toBe('on')
    expect(await setting('listen_addresses')).toBe('127.0.0.1')
    expect(await setting('unix_socket_directories')).toBe('')
    expect(fs.statSync(path.join(dir, 'superuser.secret')).mode & 0o777).toBe(0o600)
    const guess = new URL(server.url)
    guess.password = 'guess'
    await using intruder = openPool(guess.href)
    await expect(intruder.query('select 1')).rejects.toMatchObject({ code: '28P01' })
  })

  test('makes a server that writes no statement, parameter or value of a row into its log', async () => {
    await using server = await useEmbeddedPostgres({ dir })
    await using pool = openPool(server.url)
    const { rows } = await pool.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name like 'log\\_%'`,
    )
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toMatchObject({
      log_min_error_statement: 'panic',
      log_parameter_max_length_on_error: '0',
      log_error_verbosity: 'terse',
      log_statement: 'none',
      log_min_duration_statement: '-1',
      log_min_duration_sample: '-1',
      log_duration: 'off',
    })
  })

  test('removes the files that a killed start left beside the folder', async () => {
    const left = `${dir}.new-Abc123`
    fs.mkdirSync(left)
    fs.utimesSync(left, 0, 0)
    await using server = await use()
    expect(server.started).toBe(true)
    expect(fs.readdirSync(parent)).toEqual(['pg'])
  })

  test('makes roles whose passwords are asked for', async () => {
    await using server = await use()
    const spec = {
      name: 'auth',
      owner: { name: 'o', password: 'first' },
      app: { name: 'a', password: 'pass:/?#@ word'.replace(' ', '%') },
    }
    const [created] = await ensureRolesAndDatabases(server.url, [spec])
    await using app = openPool(created?.appUrl ?? '')
    expect((await app.query('select current_user as me')).rows).toEqual([{ me: 'a' }])
    await ensureRolesAndDatabases(server.url, [{ ...spec, owner: { name: 'o', password: 'second' } }])
    await using stale = openPool(created?.ownerUrl ?? '')
    await expect(stale.query('select 1')).rejects.toMatchObject({ code: '28P01' })
  })
})

describe('a user that is killed', () => {
  beforeEach(copyUsedCluster)

  test('leaves a server that the next one adopts and, being the last, stops', async () => {
    const killed = await startUser()
    await end(killed.child, 'SIGKILL')
    {
      await using server = await use()
      expect(server).toMatchObject({ started: false, port: killed.port })
    }
    expect(serverPid()).toBeUndefined()
  })

  test('does not take the server from another one', async () => {
    const killed = await startUser()
    await using server = await use()
    await end(killed.child, 'SIGKILL')
    await (await use())[Symbol.asyncDispose]()
    await using pool = openPool(server.url)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })
})

describe('a server that is killed', () => {
  beforeEach(copyUsedCluster)

  test('recovers at the next start with all that was committed', async () => {
    const before = await use()
    await using pool = openPool(before.url)
    await pool.query('create table kept (n int)')
    await pool.query('insert into kept select generate_series(1, 1000)')
    process.kill(serverPid() ?? 0, 'SIGKILL')
    await using after = await use()
    expect(after.started).toBe(true)
    await using again = openPool(after.url)
    expect((await again.query('select count(*) as n from kept')).rows).toEqual([{ n: 1000 }])
    await before[Symbol.asyncDispose]()
  })

  test('whose number is another process by now is no obstacle', async () => {
    const stale = ['1', dir, '1700000000', '5432', '', '127.0.0.1', '  5432001         0', 'ready   ', '']
    fs.writeFileSync(path.join(dir, 'postmaster.pid'), stale.join('\n'))
    await using server = await use()
    expect(server.started).toBe(true)
  })

  test('in part, and so restarted, still counts its users', async () => {
    await using server = await use()
    await using pool = openPool(server.url)
    const leases = async () =>
      (
        await pool.query<{ pid: number }>(
          `select pid from pg_stat_activity where application_name like 'plainpath lease of%'`,
        )
      ).rows
    const [lease] = await leases()
    process.kill(lease?.pid ?? 0, 'SIGKILL')
    await vi.waitFor(async () => expect((await leases())[0]?.pid).not.toBe(lease?.pid), 10_000)
    await vi.waitFor(async () => expect(await leases()).toHaveLength(1), 10_000)
    await (await use())[Symbol.asyncDispose]()
    expect(serverPid()).toBeDefined()
  })
})

test('a process that starts while the last one stops has a running server, over and over', async () => {
  copyUsedCluster()
  const children = Array.from({ length: 3 }, () => run('use-server-often.ts', dir, '6'))
  const ends = await Promise.all(
    children.map(async (child) => {
      const [said, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')])
      return { said, exitCode }
    }),
  )
  const well = { said: '', exitCode: 0 }
  expect(ends).toEqual([well, well, well])
  expect(serverPid()).toBeUndefined()
}, 60_000)

test('a process that finds a server which accepts no more connections starts a new one', async () => {
  copyUsedCluster()
  const killed = await startUser()
  await end(killed.child, 'SIGKILL')
  const lastOneOut = await connect(killed.url, { applicationName: 'test' })
  expect(await tryLock(lastOneOut, IN_USE_LOCK)).toBe(true)
  const coming = use()
  await vi.waitFor(async () => {
    const { rowCount } = await lastOneOut.query('select from pg_locks where not granted')
    expect(rowCount).toBe(1)
  })
  process.kill(serverPid() ?? 0, SMART_SHUTDOWN)
  await disconnect(lastOneOut)
  await using server = await coming
  expect(server.started).toBe(true)
  await using pool = openPool(server.url)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

describe('refuses in one line', () => {
  const refusal = () =>
    use().then(
      async (server) => {
        await server[Symbol.asyncDispose]()
        return 'nothing'
      },
      (error: unknown) => String(error),
    )

  test('a folder below a file', async () => {
    fs.writeFileSync(path.join(parent, 'file'), '')
    dir = path.join(parent, 'file', 'pg')
    expect(await refusal()).toBe(
      `EmbeddedPostgresError: cannot keep a database in ${dir}: file already exists`,
    )
    dir = path.join(parent, 'pg')
  })

  test('a file', async () => {
    fs.writeFileSync(dir, '')
    expect(await refusal()).toBe(`EmbeddedPostgresError: cannot keep a database in ${dir}: not a directory`)
  })

  test('a folder that holds something else', async () => {
    fs.mkdirSync(dir)
    fs.writeFileSync(path.join(dir, 'thesis.txt'), '')
    expect(await refusal()).toBe(`EmbeddedPostgresError: ${dir} is not empty and holds no database of ours`)
    expect(fs.readdirSync(parent)).toEqual(['pg'])
  })

  test('the data of another version', async () => {
    copyUsedCluster()
    fs.writeFileSync(path.join(dir, 'PG_VERSION'), '17\n')
    expect(await refusal()).toBe(
      `EmbeddedPostgresError: ${dir} holds data of PostgreSQL 17; this version runs PostgreSQL 18`,
    )
  })

  test('settings that the server refuses, with its own words', async () => {
    copyUsedCluster()
    const wrong = useEmbeddedPostgres({ dir, settings: { ...FAST, shared_buffers: 'many' } })
    await expect(wrong).rejects.toThrow(
      'PostgreSQL does not start: invalid value for parameter "shared_buffers": "many"',
    )
  })
})

/** The users other than root who can read the password of a server. */
const ownerOf = (folder: string) => fs.statSync(path.join(folder, 'superuser.secret')).uid

test('runs as us, or as a user that exists for this alone when we are root', async () => {
  await using server = await use()
  const { mode } = fs.statSync(path.join(server.dir, 'superuser.secret'))
  expect(mode & 0o777).toBe(0o600)
  const ours = process.getuid?.()
  if (ours !== 0) return expect(ownerOf(server.dir)).toBe(ours)
  const name = execFileSync('getent', ['passwd', String(ownerOf(server.dir))], { encoding: 'utf8' })
  return expect(name).toMatch(
    /^plainpath-postgres:.*:embedded PostgreSQL of Plainpath:\/:\/usr\/sbin\/nologin\n$/,
  )
})

test('takes over data from a server that ran as the user nobody, when root starts it', async () => {
  const before = await use()
  await before[Symbol.asyncDispose]()
  const user = ownerOf(before.dir)
  const files = [before.dir, ...fs.readdirSync(before.dir, { recursive: true, encoding: 'utf8' })]
  const asRoot = process.getuid?.() === 0
  if (asRoot) for (const file of files) fs.chownSync(path.resolve(before.dir, file), NOBODY.uid, NOBODY.gid)
  await using after = await use()
  expect([after.started, ownerOf(after.dir)]).toEqual([true, user])
})

test('a folder that the server cannot reach gives way to one in /var/tmp, which is reported', async () => {
  fs.chmodSync(parent, 0o700)
  const server = await use()
  await server[Symbol.asyncDispose]()
  const asRoot = process.getuid?.() === 0
  expect(path.dirname(server.dir)).toBe(asRoot ? '/var/tmp' : parent)
  fs.rmSync(server.dir, { recursive: true })
})
