import { type AgentId, DAY_MS, HOUR_MS } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import { type Authority, dumpTables, NO_TOKENS, openAuthority } from '../../test/open-authority.ts'
import { countAgents, countUnused } from './agent-counts.ts'
import { deleteTombstones, expireAgents, findExpiredAgent } from './agent-expiry.ts'

const START = new Date('2026-11-20T09:00:00Z')
const after = (ms: number, from = START) => new Date(from.getTime() + ms)
const MANY = 1_000_000

let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

const forgetAll = () =>
  authority.db.query('with left_over as (delete from expired_agents) delete from agents')
beforeEach(async () => {
  await authority.db.query('delete from agent_secrets')
  await authority.db.query('delete from claims')
  await forgetAll()
})

const silent = async () => {}
async function added(members: Parameters<typeof exampleAgent>[0] = {}) {
  const record = exampleAgent({ registeredAt: START, ...members })
  await authority.agents.add(record)
  return record
}
const deps = (invalidate: (id: string) => void = () => undefined) => ({
  ...NO_TOKENS,
  db: authority.db,
  events: authority.events,
  agentCache: { invalidate },
})
/** @returns the ids of those that ended */
async function expire(now: Date, neverUsed = MANY): Promise<string[]> {
  const ended: string[] = []
  const count = await expireAgents(
    deps((id) => void ended.push(id)),
    now,
    neverUsed,
  )
  expect(ended).toHaveLength(count)
  return ended
}
const find = (id: AgentId, now: Date) => findExpiredAgent(authority.db, id, now)
const forget = (now: Date, neverUsed: number) => deleteTombstones(authority.db, now, neverUsed)
const alive = async () => {
  const { rows } = await authority.db.query<{ id: AgentId }>('select id from agents order by id')
  return rows.map(({ id }) => id)
}

/** Gives an agent the record of a claim that has ended. */
const claimed = (id: AgentId) =>
  authority.db.query(
    `insert into claims (id, agent_id, end_link_hash, verified_at, expires_at, ended_at, ended_by)
     values ($1, $2, $3, $4, $5, $5, 'expired')`,
    [`clm_${id.slice(4)}`, id, sha256(id), START, after(DAY_MS)],
  )

const tombstones = async () => (await authority.db.query('select id from expired_agents')).rowCount

