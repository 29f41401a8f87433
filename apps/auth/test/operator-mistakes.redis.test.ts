import { startRedis, type TestRedis } from '@plainpath/http/testing/start-redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getToken, isActive, type RegisteredAgent, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { runAuth } from './run-auth.ts'
import { ORIGIN, type RunningAuth, startInstance } from './start-auth.ts'

/*
 * Tests commands whose Redis settings or key prefix differ from those of the instances, and commands with correct settings.
 * Tests of other mistakes are in `e2e/in-process/operator-mistakes.test.ts`.
 */

const SHORT_INTERVALS = { AUTH_KEYS_POLL_SECONDS: '0.2', AUTH_KEYS_LEASE_SECONDS: '2' }

const resources = new AsyncDisposableStack()
let redis: TestRedis
let otherRedis: TestRedis
let replica: TestRedis
let testbed: AuthTestbed
let auth: RunningAuth
let agent: RegisteredAgent
let token: string
let env: Record<string, string>
beforeAll(async () => {
  redis = resources.use(await startRedis())
  otherRedis = resources.use(await startRedis())
  replica = resources.use(await startRedis({ replicaof: `127.0.0.1 ${new URL(redis.url).port}` }))
  testbed = resources.use(await openAuthTestbed())
  env = { ...(await testbed.createSettings(ORIGIN)), ...SHORT_INTERVALS, AUTH_REDIS_URL: redis.url }
  auth = resources.use(
    await startInstance(testbed, { env: { ...SHORT_INTERVALS, AUTH_REDIS_URL: redis.url } }),
  )
  agent = await register(auth)
  token = await getToken(auth, agent)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await resources.disposeAsync()
})

const run = (command: string, moreSettings: Record<string, string | undefined> = {}) =>
  runAuth(command.split(' '), { ...env, ...moreSettings })

const OBSERVED_TABLES = [
  'agents',
  'token_stop',
  'token_stop_audit',
  'signing_keys',
  'key_audit',
  'token_store_in_use',
]
/** The database that the instance uses, and the other one that a case names. */
const OBSERVED_DATABASES = [0, 3]
/**
 * Reads the rows of the tables that the commands may change, and the keys of `redis` and `otherRedis`. The replica is not read,
 * because it refuses writes and follows `redis`.
 */
async function readStored(): Promise<unknown> {
  const rows = await Promise.all(
    OBSERVED_TABLES.map(async (table) => (await testbed.db.query(`select * from ${table}`)).rows),
  )
  const keys = await Promise.all(
    [redis, otherRedis].flatMap(({ url }) =>
      OBSERVED_DATABASES.map(async (database) => {
        const client = new Redis(`${url}/${database}`)
        return (await client.keys('auth:*').finally(() => client.disconnect())).toSorted()
      }),
    ),
  )
  return { rows, keys }
}

interface WrongRedisUrl {
  /** Returns the value of AUTH_REDIS_URL. */
  readonly getRedisUrl: () => string | undefined
  readonly errorPattern: RegExp
}

/** Wrong values of AUTH_REDIS_URL, by what they name. */
const WRONG_REDIS_URLS: Record<string, WrongRedisUrl> = {
  'no Redis': {
    getRedisUrl: () => undefined,
    errorPattern:
      /^\S+ stores tokens in Redis at 127\.0\.0\.1:\d+, database 0, but AUTH_REDIS_URL is not set\. Set it to that Redis\. Nothing was changed\.$/,
  },
  'another Redis': {
    getRedisUrl: () => otherRedis.url,
    errorPattern:
      /but AUTH_REDIS_URL names another Redis\. Set it to the Redis that the instance uses\. Nothing was changed\.$/,
  },
  'another database of the same Redis': {
    getRedisUrl: () => `${redis.url}/3`,
    errorPattern:
      /database 0, but AUTH_REDIS_URL names database 3\. Set it to that database\. Nothing was changed\.$/,
  },
  'a replica of the same Redis': {
    getRedisUrl: () => replica.url,
    errorPattern:
      /^AUTH_REDIS_URL names a replica of Redis, which takes no changes\. Set it to the primary\.$/,
  },
}
/** Functions that build a command line, by the name of the command. The agent's id is known only after `beforeAll`. */
const COMMANDS: Record<string, () => string> = {
  stop: () => 'stop --all-tokens --reason drill',
  'stop --client': () => `stop --client ${agent.client_id} --reason drill`,
  'agents disable': () => `agents disable ${agent.client_id}`,
}

