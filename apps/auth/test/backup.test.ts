import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool } from '@plainpath/postgres'
import { createEmptyDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { agentAuthHeader, register, requestToken } from './agent-client.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'
import { confirmAgent, startVerificationSystem, type VerificationSystem } from './verification-client.ts'

vi.setConfig({ testTimeout: 120_000 })

const resources = new AsyncDisposableStack()
let system: VerificationSystem
let folder: string
let env: Record<string, string>
beforeAll(async () => {
  system = resources.use(await startVerificationSystem())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-backup-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const { database } = system.testbed
  env = {
    ...(await system.testbed.createSettings(ORIGIN)),
    AUTH_MIGRATION_DATABASE_URL: database.ownerUrl,
  }
})
afterAll(() => resources.disposeAsync())

const backUpTo = async (name: string) => {
  const file = path.join(folder, name)
  const result = await runAuth(['backup', file, '--json'], env)
  expect(result.code, result.errors).toBe(0)
  return file
}

/** Opens an empty database, into which a test restores a backup. */
async function openTarget() {
  const database = await createEmptyDatabase()
  const targetEnv = {
    ...env,
    AUTH_DATABASE_URL: database.appUrl,
    AUTH_MIGRATION_DATABASE_URL: database.ownerUrl,
  }
  return {
    env: targetEnv,
    async read(sql: string, as: 'owner' | 'app' = 'owner') {
      await using db = openPool(as === 'app' ? database.appUrl : database.ownerUrl, { max: 1 })
      return (await db.query(sql)).rows
    },
    restore: (file: string, ...args: string[]) => runAuth(['restore', file, ...args, '--json'], targetEnv),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
type Target = Awaited<ReturnType<typeof openTarget>>

const expectNoTables = async (target: Target) =>
  expect(await target.read(`select from pg_tables where schemaname = 'public'`)).toEqual([])

test('restores clients and privileges, revokes again the clients that the log names, and replaces the signing key', async () => {
  const { auth } = system
  const [deleted, unchanged] = [await register(auth), await register(auth)]
  const verification = await confirmAgent(system)
  const linesBefore = auth.logged.length
  const file = await backUpTo('with-log')
  // Only the owner of the file may read it.
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const headers = agentAuthHeader(deleted)
  expect((await send(auth.url, { method: 'DELETE', path: '/api/agent', headers })).status).toBe(204)
  const logFile = path.join(folder, 'log')
  const oldEventStart = '{"msg":"security event","time":"2020-01-01T00:00:00.000Z"'
  await writeFile(
    logFile,
    [
      // This event is older than the backup, which already has the later state.
      `${oldEventStart},"event":"client-ended","client_id":"${unchanged.client_id}","how":"disabled"}`,
      ...auth.logged.slice(linesBefore),
    ].join('\n'),
  )

  await using target = await openTarget()
  const restoration = await target.restore(file, '--log', logFile)
  expect(restoration.code, restoration.errors).toBe(0)
  expect(JSON.parse(restoration.printed)).toMatchObject({
    ok: true,
    done: true,
    keys: 1,
    replayed: { clients: 1, claims: 0, secrets: 0 },
  })
  const agents = await target.read('select id, status from agents')
  expect(agents).toContainEqual({ id: deleted.client_id, status: 'deleted' })
  expect(agents).toContainEqual({ id: unchanged.client_id, status: 'active' })
  expect(agents).toContainEqual({ id: verification.agent.client_id, status: 'active' })
  expect(await target.read('select state, count(*) from signing_keys group by 1 order by 1')).toEqual([
    { state: 'revoked', count: 1 },
    { state: 'signing', count: 1 },
  ])
  // The app's role has its usual privileges, and no others: two examples are refused.
  expect(await target.read('select from agents', 'app')).toHaveLength(agents.length)
  await expect(target.read('drop table agents', 'app')).rejects.toThrow('must be owner')
  await expect(target.read('delete from key_audit', 'app')).rejects.toThrow('permission denied')
  const verifyResult = await runAuth(['keys', 'verify'], target.env)
  expect(verifyResult.printed).toContain('All checks passed')
  expect(await runAuth(['migrate'], target.env)).toMatchObject({
    printed: 'Nothing to do: the tables are up to date.',
  })
  // Only an unfinished restore is not backed up.
  expect(await runAuth(['backup', path.join(folder, 'restored')], target.env)).toMatchObject({ code: 0 })
})

test('a backup can be restored if a text in it contains a line or paragraph separator', async () => {
  const agent = await register(system.auth)
  // Word processors and chat programs put these characters into a text that somebody copies.
  const reason = 'first line\u2028second line\u2029last line'
  expect(await runAuth(['agents', 'disable', agent.client_id, '--reason', reason], env)).toMatchObject({
    code: 0,
  })
  const file = await backUpTo('with-separators')
  await using target = await openTarget()
  const restoration = await target.restore(file, '--revoke-everything')
  expect(restoration.code, restoration.errors).toBe(0)
  expect(
    await target.read('select status_reason as reason from agents where status_reason is not null'),
  ).toEqual([{ reason }])
})

test('restores where no temporary file can be written, as in a container with a read-only file system', async () => {
  const file = await backUpTo('read-only')
  await using target = await openTarget()
  vi.stubEnv('TMPDIR', path.join(folder, 'missing'))
  const restoration = await target.restore(file, '--revoke-everything')
  vi.unstubAllEnvs()
  expect(restoration.code, restoration.errors).toBe(0)
})

test('a restore without a log leaves no active client and no verification, and does not affect the running service', async () => {
  const agent = await register(system.auth)
  await confirmAgent(system)
  const file = await backUpTo('without-log')
  await using target = await openTarget()
  const restoration = await target.restore(file, '--revoke-everything')
  expect(restoration.code, restoration.errors).toBe(0)
  expect(JSON.parse(restoration.printed)).not.toHaveProperty('replayed')
  expect(await target.read(`select from agents where status = 'active'`)).toEqual([])
  expect(await target.read('select from claims where ended_at is null')).toEqual([])
  // The service that was backed up keeps running.
  expect((await requestToken(system.auth, agent)).status).toBe(200)
})

// The exit code is 2 for wrong usage and 1 for a refusal.
test.for([
  ['a restore without a log or --revoke-everything', () => [], 2, 'Add --log <path> with the logs'],
  ['a restore with a missing log', () => ['--log', '/nowhere'], 1, '/nowhere cannot be read (ENOENT).'],
  ['a restore with an empty log', () => ['--log', '/dev/null'], 1, '/dev/null is not a log in JSON'],
] as const)('%s is refused, and creates no tables', async ([title, args, code, says]) => {
  const file = await backUpTo(title)
  await using target = await openTarget()
  expect(await target.restore(file, ...args())).toMatchObject({
    code,
    errors: expect.stringContaining(says),
  })
  await expectNoTables(target)
})

test.for([
  [
    'a file that is not a backup',
    (file: string) => writeFile(file, 'no backup'),
    'The file is not a backup, or it is damaged.',
  ],
  [
    'a backup that was cut off',
    // More than the last 8 bytes, which are the checksum and the length that gzip adds.
    async (file: string) => truncate(file, (await readFile(file)).length - 40),
    'The file is not a backup, or it is damaged.',
  ],
] as const)('%s leaves a database that the app cannot read', async ([name, damage, says]) => {
  const file = await backUpTo(name)
  await damage(file)
  await using target = await openTarget()
  expect(await target.restore(file, '--revoke-everything')).toMatchObject({
    code: 1,
    errors: expect.stringContaining(says),
  })
  // The tables do not exist, or the app has no privileges on them yet.
  await expect(target.read('select from agents', 'app')).rejects.toThrow(/does not exist|permission denied/)
  const tables = await target.read(`select from pg_tables where schemaname = 'public'`)
  const migrateResult = await runAuth(['migrate'], target.env)
  if (tables.length === 0) return
  const unfinished = {
    code: 1,
    errors: expect.stringContaining('a restore of this database has not finished'),
  }
  // The restore created tables before it failed. `migrate` must not use them.
  expect(migrateResult).toMatchObject(unfinished)
  // A backup would contain what the log has not revoked yet.
  expect(await runAuth(['backup', `${file}-2`], target.env)).toMatchObject(unfinished)
  expect(await readdir(folder)).not.toContain(`${name}-2`)
})

test('restore refuses a database with tables, a backup of the API and a backup by a newer release; backup refuses a file that exists', async () => {
  const file = await backUpTo('refused')
  expect(await runAuth(['restore', file, '--revoke-everything'], env)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('Restore the backup into an empty database.'),
  })
  expect(await runAuth(['backup', file], env)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('cannot be written (EEXIST).'),
  })
  await using target = await openTarget()
  const backupFile = path.join(folder, 'newer')
  const { gzipSync } = await import('node:zlib')
  // The first line of a backup, with a migration that this release does not know.
  const header = { plainpath_backup: 1, made_at: '2026-11-25T12:00:00.000Z', migrations: ['9999-later'] }
  for (const [app, says] of [
    ['resource', 'The file is a backup of resource, not of auth.'],
    ['auth', 'The backup was made by a newer release'],
  ] as const) {
    await writeFile(backupFile, gzipSync(`${JSON.stringify({ ...header, app })}\n`))
    expect(await target.restore(backupFile, '--revoke-everything')).toMatchObject({
      code: 1,
      errors: expect.stringContaining(says),
    })
  }
  await expectNoTables(target)
})
