import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { serve } from '@plainpath/http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent } from '../test/example-agent.ts'
import { createExampleKey } from '../test/example-key.ts'
import { type AuthTestbed, openAuthTestbed } from '../test/open-auth-testbed.ts'
import { runAuth } from '../test/run-auth.ts'
import { loadConfig } from './config.ts'
import { openStores } from './stores.ts'

/*
 * All tests use one database, and run in this order: a test may rely on the agents and keys that an earlier test left behind.
 */

let testbed: AuthTestbed
let env: Record<string, string>
let folder: string
const agentRecord = createExampleAgent({ name: 'Atlas of the terminal' })
const keyedAgent = createExampleAgent({ keys: [createExampleKey('one')] }).agent
const { id } = agentRecord.agent
beforeAll(async () => {
  testbed = await openAuthTestbed()
  env = await testbed.createSettings('https://plainpath.example')
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-auth-cli-'))
  await using openedStores = await openStores(loadConfig(env), { log: silentLog, now: () => new Date() })
  await openedStores.agents.add(agentRecord)
  await openedStores.agents.add({ agent: keyedAgent, secrets: [] })
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await testbed[Symbol.asyncDispose]()
})
const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Runs `auth` with these arguments, under the settings of the test and `overrides`. */
const run = (args: string, overrides: Record<string, string | undefined> = {}) =>
  runAuth(args.split(' ').filter(Boolean), { ...env, ...overrides })
/** Returns the entry of the agent `id` in the output of `agents list --json`. */
const findListedAgent = async () => {
  const { printed } = await run('agents list --json')
  return (JSON.parse(printed) as { client_id: string; status: string }[]).find(
    ({ client_id }) => client_id === id,
  )
}

describe('prints the usage for', () => {
  test.for([
    ['--help', 'serve'],
    ['serve --help', 'SIGTERM'],
    ['migrate --help', 'owner role'],
    ['config --help', 'check'],
    ['config check --help', '--json'],
    ['keys --help', 'init'],
    ['keys init --help', 'first signing key'],
    ['keys list --help', '--json'],
    ['agents --help', 'disable'],
    ['agents list --help', '--limit'],
    ['agents delete --help', '--dry-run'],
    ['agents stats --help', '--json'],
    ['claims list --help', '--json'],
    ['claims show --help', 'registration_id'],
    ['claims revoke --help', 'registration_id'],
    ['resource-servers create --help', '--audience'],
    ['hosts list --help', '--json'],
    ['stop --help', '--all-tokens'],
    ['stops --help', '--verify'],
  ] satisfies [string, string][])('auth %s', async ([args, word]) => {
    const { code, printed, errors } = await run(args)
    expect([code, errors]).toEqual([0, ''])
    expect(printed).toContain('Usage: auth')
    expect(printed).toContain(word)
  })
})

describe('exits with 2 and prints to stderr only, for', () => {
  test.for([
    '',
    'unknown',
    'agents',
    'agents unknown',
    'agents list --unknown',
    'agents list --limit 0',
    'agents list --limit 1001',
    'agents list --limit 1e2',
    'agents list --limit x',
    'agents show',
    'agents show x',
    'agents disable agt_short',
    'agents delete',
    'claims',
    'claims list --limit 0',
    'claims show',
    'claims revoke',
    'claims revoke agt_short',
    'keys',
    'keys list extra',
    'config',
    'serve extra',
    'resource-servers create',
    'stop',
    'stop --all-tokens',
    'stop --reason x',
    'stop --all-tokens --client agt_AAAAAAAAAAAAAAAAAAAAAA --reason x',
    'stop --client x --reason x',
    'stop --issued-before yesterday --reason x',
    'stop --issued-before 2026-11-20T09:00:00.5Z --reason x',
    'stop --issued-before 2026-13-40T09:00:00Z --reason x',
    'stops --head x',
    'resource-servers create rs_x --audience https://a.example',
  ])('auth %s', async (args) => {
    const { code, printed, errors } = await run(args)
    expect([code, printed]).toEqual([2, ''])
    expect(errors).not.toBe('')
    expect(errors).not.toMatch(/\n\s+at /)
  })
})

