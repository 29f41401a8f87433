import { loadGuides } from '@plainpath/guides'
import { serve } from '@plainpath/http'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MIGRATIONS } from '../src/migrations.ts'
import { createKeyFolder } from './key-folder.ts'
import { runResource } from './run-resource.ts'
import { createPost, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
const keyFolder = createKeyFolder(resources)
let database: TestDatabase
beforeAll(async () => {
  database = resources.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
})
afterAll(() => resources.disposeAsync())

const run = (args: string, env: Record<string, string> = {}) =>
  runResource(args.split(' ').filter(Boolean), env)
const createSettings = () => ({
  RESOURCE_ORIGIN: 'https://plainpath.example',
  RESOURCE_DATABASE_URL: database.appUrl,
  RESOURCE_AUTH_URL: 'http://auth:8091',
  RESOURCE_CLIENT_ID: 'resource-api',
  RESOURCE_CLIENT_SECRET_FILE: `${keyFolder}/client-secret`,
  RESOURCE_KEK_FILE: `${keyFolder}/kek`,
  RESOURCE_HASH_KEY_FILE: `${keyFolder}/hash-key`,
  // The discard port, on which nothing should listen. An https origin needs a mail server.
  RESOURCE_SMTP_URL: 'smtp://127.0.0.1:9',
})

describe('resource', () => {
  test.for([
    '',
    'config',
    'guides',
    'waitlist',
    'serve',
    'migrate',
    'config check',
    'config describe',
    'guides list',
    'guides check',
    'guides diff',
    'guides publish',
    'guides retire',
    'guides review',
    'waitlist stats',
    'rewrap',
  ])('%s --help prints its usage', async (command) => {
    const { code, out } = await run(`${command} --help`)
    expect(code).toBe(0)
    expect(out).toMatch(/^Usage: resource/)
  })

  test.for([
    'nonsense',
    'guides nonsense',
    'guides list --nonsense',
    'guides retire a',
    'guides review a',
    'guides retire --successor a',
    'waitlist stats extra',
    'config',
  ])('%s is wrong usage, with exit code 2', async (command) => {
    const { code, errors } = await run(command)
    expect(code).toBe(2)
    expect(errors).not.toBe('')
  })

  test('config check prints the settings and hides secrets', async () => {
    const { code, out } = await run('config check', createSettings())
    expect(code).toBe(0)
    expect(out).toContain('RESOURCE_PORT=8082  (default)')
    expect(out).toContain('RESOURCE_DATABASE_URL=(secret)  (environment)')
    expect(out).not.toContain(database.appUrl)
    const { settings } = JSON.parse((await run('config check --json', createSettings())).out) as {
      settings: object[]
    }
    expect(settings).toContainEqual({ name: 'RESOURCE_PORT', value: '8082', from: 'default' })
  })

  test('config check names every mistake, with exit code 2', async () => {
    const { code, out, errors } = await run('config check', {
      ...createSettings(),
      RESOURCE_PORT: 'x',
      RESOURCE_PROT: 'y',
    })
    expect([code, out]).toEqual([2, ''])
    expect(errors).toBe(
      'bad configuration\n  RESOURCE_PROT is not a setting\n  RESOURCE_PORT must be a whole number',
    )
    const asJson = await run('config check --json', { ...createSettings(), RESOURCE_PORT: 'x' })
    expect(asJson.code).toBe(2)
    expect(JSON.parse(asJson.out)).toEqual({
      ok: false,
      mistakes: ['RESOURCE_PORT must be a whole number'],
    })
  })

  test('serve reports a port that is in use in one line, with exit code 1', async () => {
    await using otherServer = await serve(() => undefined, { port: 0, host: '127.0.0.1', drainSeconds: 1 })
    const ports = { RESOURCE_OPERATIONS_PORT: String(otherServer.port), RESOURCE_PORT: '0' }
    const { code, errors } = await run('serve', { ...createSettings(), ...ports })
    expect([code, errors]).toEqual([1, `Port ${otherServer.port} is already in use.`])
  })

  test('guides check finds no mistakes in this release', async () => {
    const count = loadGuides().length
    expect(await run('guides check')).toMatchObject({ code: 0, out: `${count} guides, no mistakes.` })
    expect(JSON.parse((await run('guides check --json')).out)).toEqual({ guides: count, findings: [] })
  })

  test('migrate needs only the database URLs, and reports that the tables are up to date', async () => {
    const env = { RESOURCE_DATABASE_URL: database.appUrl, RESOURCE_MIGRATION_DATABASE_URL: database.ownerUrl }
    expect(await run('migrate', env)).toMatchObject({
      code: 0,
      out: 'Nothing to do: the tables are up to date.',
    })
    expect(await run('migrate')).toMatchObject({
      code: 2,
      errors: expect.stringContaining('RESOURCE_DATABASE_URL is missing'),
    })
  })

  test('waitlist stats counts entries, confirmations and referrals', async () => {
    await using api = await startResource()
    const join = (body: object) => sendRequest(api.origin, { path: '/api/waitlist', ...createPost(body) })
    const { referralSlug } = (await join({ email: 'ana@example.org' })).json()
    await join({ email: 'ben@example.org', referredBySlug: referralSlug })
    const env = { RESOURCE_DATABASE_URL: api.databaseUrl }
    expect(JSON.parse((await run('waitlist stats --json', env)).out)).toMatchObject({
      entries: 2,
      confirmed: 0,
      referred: 1,
      credited: 0,
      referrers: [{ referred: 1, credited: 0 }],
    })
    expect((await run('waitlist stats', env)).out).toContain(
      '2 entries, 0 of them confirmed; 1 referred, 0 of them confirmed.',
    )
  })

  test('waitlist stats reports an unreachable database in one line without its URL, with exit code 1', async () => {
    const env = { RESOURCE_DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:1/none' }
    expect(await run('waitlist stats', env)).toEqual({
      code: 1,
      out: '',
      errors: 'The database is unavailable. Check that PostgreSQL runs, and that this machine can reach it.',
    })
  })
})
