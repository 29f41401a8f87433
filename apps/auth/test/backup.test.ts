import { mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool } from '@plainpath/postgres'
import { openEmptyDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { asAgent, register, requestToken } from './agent-client.ts'
import { type ClaimsUnderTest, confirmed, startClaims } from './claim-client.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'

vi.setConfig({ testTimeout: 120_000 })

const resources = new AsyncDisposableStack()
let under: ClaimsUnderTest
let folder: string
let env: Record<string, string>
beforeAll(async () => {
  under = resources.use(await startClaims())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-backup-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const { database } = under.stores
  env = {
    ...(await under.stores.settingsFor(ORIGIN)),
    AUTH_MIGRATION_DATABASE_URL: database.ownerUrl,
  }
})
afterAll(() => resources.disposeAsync())

const backUpTo = async (name: string) => {
  const file = path.join(folder, name)
  const backedUp = await runAuth(['backup', file, '--json'], env)
  expect(backedUp.code, backedUp.errors).toBe(0)
  return file
}

/** An empty database for a restore, and the settings that name it. */
async function openTarget() {
  const database = await openEmptyDatabase()
  const its = { ...env, AUTH_DATABASE_URL: database.appUrl, AUTH_MIGRATION_DATABASE_URL: database.ownerUrl }
  return {
    env: its,
    async read(sql: string, as: 'owner' | 'app' = 'owner') {
      await using db = openPool(as === 'app' ? database.appUrl : database.ownerUrl, { max: 1 })
      return (await db.query(sql)).rows
    },
    restore: (file: string, ...words: string[]) => runAuth(['restore', file, ...words, '--json'], its),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
type Target = Awaited<ReturnType<typeof openTarget>>

const hasNoTable = async (target: Target) =>
  expect(await target.read(`select from pg_tables where schemaname = 'public'`)).toEqual([])

test('restores all rows, revokes again what the log names, and revokes all signing keys', async () => {
  const { auth } = under
  const [deleted, stays] = [await register(auth), await register(auth)]
  const claim = await confirmed(under)
  const earlier = auth.logged.length
  const file = await backUpTo('with-log')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const headers = asAgent(deleted)
  expect((await send(auth.url, { method: 'DELETE', path: '/api/agent', headers })).status).toBe(204)
  const log = path.join(folder, 'log')
  const old = '{"msg":"security event","time":"2020-01-01T00:00:00.000Z"'
  await writeFile(
    log,
    [
      // From before the backup, which has the newer state.
      `${old},"event":"client-ended","client_id":"${stays.client_id}","how":"disabled"}`,
      ...auth.logged.slice(earlier),
    ].join('\n'),
  )

  await using target = await openTarget()
  const restored = await target.restore(file, '--log', log)
  expect(restored.code, restored.errors).toBe(0)
  expect(JSON.parse(restored.printed)).toMatchObject({
    ok: true,
    done: true,
    keys: 1,
    replayed: { clients: 1, claims: 0, secrets: 0 },
  })
  const agents = await target.read('select id, status from agents')
  expect(agents).toContainEqual({ id: deleted.client_id, status: 'deleted' })
  expect(agents).toContainEqual({ id: stays.client_id, status: 'active' })
  expect(agents).toContainEqual({ id: claim.agent.client_id, status: 'active' })
  expect(await target.read('select state, count(*) from signing_keys group by 1 order by 1')).toEqual([
    { state: 'revoked', count: 1 },
    { state: 'signing', count: 1 },
  ])
  // The role of the app has its rights, and no more.
  expect(await target.read('select from agents', 'app')).toHaveLength(agents.length)
  await expect(target.read('drop table agents', 'app')).rejects.toThrow('must be owner')
  await expect(target.read('delete from key_audit', 'app')).rejects.toThrow('permission denied')
  const verified = await runAuth(['keys', 'verify'], target.env)
  expect(verified.printed).toContain('All checks passed')
  expect(await runAuth(['migrate'], target.env)).toMatchObject({
    printed: 'Nothing to do: the tables are up to date.',
  })
})

test('a restore without a log disables every client and ends every claim', async () => {
  const agent = await register(under.auth)
  await confirmed(under)
  const file = await backUpTo('without-log')
  await using target = await openTarget()
  const restored = await target.restore(file, '--revoke-everything')
  expect(restored.code, restored.errors).toBe(0)
  expect(JSON.parse(restored.printed)).not.toHaveProperty('replayed')
  expect(await target.read(`select from agents where status = 'active'`)).toEqual([])
  expect(await target.read('select from claims where ended_at is null')).toEqual([])
  // The service that was backed up goes on.
  expect((await requestToken(under.auth, agent)).status).toBe(200)
})

test.for([
  ['neither a log nor everything', () => [], 2, 'Say what was revoked since the backup'],
  ['a log that is missing', () => ['--log', '/nowhere'], 1, '/nowhere cannot be read (ENOENT).'],
] as const)('%s is refused, and changes nothing', async ([_what, words, code, says]) => {
  const file = await backUpTo(`refused-${code}`)
  await using target = await openTarget()
  expect(await target.restore(file, ...words())).toMatchObject({
    code,
    errors: expect.stringContaining(says),
  })
  await hasNoTable(target)
})

test.for([
  ['no backup', (file: string) => writeFile(file, 'no backup'), 'It is not a backup, or it is damaged.'],
  [
    'a backup that was cut off',
    async (file: string) => truncate(file, (await readFile(file)).length - 40),
    'It is not a backup, or it is damaged.',
  ],
] as const)('%s leaves a database that no instance serves', async ([name, damage, says]) => {
  const file = await backUpTo(name)
  await damage(file)
  await using target = await openTarget()
  expect(await target.restore(file, '--revoke-everything')).toMatchObject({
    code: 1,
    errors: expect.stringContaining(says),
  })
  await expect(target.read('select from agents', 'app')).rejects.toThrow(/does not exist|permission denied/)
  const tables = await target.read(`select from pg_tables where schemaname = 'public'`)
  const migrated = await runAuth(['migrate'], target.env)
  if (tables.length > 0)
    expect(migrated).toMatchObject({ code: 1, errors: expect.stringContaining('a restore did not end') })
})

test('refuses a database that has tables, and a backup of the API', async () => {
  const file = await backUpTo('refused')
  expect(await runAuth(['restore', file, '--revoke-everything'], env)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('A backup is restored into an empty database only.'),
  })
  expect(await runAuth(['backup', file], env)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('cannot be written (EEXIST).'),
  })
  await using target = await openTarget()
  const newer = path.join(folder, 'newer')
  const { gzipSync } = await import('node:zlib')
  const header = { plainpath_backup: 1, made_at: '2026-11-25T12:00:00.000Z', migrations: ['9999-later'] }
  for (const [app, says] of [
    ['resource', 'It is a backup of resource, not of auth.'],
    ['auth', 'A newer release made it'],
  ] as const) {
    await writeFile(newer, gzipSync(`${JSON.stringify({ ...header, app })}\n`))
    expect(await target.restore(newer, '--revoke-everything')).toMatchObject({
      code: 1,
      errors: expect.stringContaining(says),
    })
  }
  await hasNoTable(target)
})