describe('config', () => {
  test('check reports that the settings are valid, without the database URL', async () => {
    const { code, printed } = await run('config check')
    expect(code).toBe(0)
    expect(printed).toContain('The configuration is valid. Set: AUTH_ORIGIN')
    expect(printed).not.toContain(env['AUTH_DATABASE_URL'])
    // An empty variable counts as absent.
    const { printed: json } = await run('config check --json', { AUTH_MAIL_FROM: '' })
    expect(JSON.parse(json)).toMatchObject({ ok: true, set: expect.not.arrayContaining(['AUTH_MAIL_FROM']) })
  })

  test('check names every missing or invalid setting, without its value', async () => {
    const badSettings = { AUTH_PORT: 'Canary-x', AUTH_ORIGIN: undefined }
    const { code, printed, errors } = await run('config check', badSettings)
    expect([code, printed]).toEqual([2, ''])
    expect(errors).toBe('bad configuration\n  AUTH_ORIGIN is missing\n  AUTH_PORT must be a whole number')
    const jsonResult = await run('config check --json', badSettings)
    expect(jsonResult.code).toBe(2)
    expect(JSON.parse(jsonResult.printed)).toEqual({
      ok: false,
      mistakes: ['AUTH_ORIGIN is missing', 'AUTH_PORT must be a whole number'],
    })
  })

  test('list shows settings as a table and as JSON', async () => {
    expect((await run('config list')).printed).toContain('| `AUTH_ORIGIN` | **required** |')
    const { printed } = await run('config list --json')
    expect(JSON.parse(printed)).toContainEqual({
      name: 'AUTH_PORT',
      description: 'Port of the public listener.',
      default: '8081',
      required: false,
    })
  })
})

describe('agents', () => {
  test('list shows agents, with their names quoted', async () => {
    const { code, printed } = await run('agents list')
    expect(code).toBe(0)
    expect(printed).toMatch(
      new RegExp(`^${id}  active    20.*Z  client_secret_basic  never used +"Atlas of the terminal"$`, 'm'),
    )
    expect(await findListedAgent()).toEqual({
      client_id: id,
      client_name: 'Atlas of the terminal',
      email_verified: false,
      status: 'active',
      scopes: ['guides:read', 'waitlist:write'],
      registered_at: agentRecord.agent.registeredAt.toISOString(),
      last_used_at: null,
      // An agent that never received a token expires seven days after its registration.
      idle_expiry: '2026-11-27T09:00:00.000Z',
      token_endpoint_auth_method: 'client_secret_basic',
    })
  })

  test('show shows an agent', async () => {
    expect((await run(`agents show ${id}`)).printed).toContain(id)
    expect(JSON.parse((await run(`agents show ${id} --json`)).printed)).toMatchObject({ client_id: id })
  })

  test('disable and enable change the status, and show prints the reason until the agent is enabled', async () => {
    const disabled = await run(`agents disable ${id}`)
    expect(disabled).toEqual({
      code: 0,
      printed: `${id} is disabled; all its tokens are revoked.`,
      errors: expect.stringMatching(/^\{.*"event":"client-ended".*\}$/),
    })
    expect(await findListedAgent()).toMatchObject({ status: 'disabled' })
    expect((await run(`agents show ${id}`)).printed).not.toContain('reason:')
    await run(`agents disable ${id} --reason abuse`)
    expect((await run(`agents show ${id}`)).printed).toContain('  reason: abuse')
    expect(JSON.parse((await run(`agents show ${id} --json`)).printed)).toMatchObject({
      status_reason: 'abuse',
    })
    await run(`agents disable ${id}`)
    expect((await run(`agents show ${id}`)).printed).toContain('  reason: abuse')
    expect((await run(`agents enable ${id}`)).code).toBe(0)
    expect((await run(`agents show ${id}`)).printed).not.toContain('abuse')
    expect(await findListedAgent()).toMatchObject({ status: 'active' })
    const secondEnable = await run(`agents enable ${id}`)
    expect(secondEnable).toEqual({ code: 1, printed: '', errors: `There is no disabled agent ${id}.` })
  })

  test('disable, delete and enable change nothing with --dry-run, and print JSON with --json', async () => {
    for (const verb of ['disable', 'delete']) {
      expect(await run(`agents ${verb} ${id} --dry-run`)).toMatchObject({
        code: 0,
        printed: `Would ${verb} ${id}.`,
      })
      const { printed } = await run(`agents ${verb} ${id} --dry-run --json`)
      expect(JSON.parse(printed)).toEqual({ ok: true, done: false, client_id: id, status: 'active' })
    }
    expect(await findListedAgent()).toMatchObject({ status: 'active' })
    expect((await run(`agents enable ${id} --dry-run`)).code).toBe(1)
    const { printed } = await run(`agents disable ${id} --json`)
    expect(JSON.parse(printed)).toEqual({ ok: true, done: true, client_id: id, status: 'disabled' })
    expect((await run(`agents enable ${id} --dry-run`)).printed).toBe(`Would enable ${id}.`)
    expect(await findListedAgent()).toMatchObject({ status: 'disabled' })
    expect(JSON.parse((await run(`agents enable ${id} --json`)).printed)).toMatchObject({ done: true })
    const refusal = await run(`agents enable ${id} --json`)
    expect(refusal).toMatchObject({ code: 1, errors: `There is no disabled agent ${id}.` })
    expect(JSON.parse(refusal.printed)).toEqual({ ok: false, reason: `There is no disabled agent ${id}.` })
  })

  test('stats counts the agents of each kind', async () => {
    const { code, printed } = await run('agents stats --json')
    expect(code).toBe(0)
    expect(JSON.parse(printed)).toMatchObject({
      active: 2,
      disabled: 0,
      deleted: 0,
      expired: 0,
      with_keys: 1,
    })
    expect((await run('agents stats')).printed).toMatch(/^active +2\n +never used +1\n/)
  })

  test('show shows an expired agent', async () => {
    const expiredId = createExampleAgent().agent.id
    await testbed.db.query(
      `insert into expired_agents (id, cause, secret_hashes, hash_key_ids, expired_at) values ($1, 'idle', '{}', '{}', now())`,
      [expiredId],
    )
    expect((await run(`agents show ${expiredId}`)).printed).toMatch(/expired .*no token for 90 days$/)
    expect(JSON.parse((await run(`agents show ${expiredId} --json`)).printed)).toMatchObject({
      client_id: expiredId,
      status: 'expired',
      cause: 'idle',
    })
  })

  test('list and show say how the agent authenticates', async () => {
    expect(await findListedAgent()).toMatchObject({ token_endpoint_auth_method: 'client_secret_basic' })
    expect(JSON.parse((await run(`agents show ${keyedAgent.id} --json`)).printed)).toMatchObject({
      token_endpoint_auth_method: 'private_key_jwt',
    })
    expect((await run('agents list')).printed).toMatch(
      new RegExp(`^${keyedAgent.id}  active .*Z  private_key_jwt +never used +key [\\w-]{43}$`, 'm'),
    )
  })

  test('delete succeeds only once, and erases the name of the agent and the reason why it was disabled', async () => {
    await run(`agents disable ${id} --reason abuse`)
    expect((await run(`agents delete ${id}`)).code).toBe(0)
    expect((await run(`agents show ${id}`)).printed).not.toContain('abuse')
    expect(await findListedAgent()).toMatchObject({ status: 'deleted' })
    expect(await findListedAgent()).not.toHaveProperty('client_name')
    expect(await findListedAgent()).not.toHaveProperty('token_endpoint_auth_method')
    for (const verb of ['delete', 'disable'])
      expect(await run(`agents ${verb} ${id}`)).toMatchObject({
        code: 1,
        errors: `There is no agent ${id}, or it was deleted.`,
      })
  })

  test('show, disable, delete and enable refuse an unknown agent', async () => {
    const unknownId = createExampleAgent().agent.id
    for (const verb of ['show', 'disable', 'delete', 'enable'])
      expect(await run(`agents ${verb} ${unknownId}`)).toMatchObject({ code: 1, printed: '' })
  })
})

