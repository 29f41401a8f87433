import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '@plainpath/auth/config'
import { runAuth } from '@plainpath/auth/run-auth'
import { MIGRATIONS } from '@plainpath/auth/stores'
import { openAuth } from '@plainpath/auth/wire'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import { API_VERSION } from '@plainpath/metadata'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { runResource } from '@plainpath/resource/run-resource'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSystemEnvironment } from '../system-environment.ts'

/*
 * Mistakes of operators while an instance runs. The command fails with a sentence that says what to do, changes nothing, and exits
 * with a code other than 0. `apps/auth/test/operator-mistakes.redis.test.ts` tests mistakes with Redis, and
 * `e2e/system/operator-mistakes.test.ts` tests mistakes that need more processes.
 */

/** The times are short, because commands wait until the instance has reported a change. */
const SHORT_INTERVALS = {
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_LEASE_SECONDS: '2',
  AUTH_KEYS_TRUST_SECONDS: '0.1',
}
/** With this limits factor, no Redis is used. In the Redis that tests share, a stop would revoke the tokens of other tests. */
const PRODUCTION_LIMITS = 1
const resources = new AsyncDisposableStack()
let env: Record<string, string>
let admin: { readonly auth: Pool; readonly resource: Pool }
let folder: string
let agent: { client_id: string; client_secret: string }
beforeAll(async () => {
  let handler: RequestHandler = (_request, response) => response.writeHead(503).end()
  const server = resources.use(
    await serve((request, response) => handler(request, response), TEST_SERVER_OPTIONS),
  )
  const system = resources.use(await openSystemEnvironment(server.url, PRODUCTION_LIMITS))
  env = { ...system.env, ...SHORT_INTERVALS }
  const auth = resources.use(
    await openAuth(loadConfig(selectAuthSettings()), {
      log: createLog({ service: 'e2e', write: () => undefined }),
      now: () => new Date(),
      ...system.dependencies,
    }),
  )
  handler = auth.publicApp.callback()
  const openAdminPool = (url: string) => resources.use(openPool(url, { max: 1, patience: 5 }))
  admin = { auth: openAdminPool(system.adminUrls.auth), resource: openAdminPool(system.adminUrls.resource) }
  folder = path.dirname(env['AUTH_KEK_FILE'] ?? '')
  const registration = await fetch(`${server.url}/api/agent/register`, { method: 'POST' })
  if (registration.status !== 201) throw new Error(`registering an agent failed: ${registration.status}`)
  agent = (await registration.json()) as typeof agent
})
afterAll(() => resources.disposeAsync())

const selectAuthSettings = () => selectSettings('AUTH_')
const selectSettings = (prefix: string) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith(prefix)))

/** Runs `auth …` or `resource …`. @returns the exit code, and what the command printed as errors and as output */
async function runCommand(line: string, moreSettings: Readonly<Record<string, string | undefined>> = {}) {
  const [app, ...words] = line.split(' ')
  const appSettings = app === 'auth' ? selectAuthSettings() : selectSettings('RESOURCE_')
  const result = await (app === 'auth' ? runAuth : runResource)(words, { ...appSettings, ...moreSettings })
  return { code: result.code, errors: result.errors, out: 'out' in result ? result.out : result.printed }
}

/** Tables that change without a command, or that a mistake changes itself: instances report at any time, and some mistakes change the list of migrations. */
const OMITTED_TABLES = new Set([
  'key_followers',
  'resource_server_followers',
  'resource_server_secrets',
  'schema_migrations',
])

/** Computes a digest of each table of both databases, except for `OMITTED_TABLES`. */
async function readDigests(): Promise<unknown> {
  const digests = await Promise.all(
    Object.values(admin).map(async (db) => {
      const { rows } = await db.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
      )
      const toDigestQuery = ({ name }: { name: string }) =>
        `select '${name}' as name, md5(string_agg(t::text, ',' order by t::text)) as content from ${name} t`
      const digestQueries = rows.filter(({ name }) => !OMITTED_TABLES.has(name)).map(toDigestQuery)
      // PostgreSQL may read the tables in parallel, in any order.
      return (await db.query(`${digestQueries.join(' union all ')} order by name`)).rows
    }),
  )
  return digests
}

const writeSettingsFile = async (name: string, content: string) => {
  await writeFile(path.join(folder, name), content, { mode: 0o600 })
  return path.join(folder, name)
}
const createKek = () => `kek-${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64url')}`
const readKek = () => readFile(env['AUTH_KEK_FILE'] ?? '', 'utf8')
/** Returns the URL of a database on the same server that has no tables of an app. */
const toEmptyDatabaseUrl = (url = '') => Object.assign(new URL(url), { pathname: '/postgres' }).href

