import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
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
import { locateBinaries } from './binaries.ts'
import { IN_USE_LOCK, useEmbeddedPostgres } from './embedded-postgres.ts'
import { findRunningServer, stopServer } from './postmaster.ts'
import { NOBODY } from './server-user.ts'

const FAST_SETTINGS = { fsync: 'off' }
/** The signal for a shutdown that waits until all sessions have ended. */
const SMART_SHUTDOWN = 'SIGTERM'
let parent: string
let dir: string

/** A cluster that was used before. Tests copy it, so only the tests of a first start wait for initdb. */
let usedCluster: string
beforeAll(async () => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'plainpath-embedded-'))
  // If root runs the tests, the server runs as another user, who must be able to enter the folder.
  fs.chmodSync(folder, 0o755)
  usedCluster = path.join(folder, 'pg')
  await (await useEmbeddedPostgres({ dir: usedCluster, settings: FAST_SETTINGS }))[Symbol.asyncDispose]()
})
afterAll(() => fs.rmSync(path.dirname(usedCluster), { recursive: true, force: true }))
/** Preserves owners and modes, because the server checks them. */
const copyUsedCluster = () => execFileSync('cp', ['--archive', usedCluster, dir])

beforeEach(() => {
  parent = fs.mkdtempSync(path.join(tmpdir(), 'plainpath-embedded-'))
  fs.chmodSync(parent, 0o755)
  dir = path.join(parent, 'pg')
})
afterEach(async () => {
  await stopServer(dir)
  fs.rmSync(parent, { recursive: true, force: true })
})