describe('an agent expires', () => {
  test.for([
    ['that never got a token, after 7 days', 7 * DAY_MS, {}],
    [
      'that got one and then none, 90 days after the day of its last',
      96 * DAY_MS,
      { lastUsedAt: after(5 * DAY_MS) },
    ],
  ] satisfies [string, number, Parameters<typeof exampleAgent>[0]][])(
    '%s, and not a moment before',
    async ([_which, ms, members]) => {
      const { agent } = await added({ name: 'Canary of the idle', ...members })
      expect(await expire(after(ms - 1))).toEqual([])
      expect(await expire(after(ms))).toEqual([agent.id])
      expect(await authority.agents.find(agent.id)).toBeUndefined()
      expect(await authority.agents.markUsed(agent.id, after(ms))).toBe(false)
      expect(await dumpTables(authority.db)).not.toContain('Canary of the idle')
      const { rows } = await authority.db.query('select * from agent_secrets')
      expect(rows).toEqual([])
    },
  )

  test('that is a connection whose sign-in was not finished, after an hour, and leaves nothing', async () => {
    const { agent } = await added()
    await authority.db.query(
      `update agents set app_client_id = 'app_x', app_host = 'Example' where id = $1`,
      [agent.id],
    )
    const finished = await added()
    await authority.db.query(
      `update agents set app_client_id = 'app_x', app_host = 'Example', last_used_at = $2 where id = $1`,
      [finished.agent.id, START],
    )
    await claimed(finished.agent.id)
    const registered = await added()
    expect(await expire(after(HOUR_MS - 1))).toEqual([])
    expect(await expire(after(HOUR_MS))).toEqual([agent.id])
    expect(await tombstones()).toBe(0)
    expect((await alive()).sort()).toEqual([finished.agent.id, registered.agent.id].sort())
  })

  test('that is a connection, once the record of its ended claim is deleted', async () => {
    const { agent } = await added()
    await authority.db.query(
      `update agents set app_client_id = 'app_x', app_host = 'claude.ai', last_used_at = $2 where id = $1`,
      [agent.id, after(DAY_MS)],
    )
    await claimed(agent.id)
    expect(await expire(after(2 * DAY_MS))).toEqual([])
    await authority.db.query('delete from claims where agent_id = $1', [agent.id])
    expect(await expire(after(2 * DAY_MS))).toEqual([agent.id])
    expect(await tombstones()).toBe(0)
  })

  test('not because of connections: they do not count as agents that never got a token', async () => {
    const { agent } = await added()
    for (let n = 0; n < 3; n++) {
      const connection = await added({ registeredAt: after(HOUR_MS) })
      await authority.db.query(
        `update agents set app_client_id = 'app_x', app_host = 'Example' where id = $1`,
        [connection.agent.id],
      )
    }
    expect(await expire(after(HOUR_MS + 1), 1)).toEqual([])
    expect(await alive()).toContain(agent.id)
  })

  test('and is reported as expired to its owner for 90 days', async () => {
    const { agent, secrets } = await added()
    const [mine] = secrets
    const ended = { ...mine!, id: crypto.randomUUID(), digest: Buffer.alloc(32, 9), endsAt: after(DAY_MS) }
    await authority.db.query(
      'insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at) values ($1, $2, $3, $4, $5, $6)',
      [ended.id, agent.id, ended.digest, ended.keyId, ended.createdAt, ended.endsAt],
    )
    const keyed = await added({ keys: [exampleKey('one')] })
    await authority.db.query('delete from agent_secrets where agent_id = $1', [keyed.agent.id])
    const now = after(7 * DAY_MS)
    expect(await expire(now)).toHaveLength(2)
    const left = { cause: 'never-used', expiredAt: now }
    expect(await find(agent.id, now)).toEqual({
      ...left,
      id: agent.id,
      keys: [],
      secrets: [{ digest: mine!.digest, keyId: mine!.keyId }],
    })
    expect(await find(keyed.agent.id, now)).toEqual({
      ...left,
      id: keyed.agent.id,
      secrets: [],
      keys: keyed.agent.keys,
    })
    const over = after(90 * DAY_MS, now)
    expect(await find(agent.id, after(-1, over))).toBeDefined()
    expect(await find(agent.id, over)).toBeUndefined()
    expect(await forget(after(-1, over), MANY)).toBe(0)
    expect(await forget(over, MANY)).toBe(2)
  })

  test('unless it is disabled; enabling it counts as use', async () => {
    const { agent } = await added()
    await authority.agents.deactivate(agent.id, 'disabled', silent)
    expect(await expire(after(1_000 * DAY_MS))).toEqual([])
    await authority.agents.enable(agent.id, after(1_000 * DAY_MS))
    expect(await expire(after(1_001 * DAY_MS))).toEqual([])
    expect(await expire(after(1_091 * DAY_MS))).toHaveLength(1)
  })

  test('does not happen when the notification of other instances fails', async () => {
    const { agent } = await added()
    const tokens = { revokeTokensOf: () => Promise.reject(new Error('no Redis')) }
    const unheard = expireAgents({ ...deps(), tokens }, after(7 * DAY_MS), MANY)
    await expect(unheard).rejects.toThrow('no Redis')
    expect(await alive()).toEqual([agent.id])
    expect(await find(agent.id, START)).toBeUndefined()
  })

  test('or gets a token in the same moment: one of the two, never both', async () => {
    const records = await Promise.all(Array.from({ length: 40 }, () => added()))
    const now = after(7 * DAY_MS)
    const [marked] = await Promise.all([
      Promise.all(
        records.map(({ agent }) => authority.agents.markUsed(agent.id, now).catch(() => undefined)),
      ),
      expire(now),
      expire(now),
    ])
    const left = new Set(await alive())
    expect(marked).toHaveLength(left.size + (await tombstones()))
    for (const [index, { agent }] of records.entries())
      if (marked[index] !== undefined) expect(left.has(agent.id)).toBe(marked[index])
  })
})

test('deletes the oldest tombstones when there are too many', async () => {
  for (const hours of [0, 1, 2]) await added({ registeredAt: after(hours * HOUR_MS) })
  for (const hours of [0, 1, 2]) expect(await expire(after(7 * DAY_MS + hours * HOUR_MS))).toHaveLength(1)
  const now = after(8 * DAY_MS)
  expect(await forget(now, 3)).toBe(0)
  expect(await forget(now, 2)).toBe(1)
  const { rows } = await authority.db.query<{ expired_at: Date }>(
    'select expired_at from expired_agents order by expired_at',
  )
  expect(rows.map(({ expired_at }) => expired_at)).toEqual([1, 2].map((n) => after(7 * DAY_MS + n * HOUR_MS)))
})

