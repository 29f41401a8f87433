import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { runAuth } from '@plainpath/auth/run-auth'
import { freePorts } from '@plainpath/http/free-ports'
import { openPool } from '@plainpath/postgres'
import { openStackStores, type StackStores } from '@plainpath/stack/open-stack-stores'
import { createPostgresProcess } from '@plainpath/stack/postgres-process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startNpmStart, toLocalProgram } from './start-npm-start.ts'

/*
 * Mistakes of operators, as in `e2e/in-process/operator-mistakes.test.ts`. These need a real `npm start`, or a database server
 * of their own. Each is refused with a sentence that says what to do, and changes nothing.
 */

const run = promisify(execFile)
const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync(), 120_000)

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-mistakes-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  // For root the database server runs as another user, which must be able to enter its folder inside this one.
  await chmod(folder, 0o755)
  return folder
}

describe('npm start', () => {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  let dataDirectory: string
  let port: number
  beforeAll(async () => {
    const started = await startNpmStart(await makeFolder())
    resources.use(started.service)
    ;({ port, dataDirectory } = started)
  }, 120_000)

  /** Runs `npm start`, or with words `npm run auth`. @returns its exit code and what it printed as an error */
  async function execute(env: Readonly<Record<string, string>>, words?: readonly string[], user?: number) {
    const [own = 0, mcp = 0] = await freePorts(2)
    const child = spawn(
      process.execPath,
      [toLocalProgram(words ? 'auth-command' : 'main'), ...(words ?? [])],
      {
        env: {
          PATH,
          NODE_COMPILE_CACHE: user === undefined ? NODE_COMPILE_CACHE : '',
          PORT: String(own),
          MCP_PORT: String(mcp),
          ...env,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
        ...(user !== undefined && { uid: user, gid: user }),
      },
    )
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    return { code: code as number | null, errors: errors.trim() }
  }
  const files = async (folder: string) => {
    const names = (await readdir(folder)).filter((name) => !/^(postgres|outbox)$/.test(name)).toSorted()
    return Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')]))
  }
  const audit = async () =>
    (await execute({ DATA_DIR: dataDirectory, PORT: String(port) }, ['keys', 'audit', '--json'])).code

  test('a second one on the data directory of the first', async () => {
    const before = await files(dataDirectory)
    expect(await execute({ DATA_DIR: dataDirectory, ORIGIN: `http://localhost:${port}` })).toEqual({
      code: 1,
      errors: `Another npm start or stack serves ${dataDirectory}. Stop it, or set DATA_DIR to another directory.`,
    })
    expect(await files(dataDirectory)).toEqual(before)
    expect((await fetch(`http://localhost:${port}/api/health`)).status).toBe(200)
  }, 120_000)

  test('a command with DATA_DIR and without PORT', async () => {
    const refused = await execute({ DATA_DIR: dataDirectory, PORT: '' }, ['keys', 'rotate', '--now'])
    expect(refused).toEqual({
      code: 1,
      errors: expect.stringMatching(
        new RegExp(
          `serves http://localhost:${port}, and AUTH_ORIGIN is http://localhost:8080\\. .*PORT=${port}, .*Nothing was changed\\.$`,
        ),
      ),
    })
    expect(await audit()).toBe(0)
  }, 120_000)

  test('a half-written file of the data directory', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'resource-server.json'), '{"server":{"client_id":', { mode: 0o600 })
    expect(await execute({ DATA_DIR: folder })).toEqual({
      code: 1,
      errors: `The file ${path.join(folder, 'resource-server.json')} is incomplete or damaged. Put back the one from a backup of the data directory.`,
    })
    expect(await readdir(folder)).not.toContain('postgres')
  }, 120_000)

  test('files that another user owns', async () => {
    const folder = await makeFolder()
    const file = path.join(folder, 'auth-kek')
    await writeFile(file, 'x', { mode: 0o000 })
    await chmod(folder, 0o777)
    // Root may read every file.
    const refused = await execute(
      { DATA_DIR: folder },
      undefined,
      process.getuid?.() === 0 ? 65_534 : undefined,
    )
    expect(refused).toEqual({
      code: 1,
      errors: `The file ${file} cannot be used (EACCES). Let the user who runs this own it, and everything else in ${folder}.`,
    })
    expect(await readdir(folder)).toEqual(['auth-kek'])
  }, 120_000)

  test('a credential of the API that differs between the apps', async () => {
    const folder = await makeFolder()
    const secret = path.join(await makeFolder(), 'secret')
    await writeFile(secret, `rss_${'A'.repeat(43)}\n`, { mode: 0o600 })
    const refused = await execute({ DATA_DIR: folder, RESOURCE_CLIENT_SECRET_FILE: secret })
    expect(refused).toEqual({
      code: 1,
      errors: expect.stringMatching(
        /^The authorization server does not accept the credential of the API: .* Unset those that you set/,
      ),
    })
  }, 120_000)
})

describe('PostgreSQL', () => {
  let stores: StackStores
  let folder: string
  beforeAll(async () => {
    folder = await makeFolder()
    stores = resources.use(await openStackStores({ folder, origin: 'http://localhost:1', limitsFactor: 1 }))
  }, 120_000)

  const auth = (line: string) => runAuth(line.split(' '), stores.env)
  const ring = async () => JSON.parse((await auth('keys list --json')).printed).keys

  test('a standby', async () => {
    const before = await ring()
    const server = createPostgresProcess(stores.postgres)
    const signal = path.join(stores.postgres.dir, 'standby.signal')
    const { uid, gid } = await stat(stores.postgres.dir)
    await server.stop('SIGINT')
    await writeFile(signal, '')
    await chown(signal, uid, gid)
    await server.start()
    for (const line of ['keys rotate --now', 'stop --all-tokens --reason drill'])
      expect(await auth(line)).toEqual({
        code: 1,
        printed: '',
        errors:
          'AUTH_DATABASE_URL names a standby of PostgreSQL, which takes no changes. Set it to the primary. Nothing was changed.',
      })
    await server.stop('SIGINT')
    await rm(signal)
    await server.start()
    expect(await ring()).toEqual(before)
  }, 120_000)

  test('a full disk during keys rotate', async () => {
    const before = await ring()
    const disk = path.join(folder, 'small')
    await mkdir(disk)
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
    resources.defer(async () => void (await run('umount', ['-l', disk]).catch(() => undefined)))
    const { uid, gid } = await stat(stores.postgres.dir)
    await chown(disk, uid, gid)
    await using admin = openPool(databaseUrl(), { max: 1, patience: 10 })
    await admin.query(`create tablespace small location '${disk}'`)
    // One row fills a page, so that the next key needs another one.
    await admin.query('alter table signing_keys set (fillfactor = 10)')
    await admin.query('alter table signing_keys set tablespace small')
    await fill(disk)
    expect(await auth('keys rotate --now')).toEqual({
      code: 1,
      printed: '',
      errors:
        'The disk of PostgreSQL is full, so nothing was stored. Free some of it, then run the same command again.',
    })
    await rm(path.join(disk, 'filler'))
    expect(await ring()).toEqual(before)
    expect(await auth('keys rotate --now')).toMatchObject({ code: 0 })
    await admin.query('alter table signing_keys set tablespace pg_default')
    await admin.query('drop tablespace small')
  }, 120_000)

  const databaseUrl = () => Object.assign(new URL(stores.postgres.url), { pathname: '/plainpath_auth' }).href
})

async function fill(disk: string): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  await using file = await open(path.join(disk, 'filler'), 'w')
  try {
    for (let left = bavail; left > 0; left -= 1) await file.write(Buffer.alloc(bsize, 1))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