/** Starts another process that uses the server. Resolves when the process has printed the server that it uses. */
async function startUserProcess(): Promise<{
  child: ChildProcess
  url: string
  port: number
  wasStarted: boolean
}> {
  const child = startProgram('use-server.ts', dir, JSON.stringify(FAST_SETTINGS))
  // `stdout` is a pipe, so it is never null: `process.stdin` only satisfies the type.
  const [line] = await once(createInterface(child.stdout ?? process.stdin), 'line')
  return { child, ...JSON.parse(line) }
}
const startProgram = (program: string, ...args: string[]) =>
  spawn(process.execPath, [path.join(import.meta.dirname, '../../test', program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
async function endProcess(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  const exitEvent = once(child, 'exit')
  child.kill(signal)
  const [exitCode] = await exitEvent
  return exitCode
}
const findServerPid = () => findRunningServer(dir)?.pid
const useServer = () => useEmbeddedPostgres({ dir, settings: FAST_SETTINGS })

describe('a first start', () => {
  test('by two simultaneous processes gives both the same server, which the last user stops', async () => {
    const [one, other] = await Promise.all([startUserProcess(), startUserProcess()])
    expect(one.port).toBe(other.port)
    expect([one.wasStarted, other.wasStarted].toSorted()).toEqual([false, true])
    expect(fs.readdirSync(parent)).toEqual(['pg'])
    expect(await endProcess(one.wasStarted ? one.child : other.child, 'SIGTERM')).toBe(0)
    expect(findServerPid()).toBeDefined()
    expect(await endProcess(one.wasStarted ? other.child : one.child, 'SIGTERM')).toBe(0)
    expect(findServerPid()).toBeUndefined()
  })

  test('creates a durable server that listens only on loopback and requires a password', async () => {
    await using server = await useEmbeddedPostgres({ dir })
    await using pool = openPool(server.url)
    const readSetting = async (name: string) =>
      (await pool.query(`select current_setting($1) as value`, [name])).rows[0]?.['value']
    expect(await readSetting('fsync')).toBe('on')
    expect(await readSetting('synchronous_commit')).toBe('on')
    expect(await readSetting('full_page_writes')).toBe('on')
    expect(await readSetting('listen_addresses')).toBe('127.0.0.1')
    expect(await readSetting('unix_socket_directories')).toBe('')
    expect(fs.statSync(path.join(dir, 'superuser.secret')).mode & 0o777).toBe(0o600)
    const wrongUrl = new URL(server.url)
    wrongUrl.password = 'guess'
    await using intruder = openPool(wrongUrl.href)
    await expect(intruder.query('select 1')).rejects.toMatchObject({ code: '28P01' })
  })

  test('creates a server whose settings keep statements and parameters out of its log', async () => {
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

  test('removes the files that a killed start left next to the folder', async () => {
    const abandonedDir = `${dir}.new-Abc123`
    fs.mkdirSync(abandonedDir)
    // An unfinished folder counts as abandoned after ten minutes.
    fs.utimesSync(abandonedDir, 0, 0)
    await using server = await useServer()
    expect(server.wasStarted).toBe(true)
    expect(fs.readdirSync(parent)).toEqual(['pg'])
  })

  test('creates a server whose roles need their current passwords', async () => {
    await using server = await useServer()
    const spec = {
      name: 'auth',
      owner: { name: 'o', password: 'first' },
      // A URL must encode each of these special characters.
      app: { name: 'a', password: 'pass:/?#@%word' },
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

  test('leaves a server that the next user finds running, and stops as its last user', async () => {
    const killedUser = await startUserProcess()
    await endProcess(killedUser.child, 'SIGKILL')
    {
      await using server = await useServer()
      expect(server).toMatchObject({ wasStarted: false, port: killedUser.port })
    }
    expect(findServerPid()).toBeUndefined()
  })

  test('does not stop the server of another user', async () => {
    const killedUser = await startUserProcess()
    await using server = await useServer()
    await endProcess(killedUser.child, 'SIGKILL')
    await (await useServer())[Symbol.asyncDispose]()
    await using pool = openPool(server.url)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })
})

describe('a server that is killed', () => {
  beforeEach(copyUsedCluster)

  test('recovers at the next start with all committed rows', async () => {
    const killedServer = await useServer()
    await using pool = openPool(killedServer.url)
    await pool.query('create table kept (n int)')
    await pool.query('insert into kept select generate_series(1, 1000)')
    process.kill(findServerPid() ?? expect.unreachable('no server is running'), 'SIGKILL')
    await using restartedServer = await useServer()
    expect(restartedServer.wasStarted).toBe(true)
    await using newPool = openPool(restartedServer.url)
    expect((await newPool.query('select count(*) as n from kept')).rows).toEqual([{ n: 1000 }])
    await killedServer[Symbol.asyncDispose]()
  })

  test('does not prevent a start when another process has its process id', async () => {
    // Process 1 always runs, and is no server for this folder. The eighth line, `ready`, is the state.
    const pidLines = ['1', dir, '1700000000', '5432', '', '127.0.0.1', '  5432001         0', 'ready   ', '']
    fs.writeFileSync(path.join(dir, 'postmaster.pid'), pidLines.join('\n'))
    await using server = await useServer()
    expect(server.wasStarted).toBe(true)
  })

  test('in one of its sessions restarts, and still knows its users', async () => {
    await using server = await useServer()
    await using pool = openPool(server.url)
    const readLeases = async () =>
      (
        await pool.query<{ pid: number }>(
          `select pid from pg_stat_activity where application_name like 'plainpath lease of%'`,
        )
      ).rows
    const [lease] = await readLeases()
    process.kill(lease?.pid ?? expect.unreachable('no session holds a lease'), 'SIGKILL')
    await vi.waitFor(async () => expect((await readLeases())[0]?.pid).not.toBe(lease?.pid), 10_000)
    await vi.waitFor(async () => expect(await readLeases()).toHaveLength(1), 10_000)
    await (await useServer())[Symbol.asyncDispose]()
    expect(findServerPid()).toBeDefined()
  })
})

test('three processes that repeatedly use and release the server always get a running one', async () => {
  copyUsedCluster()
  const children = Array.from({ length: 3 }, () => startProgram('use-server-often.ts', dir, '6'))
  const results = await Promise.all(
    children.map(async (child) => {
      const [errorOutput, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')])
      return { errorOutput, exitCode }
    }),
  )
  const success = { errorOutput: '', exitCode: 0 }
  expect(results).toEqual([success, success, success])
  expect(findServerPid()).toBeUndefined()
}, 60_000)

test('starts a new server if the running one is stopping and accepts no connections', async () => {
  copyUsedCluster()
  const killedUser = await startUserProcess()
  await endProcess(killedUser.child, 'SIGKILL')
  const lastUser = await connect(killedUser.url, { applicationName: 'test' })
  expect(await tryLock(lastUser, IN_USE_LOCK)).toBe(true)
  // Connects while the server still runs, and then waits for the lock that `lastUser` holds.
  const nextServer = useServer()
  await vi.waitFor(async () => {
    const { rowCount } = await lastUser.query('select from pg_locks where not granted')
    expect(rowCount).toBe(1)
  })
  // From now on, the server refuses connections. It ends once both open connections are closed.
  process.kill(findServerPid() ?? expect.unreachable('no server is running'), SMART_SHUTDOWN)
  await disconnect(lastUser)
  await using server = await nextServer
  expect(server.wasStarted).toBe(true)
  await using pool = openPool(server.url)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

describe('refuses in one line', () => {
  /** Returns the error as text, or `nothing` if the server starts. */
  const getRefusal = () =>
    useServer().then(
      async (server) => {
        await server[Symbol.asyncDispose]()
        return 'nothing'
      },
      (error: unknown) => String(error),
    )

  test('a folder below a file', async () => {
    fs.writeFileSync(path.join(parent, 'file'), '')
    dir = path.join(parent, 'file', 'pg')
    expect(await getRefusal()).toBe(
      `EmbeddedPostgresError: cannot store a database in ${dir}: file already exists`,
    )
    // `afterEach` stops the server in `dir`.
    dir = path.join(parent, 'pg')
  })

  test('a file', async () => {
    fs.writeFileSync(dir, '')
    expect(await getRefusal()).toBe(
      `EmbeddedPostgresError: cannot store a database in ${dir}: not a directory`,
    )
  })

  test('a folder that holds something else', async () => {
    fs.mkdirSync(dir)
    fs.writeFileSync(path.join(dir, 'thesis.txt'), '')
    expect(await getRefusal()).toBe(
      `EmbeddedPostgresError: ${dir} is not empty and contains no database of Plainpath`,
    )
    expect(fs.readdirSync(parent)).toEqual(['pg'])
  })

  test('the data of another version', async () => {
    copyUsedCluster()
    fs.writeFileSync(path.join(dir, 'PG_VERSION'), '17\n')
    expect(await getRefusal()).toBe(
      `EmbeddedPostgresError: ${dir} contains data of PostgreSQL 17, but this release runs PostgreSQL 18`,
    )
  })

  test('settings that the server refuses, with the reason of the server', async () => {
    copyUsedCluster()
    const refusedServer = useEmbeddedPostgres({ dir, settings: { ...FAST_SETTINGS, shared_buffers: 'many' } })
    await expect(refusedServer).rejects.toThrow(
      'PostgreSQL does not start: invalid value for parameter "shared_buffers": "many"',
    )
  })
})

/** Returns the user that owns a server's password file. Only this user and root can read it. */
const findOwner = (folder: string) => fs.statSync(path.join(folder, 'superuser.secret')).uid

test('the server runs as the current user, or, if that is root, as a separate user', async () => {
  await using server = await useServer()
  const { mode } = fs.statSync(path.join(server.dir, 'superuser.secret'))
  expect(mode & 0o777).toBe(0o600)
  const currentUser = process.getuid?.()
  if (currentUser !== 0) return expect(findOwner(server.dir)).toBe(currentUser)
  const name = execFileSync('getent', ['passwd', String(findOwner(server.dir))], { encoding: 'utf8' })
  return expect(name).toMatch(
    /^plainpath-postgres:.*:embedded PostgreSQL of Plainpath:\/:\/usr\/sbin\/nologin\n$/,
  )
})

test('takes over the data of a server that ran as the user nobody, if root starts it', async () => {
  const firstServer = await useServer()
  await firstServer[Symbol.asyncDispose]()
  const user = findOwner(firstServer.dir)
  const files = [firstServer.dir, ...fs.readdirSync(firstServer.dir, { recursive: true, encoding: 'utf8' })]
  const isRoot = process.getuid?.() === 0
  if (isRoot)
    for (const file of files) fs.chownSync(path.resolve(firstServer.dir, file), NOBODY.uid, NOBODY.gid)
  await using nextServer = await useServer()
  expect([nextServer.wasStarted, findOwner(nextServer.dir)]).toEqual([true, user])
})

test('uses a folder in /var/tmp if the server has no access to the requested one, and reports it', async () => {
  // Only root is affected, because only root runs the server as another user.
  fs.chmodSync(parent, 0o700)
  const server = await useServer()
  const secondUser = await useServer()
  expect(secondUser).toMatchObject({ wasStarted: false, dir: server.dir })
  await secondUser[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  const isRoot = process.getuid?.() === 0
  expect(path.dirname(server.dir)).toBe(isRoot ? '/var/tmp' : parent)
  fs.rmSync(server.dir, { recursive: true })
})

// Only root is affected, and only root can run a server as another user.
test.runIf(process.getuid?.() === 0)(
  'does not use a folder in /var/tmp that another user created, even while that user runs a server on it',
  async () => {
    fs.chmodSync(parent, 0o700)
    const name = createHash('sha256').update(dir).digest('hex').slice(0, 16)
    const foreignDir = `/var/tmp/plainpath-postgres-data-${name}`
    const userId = 12_345
    execFileSync('cp', ['--archive', usedCluster, foreignDir])
    execFileSync('chown', ['--recursive', `${userId}:${userId}`, foreignDir])
    // It listens only in its own folder, so it needs no free port.
    const options = ['-D', foreignDir, '-k', foreignDir, '-c', 'listen_addresses=']
    const foreignServer = spawn(locateBinaries().path('postgres'), options, {
      uid: userId,
      gid: userId,
      stdio: 'ignore',
    })
    await vi.waitFor(() => expect(findRunningServer(foreignDir)).toBeDefined(), 10_000)
    await expect(useServer()).rejects.toThrow(`the database in ${foreignDir} belongs to user ${userId}`)
    await endProcess(foreignServer, 'SIGTERM')
    fs.rmSync(foreignDir, { recursive: true })
  },
)