interface Mistake {
  readonly command: string
  /** Returns the settings that are wrong. */
  readonly getSettings?: () => Promise<Record<string, string | undefined>>
  /** Changes the stores as the mistake would. @returns a function that undoes this */
  readonly prepare?: () => Promise<() => Promise<void>>
  /** The message of the refusal. */
  readonly error: RegExp
  /** The exit code; by default 1. It is 2 for a mistake in the settings. */
  readonly code?: number
}

const recordMigration = (db: () => Pool, name: string) => async () => {
  await db().query('insert into schema_migrations (name, run_on) values ($1, now())', [name])
  return async () => void (await db().query('delete from schema_migrations where name = $1', [name]))
}
const forgetMigration = (db: () => Pool) => async () => {
  const { rows } = await db().query<{ name: string }>(
    'select name from schema_migrations order by name desc limit 1',
  )
  const name = rows[0]?.name ?? ''
  await db().query('delete from schema_migrations where name = $1', [name])
  return async () => void (await recordMigration(db, name)())
}

const MISTAKES: Record<string, Mistake> = {
  'an empty database': {
    command: 'auth keys rotate --now',
    getSettings: async () => ({ AUTH_DATABASE_URL: toEmptyDatabaseUrl(env['AUTH_DATABASE_URL']) }),
    error:
      /^AUTH_DATABASE_URL names a database without the tables of auth\. Set it to the database that the service uses.*Nothing was changed\.$/,
  },
  'an empty database, given to a command of the API': {
    command: 'resource waitlist list',
    getSettings: async () => ({ RESOURCE_DATABASE_URL: toEmptyDatabaseUrl(env['RESOURCE_DATABASE_URL']) }),
    error: /^RESOURCE_DATABASE_URL names a database without the tables of resource\. Set it/,
  },
  'the database of the API, given to a command of auth': {
    command: 'auth stop --all-tokens --reason drill',
    getSettings: async () => ({ AUTH_DATABASE_URL: env['RESOURCE_DATABASE_URL'] }),
    error: /^AUTH_DATABASE_URL names a database without the tables of auth\. Set it/,
  },
  'the database of auth, given to a command of the API': {
    command: 'resource guides publish',
    getSettings: async () => ({ RESOURCE_DATABASE_URL: env['AUTH_DATABASE_URL'] }),
    error: /^RESOURCE_DATABASE_URL names a database without the tables of resource\. Set it/,
  },
  'a database that no instance uses': {
    command: 'auth stop --all-tokens --reason drill',
    async getSettings() {
      const otherDatabase = resources.use(await openTestDatabase({ folder: MIGRATIONS, name: 'auth' }))
      return { AUTH_DATABASE_URL: otherDatabase.appUrl }
    },
    error:
      /^No instance of the authorization server has ever reported to this database\. Set AUTH_DATABASE_URL to the one that the service uses\./,
  },
  'an older schema': {
    command: 'auth keys rotate --now',
    prepare: forgetMigration(() => admin.auth),
    error:
      /^The tables that AUTH_DATABASE_URL names are older than this release, which needs 00\S+\. Run "auth migrate"\./,
  },
  'an older schema of the API': {
    command: 'resource guides publish',
    prepare: forgetMigration(() => admin.resource),
    error: /^The tables that RESOURCE_DATABASE_URL names are older .* Run "resource migrate"\./,
  },
  'a newer schema': {
    command: 'auth keys rotate --now',
    async prepare() {
      const setRelease = async (release: string) =>
        void (await admin.auth.query('update key_followers set release = $1', [release]))
      await using preparing = new AsyncDisposableStack()
      preparing.defer(() => setRelease(API_VERSION))
      preparing.defer(await recordMigration(() => admin.auth, '9999-of-a-later-release')())
      // While the instance reports this release, it runs on newer tables, as after a rollback, and commands work.
      expect(await runCommand('auth keys list')).toMatchObject({ code: 0 })
      await setRelease('9.9.9')
      const prepared = preparing.move()
      return () => prepared.disposeAsync()
    },
    error:
      /^The tables that AUTH_DATABASE_URL names are newer than this release, which does not know 9999-of-a-later-release\. Run the command from the release that the service runs\./,
  },
  'another origin': {
    command: 'auth keys rotate --now',
    getSettings: async () => ({ AUTH_ORIGIN: 'http://localhost:1' }),
    error:
      /^\S+ serves http:\/\/127\.0\.0\.1:\d+, but AUTH_ORIGIN is http:\/\/localhost:1\. Set AUTH_ORIGIN to the origin of the instances\. With npm run auth: PORT=\d+/,
  },
  'no key-encryption key': {
    command: 'auth keys rotate --now',
    getSettings: async () => ({ AUTH_KEK_FILE: undefined }),
    error: /AUTH_KEK_FILE is missing$/,
    code: 2,
  },
  'a key-encryption key file that does not exist': {
    command: 'auth keys rotate --now',
    getSettings: async () => ({ AUTH_KEK_FILE: path.join(folder, 'nowhere') }),
    error: /AUTH_KEK_FILE names a file that cannot be read \(ENOENT\)$/,
    code: 2,
  },
  'a wrong key-encryption key': {
    command: 'auth keys rotate --now',
    getSettings: async () => ({ AUTH_KEK_FILE: await writeSettingsFile('wrong-kek', createKek()) }),
    error:
      /^\S+ cannot decrypt what the first key in AUTH_KEK_FILE encrypts\. Set AUTH_KEK_FILE to the file that the instances use/,
  },
  'a new key-encryption key that the instance does not have yet': {
    command: 'auth keys rewrap',
    getSettings: async () => ({
      AUTH_KEK_FILE: await writeSettingsFile('early-kek', `${createKek()}\n${await readKek()}`),
    }),
    error:
      /A new key must be in the file of every instance before a command uses it\. Nothing was changed\.$/,
  },
  'a misspelt variable': {
    command: 'auth stop --all-tokens --reason drill',
    getSettings: async () => ({ AUTH_REDIS_ULR: 'redis://127.0.0.1:6379' }),
    error: /AUTH_REDIS_ULR is not a setting$/,
    code: 2,
  },
  'a misspelt variable of the API': {
    command: 'resource guides publish',
    getSettings: async () => ({ RESOURCE_DATABASE_ULR: 'postgres://localhost/x' }),
    error: /RESOURCE_DATABASE_ULR is not a setting$/,
    code: 2,
  },
  'a half-written settings file': {
    command: 'auth keys rotate --now',
    async getSettings() {
      const wholeText = await readFile(env['AUTH_RESOURCE_SERVERS_FILE'] ?? '', 'utf8')
      const halfText = wholeText.slice(0, wholeText.length / 2)
      return { AUTH_RESOURCE_SERVERS_FILE: await writeSettingsFile('half.json', halfText) }
    },
    error: /AUTH_RESOURCE_SERVERS_FILE \S/,
    code: 2,
  },
}