describe('keys', () => {
  test('init creates a key only if there is none, and list shows keys without their private part', async () => {
    expect((await run('keys init')).printed).toBe(
      'No key was created: there are already keys. Keys that predate the audit log are now in it.',
    )
    const { printed } = await run('keys list --json')
    expect(JSON.parse(printed)).toMatchObject({
      ring_version: 2,
      keys: [{ algorithm: 'ES256', state: 'signing', since: expect.stringMatching(/Z$/) }],
      next: { step: 'generate' },
      instances: [],
    })
    expect(printed).not.toContain('"d"')
    expect((await run('keys list')).printed).toMatch(/ES256 {2}signing/)
    await testbed.db.query('delete from signing_keys')
    expect((await run('keys list')).printed).toContain(
      'There is no key yet. Create the first one with: auth keys init',
    )
    expect(JSON.parse((await run('keys list --json')).printed)).toMatchObject({ keys: [] })
    expect((await run('keys init')).printed).toMatch(/^Created the first signing key: /)
  })
})

describe('resource-servers create', () => {
  test('prints the entry, and writes the secret to a new file that only its owner can access', async () => {
    const file = path.join(folder, 'secret')
    const create = `resource-servers create rs_new --audience https://a.example/api --secret-file ${file}`
    const { code, printed } = await run(create)
    expect(code).toBe(0)
    const secret = (await readFile(file, 'utf8')).trim()
    expect(JSON.parse(printed)).toMatchObject([{ client_id: 'rs_new', audience: 'https://a.example/api' }])
    // The first four characters, `rss_`, are not secret.
    expect(printed).not.toContain(secret.slice(4))
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await run(create)).toMatchObject({
      code: 1,
      printed: '',
      errors: expect.stringContaining('EEXIST'),
    })
    expect((await readFile(file, 'utf8')).trim()).toBe(secret)
  })

  test.for([
    ['bad', 'https://a.example/api'],
    ['agt_x', 'https://a.example/api'],
    ['rs_x', 'api'],
  ])('refuses the id %s with the audience %s, and writes no secret', async ([name, audience]) => {
    const file = path.join(folder, `never-${name}`)
    const args = `resource-servers create ${name} --audience ${audience} --secret-file ${file}`
    expect(await run(args)).toMatchObject({ code: 1, printed: '' })
    await expect(stat(file)).rejects.toThrow('ENOENT')
  })
})