describe('commands with wrong settings', () => {
  const cases = Object.entries(WRONG_REDIS_URLS).flatMap(([namedStore, wrongUrl]) =>
    Object.entries(COMMANDS).map(
      ([name, buildCommand]) => [name, namedStore, { ...wrongUrl, buildCommand }] as const,
    ),
  )
  test.for(cases)(
    '%s is refused and changes nothing if AUTH_REDIS_URL names %s',
    async ([, , { getRedisUrl, errorPattern, buildCommand }]) => {
      const storedBefore = await readStored()
      const result = await run(buildCommand(), { AUTH_REDIS_URL: getRedisUrl() })
      expect(result).toEqual({ code: 1, printed: '', errors: expect.stringMatching(errorPattern) })
      expect(await readStored()).toEqual(storedBefore)
      expect(await isActive(auth, token)).toBe(true)
    },
  )

  test('stop is refused and changes nothing while an instance runs with another key prefix', async () => {
    // The prefix is a constant of a release. So this adds a row like that of an instance of another release. The row's `seen_at`
    // is an hour ahead, so that the instance counts as running during the whole test.
    await testbed.runAsOwner(
      `insert into key_followers (instance_id, host, ring_version, followed_at, seen_at, release, origin, token_store)
       select 'moved', 'moved:1', 1, now(), now() + interval '1 hour', release, origin,
              jsonb_set(token_store, '{prefix}', '"moved:"') from key_followers limit 1`,
    )
    const storedBefore = await readStored()
    expect(await run('stop --all-tokens --reason drill')).toMatchObject({
      code: 1,
      printed: '',
      errors: expect.stringMatching(
        /^moved:1 .* under keys that begin with moved:, but this command uses auth:/,
      ),
    })
    expect(await readStored()).toEqual(storedBefore)
    await testbed.runAsOwner(`delete from key_followers where instance_id = 'moved'`)
  })

  test('stop without Redis is refused even after every instance has stopped', async () => {
    await using idleTestbed = await openAuthTestbed()
    const settings = { ...(await idleTestbed.createSettings(ORIGIN)), ...SHORT_INTERVALS }
    {
      await using _stopped = await startInstance(idleTestbed, {
        env: { ...SHORT_INTERVALS, AUTH_REDIS_URL: redis.url },
      })
    }
    expect(await runAuth(['stop', '--all-tokens', '--reason', 'drill'], settings)).toEqual({
      code: 1,
      printed: '',
      errors: expect.stringMatching(
        /^The last instance stores tokens in Redis at .* AUTH_REDIS_URL is not set\./,
      ),
    })
    expect((await idleTestbed.db.query('select from token_stop_audit')).rowCount).toBe(0)
  })
})

describe('commands with correct settings', () => {
  test('stop with the Redis of the instance proves that the instance no longer accepts tokens', async () => {
    const result = await run('stop --all-tokens --reason drill --json')
    expect(result).toMatchObject({ code: 0, errors: expect.not.stringContaining('not proven') })
    expect(JSON.parse(result.printed)).toMatchObject({ ok: true, instances: [{ state: 'proven' }] })
    expect(await isActive(auth, token)).toBe(false)
  })

  test('a command that uses no tokens runs without AUTH_REDIS_URL', async () => {
    expect(await run('keys rotate --now', { AUTH_REDIS_URL: undefined })).toMatchObject({ code: 0 })
  })

  test('stop succeeds after Redis lost its data', async () => {
    token = await getToken(auth, agent)
    await redis.restart()
    // The command is refused until an instance has given the emptied Redis an id, and has reported that id.
    await expect
      .poll(async () => (await run('stop --all-tokens --reason drill')).code, { timeout: 30_000 })
      .toBe(0)
    expect(await isActive(auth, token)).toBe(false)
  })
})