describe('a mistake is refused with an exit code other than 0, and changes nothing:', () => {
  test.for(Object.entries(MISTAKES))('%s', async ([, { command, getSettings, prepare, error, code = 1 }]) => {
    const digestsBefore = await readDigests()
    const makeMistake = async () => {
      await using undoing = new AsyncDisposableStack()
      if (prepare) undoing.defer(await prepare())
      return await runCommand(command, await getSettings?.())
    }
    const result = await makeMistake()
    expect(result).toEqual({ code, errors: expect.stringMatching(error), out: '' })
    expect(await readDigests()).toEqual(digestsBefore)
  })

  test.for([
    ['ahead', 600_000],
    ['behind', -600_000],
  ] as const)('a clock ten minutes %s', async ([direction, wrongByMs]) => {
    const digestsBefore = await readDigests()
    const main = fileURLToPath(new URL('../../apps/auth/src/main.ts', import.meta.url))
    const preload = new URL('../wrong-clock.ts', import.meta.url).href
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
    const child = spawn(process.execPath, [`--import=${preload}`, main, 'keys', 'rotate', '--now'], {
      env: { PATH, NODE_COMPILE_CACHE, ...selectAuthSettings(), WRONG_BY_MS: String(wrongByMs) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `^The clock of this machine is (59|60)\\d s ${direction}.* Correct the clock that is wrong\\. Nothing was changed\\.\n$`,
        ),
      ),
    ])
    expect(await readDigests()).toEqual(digestsBefore)
  })
})

test('the commands of the mistakes succeed with the right settings', async () => {
  for (const command of [
    'auth keys rotate --now',
    'auth keys rewrap',
    'auth stop --all-tokens --reason drill',
    'resource guides publish',
    'resource waitlist list',
  ])
    expect(await runCommand(command)).toMatchObject({ code: 0 })
})