describe('migrate', () => {
  test('applies every migration to an empty database, and does nothing when the tables are up to date', async () => {
    const ownerSettings = { AUTH_MIGRATION_DATABASE_URL: testbed.database.ownerUrl }
    expect((await run('migrate', ownerSettings)).printed).toBe('Nothing to do: the tables are up to date.')
    // Makes the database empty: drops everything that the migrations created.
    await testbed.runAsOwner(
      'drop table mails, identity_assertions, tokens, claims, claim_attempts, claim_tries, claim_blocks, blocked_domains, blocked_domain_audit, client_assertions, token_stop, token_stop_audit, resource_server_followers, resource_server_secrets, expired_agents, app_clients, oauth_records, sign_ins, agent_secrets, agents, signing_keys, key_ring, key_audit, key_followers, token_store_in_use, schema_migrations cascade',
    )
    await testbed.runAsOwner('drop function notify_agent_changed, notify_key_ring_changed')
    expect(await run('keys list')).toMatchObject({ code: 1, printed: '' })
    const { code, printed } = await run('migrate', ownerSettings)
    expect([code, printed]).toEqual([
      0,
      'Applied: 0001-agents, 0002-signing-keys, 0003-tokens, 0004-key-ring, 0005-claims, 0006-stop-and-credentials, 0007-agent-keys, 0008-mails, 0009-identity-assertions, 0010-clients-life, 0011-one-mail-queue, 0012-deferred-mails, 0013-url-clients, 0014-dpop, 0015-app-connections, 0016-registered-instances, 0017-declinable-attempts, 0018-mails-about',
    ])
    expect((await run('keys list')).code).toBe(0)
  })

  test('requires AUTH_MIGRATION_DATABASE_URL', async () => {
    expect(await run('migrate')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('AUTH_MIGRATION_DATABASE_URL'),
    })
  })
})

const UNAVAILABLE =
  'PostgreSQL or Redis is unavailable (ECONNREFUSED). Nothing was changed. Run the same command again.'

describe('exits with 1 and explains on one line', () => {
  const unreachableUrl = 'postgres://auth:Canary-pw@127.0.0.1:1/auth'
  test.for(['agents list', 'keys list'])('that PostgreSQL is unavailable to %s', async (args) => {
    const { code, printed, errors } = await run(args, { AUTH_DATABASE_URL: unreachableUrl })
    expect([code, printed]).toEqual([1, ''])
    expect(errors.split('\n').at(-1)).toBe(UNAVAILABLE)
    expect(errors).not.toContain('Canary-pw')
  })

  test('that Redis is unavailable to a command that revokes tokens; other commands work without it', async () => {
    const redis = { AUTH_REDIS_URL: 'redis://:Canary-pw@127.0.0.1:1' }
    const { code, errors } = await run(`agents disable ${id}`, redis)
    expect([code, errors.split('\n').at(-1)]).toEqual([1, UNAVAILABLE])
    expect(errors).not.toContain('Canary-pw')
    for (const command of ['agents list', 'claims list', 'keys list', 'stops', 'resource-servers list'])
      expect(await run(command, redis)).toMatchObject({ code: 0, errors: '' })
  })

  test('that the port is taken', async () => {
    await using otherServer = await serve(() => undefined, { port: 0, host: '127.0.0.1', drainSeconds: 1 })
    // The test of `migrate` dropped the key, without which `serve` would not start.
    await run('keys init')
    const ports = { AUTH_OPERATIONS_PORT: String(otherServer.port), AUTH_INTERNAL_PORT: '0', AUTH_PORT: '0' }
    const { code, errors } = await run('serve', ports)
    expect([code, errors]).toEqual([1, `Port ${otherServer.port} is already in use.`])
  })
})