test('expires many agents in batches, also from several processes at once', async () => {
  await authority.db.query(
    `insert into agents (id, scopes, status, registered_at, last_used_at)
     select 'agt_' || lpad(number::text, 22, '0'), '{guides:read}', 'active', $1, null from generate_series(1, 450) number`,
    [START],
  )
  const now = after(7 * DAY_MS)
  const [one, other] = await Promise.all([expire(now), expire(now)])
  expect(Math.max(one.length, other.length)).toBeLessThanOrEqual(200)
  expect(new Set([...one, ...other]).size).toBe(one.length + other.length)
  while ((await expire(now)).length > 0);
  expect(await alive()).toEqual([])
})

/** An agent in the model: when it registered and was used, in milliseconds after the start. */
interface Modelled {
  readonly id: AgentId
  readonly registered: number
  used: number | undefined
}

/** The agents that must remain after the others have expired. */
function survivors(agents: readonly Modelled[], now: number, bound: number): Modelled[] {
  const young = agents.filter(({ registered, used }) =>
    used === undefined ? now - registered < 7 * DAY_MS : now - used < 91 * DAY_MS,
  )
  const neverUsed = young.filter(({ used }) => used === undefined)
  const tooMany = neverUsed.slice(0, Math.max(0, neverUsed.length - bound))
  const gone = new Set(tooMany.filter(({ registered }) => now - registered >= HOUR_MS))
  return young.filter((agent) => !gone.has(agent))
}

const Step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('register' as const), count: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('use' as const), which: fc.nat(20) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(10 * 60_000, HOUR_MS, DAY_MS, 3 * DAY_MS, 30 * DAY_MS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('expire' as const), times: fc.integer({ min: 1, max: 3 }) }),
  },
)

test('a flood expires the oldest unused agents, but none younger than an hour and none with a token, while others register', async () => {
  const bound = 3
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { minLength: 4, maxLength: 25 }), async (steps) => {
      await authority.db.query('delete from agent_secrets')
      await forgetAll()
      let model: Modelled[] = []
      let now = 0
      for (const step of steps) {
        now += 1
        if (step.do === 'wait') now += step.ms
        else if (step.do === 'register')
          for (let each = 0; each < step.count; each += 1) {
            now += 1
            const { agent } = await added({ registeredAt: after(now) })
            model.push({ id: agent.id, registered: now, used: undefined })
          }
        else if (step.do === 'use') {
          const agent = model[step.which % Math.max(1, model.length)]
          if (!agent) continue
          expect(await authority.agents.markUsed(agent.id, after(now))).toBe(true)
          agent.used = now
        } else {
          const at = after(now)
          await Promise.all(Array.from({ length: step.times }, () => expire(at, bound)))
          while ((await expire(at, bound)).length > 0);
          model = survivors(model, now, bound)
          expect(await alive()).toEqual(model.map(({ id }) => id).sort())
          const never = model.filter(({ used }) => used === undefined)
          expect((await countUnused(authority.db, at)).neverUsed).toBe(never.length)
          expect(never.filter(({ registered }) => now - registered >= HOUR_MS).length).toBeLessThanOrEqual(
            bound,
          )
        }
      }
    }),
    { numRuns: 60, interruptAfterTimeLimit: 60_000 },
  )
}, 120_000)

test('counts agents of each kind', async () => {
  await added()
  await added({ lastUsedAt: START })
  const disabled = await added()
  await authority.agents.deactivate(disabled.agent.id, 'disabled', silent)
  const deleted = await added()
  await authority.agents.deactivate(deleted.agent.id, 'deleted', silent)
  await expire(after(7 * DAY_MS))
  await added({ registeredAt: after(7 * DAY_MS) })
  expect(await countAgents(authority.db, after(30 * DAY_MS))).toEqual({
    ...{
      active: 2,
      neverUsed: 1,
      idle: 1,
      disabled: 1,
      deleted: 1,
      expired: 1,
      withKeys: 0,
      withDomain: 0,
      confirmed: 0,
    },
  })
  expect(await countUnused(authority.db, after(30 * DAY_MS))).toEqual({ neverUsed: 1, idle: 1 })
})
