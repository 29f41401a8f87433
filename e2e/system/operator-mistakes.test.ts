import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, open, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { runAuth } from '@plainpath/auth/run-auth'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { openPool } from '@plainpath/postgres'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { openStackStores, type StackStores } from '@plainpath/stack/open-stack-stores'
import { createPostgresProcess } from '@plainpath/stack/postgres-process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLocalService, toLocalProgram } from './start-local-service.ts'

/*
 * Mistakes of operators that need a real `npm start`, or a database server of their own. Each is refused with a message
 * that says what to do. The test with a full disk mounts a file system, so it needs root. For other mistakes, see
 * `e2e/in-process/operator-mistakes.test.ts`.
 */

const runProgram = promisify(execFile)
/** The user id of `nobody`. */
const NOBODY = 65_534
const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync(), 120_000)

const createFolder = async () => resources.use(await createTemporaryFolder('mistakes')).path

describe('the local service refuses', () => {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  let dataDirectory: string
  let port: number
  beforeAll(async () => {
    const started = await startLocalService(await createFolder())
    resources.use(started.service)
    ;({ port, dataDirectory } = started)
  }, 120_000)

  /**
   * Runs the program of `npm start`, or of `npm run auth` with `words`, as the user with `userId`.
   *
   * @returns the exit code, and the output to stderr
   */
  async function runLocalProgram(
    env: Readonly<Record<string, string>>,
    words?: readonly string[],
    userId?: number,
  ) {
    const [ownPort = 0, ownMcpPort = 0] = await reserveFreePorts(2)
    const child = spawn(
      process.execPath,
      [toLocalProgram(words ? 'auth-command' : 'main'), ...(words ?? [])],
      {
        env: {
          PATH,
          NODE_COMPILE_CACHE: userId === undefined ? NODE_COMPILE_CACHE : '',
          PORT: String(ownPort),
          MCP_PORT: String(ownMcpPort),
          ...env,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
        ...(userId !== undefined && { uid: userId, gid: userId }),
      },
    )
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    return { code: code as number | null, errors: errors.trim() }
  }
  /** Reads the files of a data directory, except those of the database and mails. Returns pairs of a name and a content. */
  const readFiles = async (folder: string) => {
    const names = (await readdir(folder)).filter((name) => !/^(postgres|outbox)$/.test(name)).toSorted()
    return Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')]))
  }
  /** Runs `keys audit`, which only reads, with the `PORT` of the running service. Returns the exit code. */
  const runAudit = async () =>
    (await runLocalProgram({ DATA_DIR: dataDirectory, PORT: String(port) }, ['keys', 'audit', '--json'])).code

  test('a second npm start with the same data directory', async () => {
    const filesBefore = await readFiles(dataDirectory)
    expect(await runLocalProgram({ DATA_DIR: dataDirectory, ORIGIN: `http://localhost:${port}` })).toEqual({
      code: 1,
      errors: `Another npm start or stack serves ${dataDirectory}. Stop it, or set DATA_DIR to another directory.`,
    })
    expect(await readFiles(dataDirectory)).toEqual(filesBefore)
    expect((await fetch(`http://localhost:${port}/api/health`)).status).toBe(200)
  }, 120_000)

  test('a command with DATA_DIR and without PORT', async () => {
    const result = await runLocalProgram({ DATA_DIR: dataDirectory, PORT: '' }, ['keys', 'rotate', '--now'])
    expect(result).toEqual({
      code: 1,
      errors: expect.stringMatching(
        new RegExp(
          `serves http://localhost:${port}, but AUTH_ORIGIN is http://localhost:8080\\. .*PORT=${port}, .*Nothing was changed\\.$`,
        ),
      ),
    })
    expect(await runAudit()).toBe(0)
  }, 120_000)

  test('a half-written file in the data directory', async () => {
    const folder = await createFolder()
    await writeFile(path.join(folder, 'resource-server.json'), '{"server":{"client_id":', { mode: 0o600 })
    expect(await runLocalProgram({ DATA_DIR: folder })).toEqual({
      code: 1,
      errors: `The file ${path.join(folder, 'resource-server.json')} is incomplete or damaged. Restore it from a backup of the data directory.`,
    })
    expect(await readdir(folder)).not.toContain('postgres')
  }, 120_000)

  test('a file that the user of the process may not read', async () => {
    const folder = await createFolder()
    const file = path.join(folder, 'auth-kek')
    await writeFile(file, 'x', { mode: 0o000 })
    await chmod(folder, 0o777)
    // Root may read every file. If the test runs as root, the program runs as the user `nobody`.
    const result = await runLocalProgram(
      { DATA_DIR: folder },
      undefined,
      process.getuid?.() === 0 ? NOBODY : undefined,
    )
    expect(result).toEqual({
      code: 1,
      errors: `The file ${file} cannot be used (EACCES). Make the user who runs this program the owner of the file, and of everything else in ${folder}.`,
    })
    expect(await readdir(folder)).toEqual(['auth-kek'])
  }, 120_000)

  test('an API credential that differs between the apps', async () => {
    const folder = await createFolder()
    const secretFile = path.join(await createFolder(), 'secret')
    await writeFile(secretFile, `rss_${'A'.repeat(43)}\n`, { mode: 0o600 })
    const result = await runLocalProgram({ DATA_DIR: folder, RESOURCE_CLIENT_SECRET_FILE: secretFile })
    expect(result).toEqual({
      code: 1,
      errors: expect.stringMatching(
        /^The authorization server does not accept the credential of the API: .* Unset those that you set/,
      ),
    })
  }, 120_000)
})

describe('commands of auth change nothing', () => {
  let stores: StackStores
  let folder: string
  beforeAll(async () => {
    folder = await createFolder()
    stores = resources.use(await openStackStores({ folder, origin: 'http://localhost:1', limitsFactor: 1 }))
  }, 120_000)

  const runAuthCommand = (line: string) => runAuth(line.split(' '), stores.env)
  const readKeyRing = async () => JSON.parse((await runAuthCommand('keys list --json')).printed).keys

  test('on a standby of PostgreSQL', async () => {
    const ringBefore = await readKeyRing()
    const server = createPostgresProcess(stores.postgres)
    const signalFile = path.join(stores.postgres.dir, 'standby.signal')
    const { uid, gid } = await stat(stores.postgres.dir)
    await server.stop('SIGINT')
    await writeFile(signalFile, '')
    // If this process is root, PostgreSQL runs as another user, the owner of its folder.
    await chown(signalFile, uid, gid)
    await server.start()
    for (const line of ['keys rotate --now', 'stop --all-tokens --reason drill'])
      expect(await runAuthCommand(line)).toEqual({
        code: 1,
        printed: '',
        errors:
          'AUTH_DATABASE_URL names a standby of PostgreSQL, which accepts no changes. Set it to the URL of the primary. Nothing was changed.',
      })
    await server.stop('SIGINT')
    await rm(signalFile)
    await server.start()
    expect(await readKeyRing()).toEqual(ringBefore)
  }, 120_000)

  test('while the disk of PostgreSQL is full', async () => {
    const ringBefore = await readKeyRing()
    const disk = path.join(folder, 'small')
    await mkdir(disk)
    await runProgram('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
    // `resources` disposes of this before PostgreSQL. After a failed test, PostgreSQL still uses the disk, so `-l` detaches it
    // anyway.
    resources.defer(async () => void (await runProgram('umount', ['-l', disk]).catch(() => undefined)))
    const { uid, gid } = await stat(stores.postgres.dir)
    await chown(disk, uid, gid)
    await using admin = openPool(getDatabaseUrl(), { max: 1, patience: 10 })
    await admin.query(`create tablespace small location '${disk}'`)
    // With this fill factor, each row takes a page, so the next key needs a new page.
    await admin.query('alter table signing_keys set (fillfactor = 10)')
    await admin.query('alter table signing_keys set tablespace small')
    await fillDisk(disk)
    expect(await runAuthCommand('keys rotate --now')).toEqual({
      code: 1,
      printed: '',
      errors:
        'The disk of PostgreSQL is full, so the last change was not stored. Earlier changes of this command may be. Free some space, then run the same command again.',
    })
    await rm(path.join(disk, 'filler'))
    expect(await readKeyRing()).toEqual(ringBefore)
    expect(await runAuthCommand('keys rotate --now')).toMatchObject({ code: 0 })
    await admin.query('alter table signing_keys set tablespace pg_default')
    await admin.query('drop tablespace small')
  }, 120_000)

  const getDatabaseUrl = () =>
    Object.assign(new URL(stores.postgres.url), { pathname: '/plainpath_auth' }).href
})

/** Writes a file, `filler`, until the disk is full. */
async function fillDisk(disk: string): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  await using file = await open(path.join(disk, 'filler'), 'w')
  try {
    for (let freeBlocks = bavail; freeBlocks > 0; freeBlocks -= 1) await file.write(Buffer.alloc(bsize, 1))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
