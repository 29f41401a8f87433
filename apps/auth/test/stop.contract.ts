import { API_VERSION } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getToken, isActive, type RegisteredAgent, register, requestToken } from './agent-client.ts'
import { createExampleAgent } from './example-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { type CommandResult, runAuth } from './run-auth.ts'
import { ORIGIN, type RunningAuth, startInstance } from './start-auth.ts'

/** Two instances in the same testbed, and commands on its stores. */
export interface StopSystem {
  readonly testbed: AuthTestbed
  readonly instances: readonly [RunningAuth, RunningAuth]
  /** Runs the command `auth`. A `+` in the arguments stands for a space. */
  run(args: string, moreSettings?: Record<string, string>): Promise<CommandResult>
}

/**
 * Starts two instances in a new testbed.
 *
 * @param env the settings that say where tokens are stored
 */
export async function startStopSystem(env: Record<string, string>): Promise<StopSystem & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const testbed = opening.use(await openAuthTestbed())
  const start = async () => opening.use(await startInstance(testbed, { env }))
  const instances = [await start(), await start()] as const
  const settings = { ...(await testbed.createSettings(ORIGIN)), ...env }
  const resources = opening.move()
  return {
    testbed,
    instances,
    run: (args, moreSettings = {}) =>
      runAuth(
        args.split(' ').map((word) => word.replaceAll('+', ' ')),
        { ...settings, ...moreSettings },
      ),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Defines the tests of the command `auth stop`, for tokens that are stored in `tokenStoreName`. */
export function describeStopCommand(
  tokenStoreName: 'PostgreSQL' | 'Redis',
  start: () => Promise<StopSystem & AsyncDisposable>,
) {
  describe(`auth stop, tokens in ${tokenStoreName},`, () => {
    let system: StopSystem & AsyncDisposable
    beforeAll(async () => {
      system = await start()
    })
    afterAll(() => system[Symbol.asyncDispose]())

    /** Creates an agent that both instances have cached, with a token from each instance. */
    async function createKnownAgent(): Promise<{ agent: RegisteredAgent; tokens: string[] }> {
      const agent = await register(system.instances[0])
      return { agent, tokens: await Promise.all(system.instances.map((each) => getToken(each, agent))) }
    }
    const isAnyActive = async (tokens: readonly string[]) =>
      (
        await Promise.all(system.instances.flatMap((each) => tokens.map((token) => isActive(each, token))))
      ).some(Boolean)

    test('--all-tokens revokes all tokens at both instances, reports that, and lets clients get new ones', async () => {
      const [first, second] = [await createKnownAgent(), await createKnownAgent()]
      const tokens = [...first.tokens, ...second.tokens]
      const dryRun = await system.run('stop --all-tokens --reason a+drill --dry-run')
      expect(dryRun).toMatchObject({
        code: 0,
        printed: expect.stringMatching(/^Would revoke all tokens: 4 tokens/),
      })
      expect(await isAnyActive(tokens)).toBe(true)
      const stopResult = await system.run('stop --all-tokens --reason a+drill --json')
      expect(await isAnyActive(tokens)).toBe(false)
      expect(stopResult.code).toBe(0)
      expect(JSON.parse(stopResult.printed)).toEqual({
        ok: true,
        done: true,
        scope: 'all-tokens',
        tokens_ended: 4,
        counted_all: true,
        took_ms: expect.any(Number),
        confirmed: { store: tokenStoreName, epoch: expect.any(Number), issued_before: null },
        audit_head: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        instances: Array.from({ length: 2 }, () => ({
          host: expect.any(String),
          release: API_VERSION,
          state: 'proven',
        })),
      })
      for (const each of system.instances) {
        const token = await getToken(each, first.agent)
        expect(await Promise.all(system.instances.map((instance) => isActive(instance, token)))).toEqual([
          true,
          true,
        ])
      }
    })

    test('--client revokes the tokens of one agent only, which can then get new ones', async () => {
      const [target, other] = [await createKnownAgent(), await createKnownAgent()]
      const id = target.agent.client_id
      const stopResult = await system.run(`stop --client ${id} --reason its+log+leaked`)
      expect(await isAnyActive(target.tokens)).toBe(false)
      expect(await isAnyActive(other.tokens)).toBe(true)
      expect(stopResult.code).toBe(0)
      expect(stopResult.printed).toMatch(
        new RegExp(`^Revoked the tokens of ${id}: 2 tokens, after \\d+ ms\\.`),
      )
      expect(stopResult.printed).toContain(`agents disable ${id}`)
      await expect
        .poll(async () => isActive(system.instances[1], await getToken(system.instances[0], target.agent)), {
          timeout: 10_000,
        })
        .toBe(true)
    })

    test('--client of the connection of an app says that the person must sign in again, and agents enable refuses it', async () => {
      const id = (await createKnownAgent()).agent.client_id
      await system.testbed.runAsOwner(
        `update agents set app_client_id = 'https://claude.ai/x', app_host = 'claude.ai' where id = '${id}'`,
      )
      const stopResult = await system.run(`stop --client ${id} --reason its+log+leaked`)
      expect(stopResult).toMatchObject({
        code: 0,
        printed: expect.stringMatching(/gets no more tokens: the person must sign in with the app again/),
      })
      expect(stopResult.printed).not.toContain('can get new tokens')
      expect((await system.run(`agents disable ${id}`)).code).toBe(0)
      expect(await system.run(`agents enable ${id}`)).toMatchObject({
        code: 1,
        errors: expect.stringContaining('cannot be enabled again'),
      })
    })

    test('--issued-before revokes older tokens, and rejects a time in the future', async () => {
      const { agent, tokens } = await createKnownAgent()
      const soon = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000).toISOString()
      const refusal = await system.run(`stop --issued-before ${soon} --reason a+drill --json`)
      expect(refusal.code).toBe(1)
      expect(JSON.parse(refusal.printed)).toMatchObject({
        ok: false,
        reason: expect.stringContaining('future'),
      })
      expect(await isAnyActive(tokens)).toBe(true)
      // Until this second begins, the command refuses it as a time in the future. All tokens so far are older.
      const nextSecond = new Date((Math.floor(Date.now() / 1000) + 1) * 1000).toISOString()
      await expect
        .poll(async () => (await system.run(`stop --issued-before ${nextSecond} --reason a+drill`)).code, {
          interval: 50,
          timeout: 10_000,
        })
        .toBe(0)
      expect(await isAnyActive(tokens)).toBe(false)
      const token = await getToken(system.instances[0], agent)
      expect(await isActive(system.instances[1], token)).toBe(true)
    })

    test('revokes tokens that were issued before it, and when it is repeated, those that were issued meanwhile', async () => {
      const { agent } = await createKnownAgent()
      const earlierToken = await getToken(system.instances[1], agent)
      const requests = Array.from({ length: 30 }, (_, n) =>
        requestToken(system.instances[n % 2] ?? system.instances[0], agent),
      )
      const [stopResult] = await Promise.all([system.run('stop --all-tokens --reason a+drill'), ...requests])
      expect(stopResult).toMatchObject({ code: 0 })
      expect(await isAnyActive([earlierToken])).toBe(false)
      const successes = (await Promise.all(requests)).filter(({ status }) => status === 200)
      const tokens = successes.map(({ text }) => (JSON.parse(text) as { access_token: string }).access_token)
      expect(tokens.length).toBeGreaterThan(0)
      expect((await system.run('stop --all-tokens --reason again')).code).toBe(0)
      expect(await isAnyActive(tokens)).toBe(false)
    })

    test.for([
      ['an unknown agent', (): string => `--client ${createExampleAgent().agent.id}`],
      ['a time in the future', (): string => '--issued-before 2999-01-01T00:00:00Z'],
    ] as const)('refuses %s with exit code 1, and revokes and records nothing', async ([, createOptions]) => {
      const { tokens } = await createKnownAgent()
      const { printed: auditBefore } = await system.run('stops --json')
      expect((await system.run(`stop ${createOptions()} --reason a+drill`)).code).toBe(1)
      expect((await system.run('stops --json')).printed).toBe(auditBefore)
      expect(await isAnyActive(tokens)).toBe(true)
    })

    test('records each stop in an audit log in which --verify detects removed and changed rows', async () => {
      const entriesBefore = JSON.parse((await system.run('stops --json')).printed) as unknown[]
      await system.run('stop --all-tokens --reason first')
      const { head } = JSON.parse((await system.run('stops --verify --json')).printed) as { head: string }
      await system.run('stop --all-tokens --reason second')
      const entries = JSON.parse((await system.run('stops --json')).printed) as { reason: string }[]
      expect(entries.slice(entriesBefore.length).map(({ reason }) => reason)).toEqual(['first', 'second'])
      expect((await system.run('stops')).printed).toMatch(/Z {2}all-tokens {2}by \S+ on \S+ {2}\(second\)$/)
      expect((await system.run(`stops --verify --head ${head}`)).code).toBe(0)
      await expect(
        system.testbed.db.query(`update token_stop_audit set entry = '{}' where number = 1`),
      ).rejects.toThrow('permission denied')
      await system.testbed.runAsOwner(`delete from token_stop_audit where number > ${entriesBefore.length}`)
      expect(await system.run(`stops --verify --head ${head}`)).toMatchObject({
        code: 1,
        errors: expect.stringContaining('the newest rows were removed'),
      })
      await system.testbed.runAsOwner(`update token_stop_audit set entry = replace(entry, 'drill', 'grill')`)
      expect((await system.run('stops --verify')).code).toBe(1)
    })

    test('says that the revocation is stored, with its audit head, if a store fails before the instances have proven it', async () => {
      const { tokens } = await createKnownAgent()
      // Stands for a store that fails after the commit: the command can no longer read the reports of the instances.
      await system.testbed.runAsOwner(
        `create function hide_reports() returns trigger language plpgsql security definer as
           $$ begin alter table key_followers rename to hidden_followers; return null; end $$`,
      )
      await system.testbed.runAsOwner(
        'create trigger hide_reports after insert on token_stop_audit execute function hide_reports()',
      )
      const stopResult = await system.run('stop --all-tokens --reason a+drill --json')
      await system.testbed.runAsOwner('drop function hide_reports cascade')
      await system.testbed.runAsOwner('alter table hidden_followers rename to key_followers')
      expect(stopResult.code).toBe(1)
      expect(JSON.parse(stopResult.printed)).toEqual({
        ok: false,
        progress: 'written',
        reason: expect.stringContaining('PostgreSQL has stored the revocation, but'),
        audit_head: expect.stringMatching(/^[\w-]{43}$/),
      })
      expect(stopResult.errors).toMatch(/Audit head: [\w-]{43}$/m)
      expect(await isAnyActive(tokens)).toBe(false)
    })

    test('revokes nothing without PostgreSQL, and says so', async () => {
      const { tokens } = await createKnownAgent()
      const unreachable = { AUTH_DATABASE_URL: 'postgres://auth:Canary-pw@127.0.0.1:1/auth' }
      const stopResult = await system.run('stop --all-tokens --reason a+drill', unreachable)
      expect([stopResult.code, stopResult.printed]).toEqual([1, ''])
      expect(stopResult.errors).toMatch(/Nothing was changed.*Run the same command again\.$/)
      expect(stopResult.errors).not.toContain('Canary-pw')
      expect(await isAnyActive(tokens)).toBe(true)
      expect((await system.run('stop --all-tokens --reason again')).code).toBe(0)
      expect(await isAnyActive(tokens)).toBe(false)
    })
  })
}
