import { API_VERSION } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getToken, isActive, type Registered, register, requestToken } from './agent-client.ts'
import { exampleAgent } from './example-agent.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { type CommandResult, runAuth } from './run-auth.ts'
import { ORIGIN, type RunningAuth, startInstance } from './start-auth.ts'

export interface Stopper {
  readonly stores: AuthStores
  readonly instances: readonly [RunningAuth, RunningAuth]
  /** Runs `auth` with these words, where `+` stands for a blank. */
  auth(args: string, more?: Record<string, string>): Promise<CommandResult>
}

/** Two instances, and the command line on the same stores. @param env where tokens are */
export async function openStopper(env: Record<string, string>): Promise<Stopper & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const stores = opening.use(await openAuthStores())
  const start = async () =>
    opening.use(await startInstance(stores, { env, ...(env['AUTH_REDIS_URL'] && { redisTimeoutMs: 3_000 }) }))
  const instances = [await start(), await start()] as const
  const settings = { ...(await stores.settingsFor(ORIGIN)), ...env }
  const resources = opening.move()
  return {
    stores,
    instances,
    auth: (args, more = {}) =>
      runAuth(
        args.split(' ').map((word) => word.replaceAll('+', ' ')),
        { ...settings, ...more },
      ),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** `auth stop` over real HTTP, wherever tokens are. */
export function describeStopCommand(
  place: 'PostgreSQL' | 'Redis',
  open: () => Promise<Stopper & AsyncDisposable>,
) {
  describe(`auth stop, tokens in ${place},`, () => {
    let system: Stopper & AsyncDisposable
    beforeAll(async () => {
      system = await open()
    })
    afterAll(() => system[Symbol.asyncDispose]())

    /** An agent that both instances hold in memory, and a token that each issued. */
    async function knownToBoth(): Promise<{ agent: Registered; tokens: string[] }> {
      const agent = await register(system.instances[0])
      return { agent, tokens: await Promise.all(system.instances.map((each) => getToken(each, agent))) }
    }
    const activeAnywhere = async (tokens: readonly string[]) =>
      (
        await Promise.all(system.instances.flatMap((each) => tokens.map((token) => isActive(each, token))))
      ).some(Boolean)

    test('--all-tokens revokes them at every instance, says what it did, and lets clients get new ones', async () => {
      const [one, two] = [await knownToBoth(), await knownToBoth()]
      const tokens = [...one.tokens, ...two.tokens]
      const tried = await system.auth('stop --all-tokens --reason a+drill --dry-run')
      expect(tried).toMatchObject({
        code: 0,
        printed: expect.stringMatching(/^Would revoke all tokens: 4 tokens/),
      })
      expect(await activeAnywhere(tokens)).toBe(true)
      const done = await system.auth('stop --all-tokens --reason a+drill --json')
      expect(await activeAnywhere(tokens)).toBe(false)
      expect(done.code).toBe(0)
      expect(JSON.parse(done.printed)).toEqual({
        ok: true,
        done: true,
        scope: 'all-tokens',
        tokens_ended: 4,
        counted_all: true,
        took_ms: expect.any(Number),
        confirmed: { store: place, epoch: expect.any(Number), issued_before: null },
        audit_head: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        instances: Array.from({ length: 2 }, () => ({
          host: expect.any(String),
          release: API_VERSION,
          state: 'proven',
        })),
      })
      for (const each of system.instances) {
        const token = await getToken(each, one.agent)
        expect(await Promise.all(system.instances.map((at) => isActive(at, token)))).toEqual([true, true])
      }
    })

    test('--client revokes the tokens of one agent alone, which may get new ones', async () => {
      const [stopped, other] = [await knownToBoth(), await knownToBoth()]
      const id = stopped.agent.client_id
      const done = await system.auth(`stop --client ${id} --reason its+log+leaked`)
      expect(await activeAnywhere(stopped.tokens)).toBe(false)
      expect(await activeAnywhere(other.tokens)).toBe(true)
      expect(done.code).toBe(0)
      expect(done.printed).toMatch(new RegExp(`^Revoked the tokens of ${id}: 2 tokens, after \\d+ ms\\.`))
      expect(done.printed).toContain(`agents disable ${id}`)
      await expect
        .poll(async () => isActive(system.instances[1], await getToken(system.instances[0], stopped.agent)), {
          timeout: 10_000,
        })
        .toBe(true)
    })

    test('--issued-before revokes older tokens, and rejects a time in the future', async () => {
      const { agent, tokens } = await knownToBoth()
      const soon = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000).toISOString()
      const refused = await system.auth(`stop --issued-before ${soon} --reason a+drill --json`)
      expect(refused.code).toBe(1)
      expect(JSON.parse(refused.printed)).toMatchObject({
        ok: false,
        reason: expect.stringContaining('future'),
      })
      expect(await activeAnywhere(tokens)).toBe(true)
      // The next second of the database's clock: from then on what there is was issued before.
      const next = new Date((Math.floor(Date.now() / 1000) + 1) * 1000).toISOString()
      await expect
        .poll(async () => (await system.auth(`stop --issued-before ${next} --reason a+drill`)).code, {
          interval: 50,
          timeout: 10_000,
        })
        .toBe(0)
      expect(await activeAnywhere(tokens)).toBe(false)
      const token = await getToken(system.instances[0], agent)
      expect(await isActive(system.instances[1], token)).toBe(true)
    })

    test('tokens issued during a stop are revoked by the next one, and those from before by both', async () => {
      const { agent } = await knownToBoth()
      const early = await getToken(system.instances[1], agent)
      const issuing = Array.from({ length: 30 }, (_, n) =>
        requestToken(system.instances[n % 2] ?? system.instances[0], agent),
      )
      const [stopped] = await Promise.all([system.auth('stop --all-tokens --reason a+drill'), ...issuing])
      expect(stopped).toMatchObject({ code: 0 })
      expect(await activeAnywhere([early])).toBe(false)
      const successes = (await Promise.all(issuing)).filter(({ status }) => status === 200)
      const tokens = successes.map(({ text }) => (JSON.parse(text) as { access_token: string }).access_token)
      expect(tokens.length).toBeGreaterThan(0)
      expect((await system.auth('stop --all-tokens --reason again')).code).toBe(0)
      expect(await activeAnywhere(tokens)).toBe(false)
    })

    test.for([
      ['an agent that never was', (): string => `--client ${exampleAgent().agent.id}`],
      ['a time to come', (): string => '--issued-before 2999-01-01T00:00:00Z'],
    ] as const)('%s is refused, exit code 1, and nothing ends or is written', async ([, which]) => {
      const { tokens } = await knownToBoth()
      const { printed } = await system.auth('stops --json')
      expect((await system.auth(`stop ${which()} --reason a+drill`)).code).toBe(1)
      expect((await system.auth('stops --json')).printed).toBe(printed)
      expect(await activeAnywhere(tokens)).toBe(true)
    })

    test('records every stop in an audit that detects changes', async () => {
      const before = JSON.parse((await system.auth('stops --json')).printed) as unknown[]
      await system.auth('stop --all-tokens --reason first')
      const { head } = JSON.parse((await system.auth('stops --verify --json')).printed) as { head: string }
      await system.auth('stop --all-tokens --reason second')
      const entries = JSON.parse((await system.auth('stops --json')).printed) as { reason: string }[]
      expect(entries.slice(before.length).map(({ reason }) => reason)).toEqual(['first', 'second'])
      expect((await system.auth('stops')).printed).toMatch(/Z {2}all-tokens {2}by \S+ on \S+ {2}\(second\)$/)
      expect((await system.auth(`stops --verify --head ${head}`)).code).toBe(0)
      await expect(
        system.stores.db.query(`update token_stop_audit set entry = '{}' where number = 1`),
      ).rejects.toThrow('permission denied')
      await system.stores.asOwner(`delete from token_stop_audit where number > ${before.length}`)
      expect(await system.auth(`stops --verify --head ${head}`)).toMatchObject({
        code: 1,
        errors: expect.stringContaining('cut off'),
      })
      await system.stores.asOwner(`update token_stop_audit set entry = replace(entry, 'drill', 'grill')`)
      expect((await system.auth('stops --verify')).code).toBe(1)
    })

    test('without PostgreSQL revokes nothing, and says so', async () => {
      const { tokens } = await knownToBoth()
      const nowhere = { AUTH_DATABASE_URL: 'postgres://auth:Canary-pw@127.0.0.1:1/auth' }
      const failed = await system.auth('stop --all-tokens --reason a+drill', nowhere)
      expect([failed.code, failed.printed]).toEqual([1, ''])
      expect(failed.errors).toMatch(/Nothing was stored.*Run the same command again\.$/)
      expect(failed.errors).not.toContain('Canary-pw')
      expect(await activeAnywhere(tokens)).toBe(true)
      expect((await system.auth('stop --all-tokens --reason again')).code).toBe(0)
      expect(await activeAnywhere(tokens)).toBe(false)
    })
  })
}