describe('an unusual situation is handled:', () => {
  const STOP = 'auth stop --all-tokens --reason drill'
  /** Registers an instance that does not exist. Its report from the future keeps its lease valid. Disposing removes it. */
  async function registerInstance(host: string, release: string | null) {
    await admin.auth.query(
      `insert into key_followers (instance_id, host, ring_version, followed_at, seen_at, release)
       values ($1, $1, 1, now(), now() + interval '1 hour', $2)`,
      [host, release],
    )
    return {
      [Symbol.asyncDispose]: async () =>
        void (await admin.auth.query('delete from key_followers where host = $1', [host])),
    }
  }
  const issueToken = async () => {
    const authorization = `Basic ${Buffer.from(`${agent.client_id}:${agent.client_secret}`).toString('base64')}`
    const response = await fetch(`${env['AUTH_ORIGIN']}/oauth/token`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    expect(response.status).toBe(200)
  }

  test.for([
    ['of an earlier release', 'old-1:7', null, 'its release is too old to check a test token'],
    ['that does not answer', 'silent-1:7', '0.1.0', 'it is running, but did not report on the test token'],
  ] as const)(
    'a stop revokes all tokens, but is not proven, and names an instance %s',
    async ([, host, release, reason]) => {
      await issueToken()
      {
        await using _instance = await registerInstance(host, release)
        const stopResult = await runCommand(STOP)
        expect(stopResult).toMatchObject({ code: 1, errors: expect.stringContaining('not proven') })
        expect(stopResult.out).toMatch(/^Revoked all tokens: 1 token,/)
        expect(stopResult.out).toContain(`${host}: NOT PROVEN: ${reason}.`)
      }
      expect(await runCommand(STOP)).toMatchObject({ code: 0, out: expect.stringContaining(': proven: ') })
    },
  )

  test('"auth stop --issued-before" is proven, also when it is repeated', async () => {
    const issuedBefore = new Date(Math.floor(Date.now() / 1_000 - 60) * 1_000).toISOString()
    for (let times = 0; times < 2; times += 1)
      expect(await runCommand(`auth stop --issued-before ${issuedBefore} --reason drill`)).toMatchObject({
        code: 0,
        out: expect.stringContaining(': proven: '),
      })
  })

  test('two simultaneous rotations never perform the same step twice', async () => {
    const readVersion = async () =>
      (await admin.auth.query<{ version: string }>('select version from key_ring')).rows[0]?.version
    await admin.auth.query(`delete from signing_keys where state in ('generated', 'published')`)
    const versionBefore = Number(await readVersion())
    const results = await Promise.all([1, 2].map(() => runCommand('auth keys rotate --now --json')))
    const steps = results.filter(({ out }) => out.includes('"done":true'))
    // The second is refused while the first runs, or performs the next step after it.
    for (const { errors } of results.filter((each) => !steps.includes(each)))
      expect(errors).toContain('Another command is changing the signing keys now.')
    expect(steps.length).toBeGreaterThan(0)
    expect(Number(await readVersion())).toBe(versionBefore + steps.length)
  })

  test('of two simultaneous deletions of one agent, one succeeds and the other is refused', async () => {
    const registration = await fetch(`${env['AUTH_ORIGIN']}/api/agent/register`, { method: 'POST' })
    const { client_id: id } = (await registration.json()) as typeof agent
    const results = await Promise.all([1, 2].map(() => runCommand(`auth agents delete ${id}`)))
    expect(results.map(({ code }) => code).toSorted()).toEqual([0, 1])
    expect(results.find(({ code }) => code === 1)?.errors).toMatch(
      /Another command is changing agt_|There is no agent/,
    )
  })

  test('"resource guides publish" succeeds although the schema is newer, as in the Job of a rollback', async () => {
    await using undoing = new AsyncDisposableStack()
    undoing.defer(await recordMigration(() => admin.resource, '9999-of-a-later-release')())
    expect(await runCommand('resource guides publish')).toMatchObject({ code: 0, errors: '' })
  })

  test('"auth migrate" accepts an older schema', async () => {
    const database = resources.use(await openTestDatabase({ folder: MIGRATIONS, name: 'auth' }))
    await using owner = openPool(database.ownerUrl, { max: 1, patience: 5 })
    await owner.query('drop index mails_about')
    await owner.query(`delete from schema_migrations where name = '0018-mails-about'`)
    const urls = { AUTH_DATABASE_URL: database.appUrl, AUTH_MIGRATION_DATABASE_URL: database.ownerUrl }
    expect(await runCommand('auth keys list', urls)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('older'),
    })
    expect(await runCommand('auth migrate', urls)).toMatchObject({
      code: 0,
      out: 'Applied: 0018-mails-about',
    })
    expect(await runCommand('auth keys list', urls)).toMatchObject({ code: 0 })
  })
})
