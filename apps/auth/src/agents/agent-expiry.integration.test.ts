import { type AgentId, DAY_MS, HOUR_MS } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { createAttempt, createLinkMail } from '../../test/example-claim.ts'
import { createExampleKey } from '../../test/example-key.ts'
import { dumpTables, NO_OP_TOKEN_DEPS, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from '../verifications/postgres-verification-attempt-store.ts'
import { countAgents, countUnusedAgents } from './agent-counts.ts'
import { deleteTombstones, expireAgents, findExpiredAgent } from './agent-expiry.ts'

const START = new Date('2026-11-20T09:00:00Z')
const timeAfter = (ms: number, from = START) => new Date(from.getTime() + ms)
/** A limit that no test reaches. */
const NO_LIMIT = 1_000_000

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

const deleteAllAgents = () =>
  stores.db.query('with deleted_tombstones as (delete from expired_agents) delete from agents')
beforeEach(async () => {
  await stores.db.query('delete from agent_secrets')
  await stores.db.query('delete from claims')
  await deleteAllAgents()
})

const doNothing = async () => {}
async function addAgent(members: Parameters<typeof createExampleAgent>[0] = {}) {
  const record = createExampleAgent({ registeredAt: START, ...members })
  await stores.agents.add(record)
  return record
}
const createDeps = (invalidate: (id: string) => void = () => undefined) => ({
  ...NO_OP_TOKEN_DEPS,
  db: stores.db,
  events: stores.events,
  agentCache: { invalidate },
})
/**
 * Expires a batch of agents. `expireAgents` returns only their number, but invalidates the cache entry of each, so their ids are
 * collected there.
 *
 * @returns the ids of the expired agents
 */
async function expireBatch(now: Date, maxNeverUsed = NO_LIMIT): Promise<string[]> {
  const expiredIds: string[] = []
  const count = await expireAgents(
    createDeps((id) => void expiredIds.push(id)),
    now,
    maxNeverUsed,
  )
  expect(expiredIds).toHaveLength(count)
  return expiredIds
}
const findTombstone = (id: AgentId, now: Date) => findExpiredAgent(stores.db, id, now)
const deleteOldTombstones = (now: Date, maxCount: number) => deleteTombstones(stores.db, now, maxCount)
const listAgentIds = async () => {
  const { rows } = await stores.db.query<{ id: AgentId }>('select id from agents order by id')
  return rows.map(({ id }) => id)
}

/** Gives an agent an e-mail verification that has ended. */
const addEndedVerification = (id: AgentId) =>
  stores.db.query(
    `insert into claims (id, agent_id, end_link_hash, verified_at, expires_at, ended_at, ended_by)
     values ($1, $2, $3, $4, $5, $5, 'expired')`,
    [`clm_${id.slice(4)}`, id, sha256(id), START, timeAfter(DAY_MS)],
  )

const countTombstones = async () => (await stores.db.query('select id from expired_agents')).rowCount

describe('expireAgents', () => {
  test.for([
    ['an agent that never received a token, after 7 days', 7 * DAY_MS, {}],
    [
      'an agent that received a token, 91 days after its recorded last use',
      96 * DAY_MS,
      { lastUsedAt: timeAfter(5 * DAY_MS) },
    ],
  ] satisfies [string, number, Parameters<typeof createExampleAgent>[0]][])(
    'expires %s, and not a millisecond before',
    async ([_case, ms, members]) => {
      const { agent } = await addAgent({ name: 'Canary agent name', ...members })
      expect(await expireBatch(timeAfter(ms - 1))).toEqual([])
      expect(await expireBatch(timeAfter(ms))).toEqual([agent.id])
      expect(await stores.agents.find(agent.id)).toBeUndefined()
      expect(await stores.agents.markUsed(agent.id, timeAfter(ms))).toBe(false)
      expect(await dumpTables(stores.db)).not.toContain('Canary agent name')
      const { rows } = await stores.db.query('select * from agent_secrets')
      expect(rows).toEqual([])
    },
  )

  test('expires a connection whose sign-in was not finished, after an hour, without a tombstone', async () => {
    const unfinished = await addAgent()
    await stores.db.query(`update agents set app_client_id = 'app_x', app_host = 'Example' where id = $1`, [
      unfinished.agent.id,
    ])
    const finished = await addAgent()
    await stores.db.query(
      `update agents set app_client_id = 'app_x', app_host = 'Example', last_used_at = $2 where id = $1`,
      [finished.agent.id, START],
    )
    await addEndedVerification(finished.agent.id)
    const neverUsed = await addAgent()
    expect(await expireBatch(timeAfter(HOUR_MS - 1))).toEqual([])
    expect(await expireBatch(timeAfter(HOUR_MS))).toEqual([unfinished.agent.id])
    expect(await countTombstones()).toBe(0)
    expect((await listAgentIds()).sort()).toEqual([finished.agent.id, neverUsed.agent.id].sort())
  })

  test('expires a connection once its ended verification is deleted, without a tombstone', async () => {
    const { agent } = await addAgent()
    await stores.db.query(
      `update agents set app_client_id = 'app_x', app_host = 'claude.ai', last_used_at = $2 where id = $1`,
      [agent.id, timeAfter(DAY_MS)],
    )
    await addEndedVerification(agent.id)
    expect(await expireBatch(timeAfter(2 * DAY_MS))).toEqual([])
    await stores.db.query('delete from claims where agent_id = $1', [agent.id])
    expect(await expireBatch(timeAfter(2 * DAY_MS))).toEqual([agent.id])
    expect(await countTombstones()).toBe(0)
  })

  test('does not count connections as agents that never received a token', async () => {
    const { agent } = await addAgent()
    for (let index = 0; index < 3; index++) {
      const connection = await addAgent({ registeredAt: timeAfter(HOUR_MS) })
      await stores.db.query(`update agents set app_client_id = 'app_x', app_host = 'Example' where id = $1`, [
        connection.agent.id,
      ])
    }
    expect(await expireBatch(timeAfter(HOUR_MS + 1), 1)).toEqual([])
    expect(await listAgentIds()).toContain(agent.id)
    expect((await countAgents(stores.db, timeAfter(HOUR_MS + 1))).neverUsed).toBe(1)
  })

  test('leaves an attempt of the agent so that the person can still decline it', async () => {
    const { db, sealer, events } = stores
    const addMail = async () => undefined
    const attempts = createVerificationAttemptStore({
      db,
      sealer,
      hashKey: createExampleHashKey(),
      addMail,
      events,
    })
    const { agent } = await addAgent()
    const createdAt = timeAfter(7 * DAY_MS - HOUR_MS)
    const attempt = createAttempt(agent.id, { createdAt })
    expect(await attempts.begin(attempt, createLinkMail(attempt))).toBe(true)
    const expiredAt = timeAfter(7 * DAY_MS)
    expect(await expireBatch(expiredAt)).toEqual([agent.id])
    const found = await attempts.findByLink(attempt.linkHash, expiredAt)
    expect(found).toMatchObject({ attempt: { state: 'superseded' }, matchPhrase: undefined })
    expect((await attempts.decline(attempt.id, expiredAt)).ok).toBe(true)
  })

  test('stores accepted secrets or keys in a tombstone, which is valid for 90 days', async () => {
    const { agent, secrets } = await addAgent()
    const [secret] = secrets
    const expiredSecret = {
      ...secret!,
      id: crypto.randomUUID(),
      digest: Buffer.alloc(32, 9),
      endsAt: timeAfter(DAY_MS),
    }
    await stores.db.query(
      'insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at) values ($1, $2, $3, $4, $5, $6)',
      [
        expiredSecret.id,
        agent.id,
        expiredSecret.digest,
        expiredSecret.keyId,
        expiredSecret.createdAt,
        expiredSecret.endsAt,
      ],
    )
    const agentWithKey = await addAgent({ keys: [createExampleKey('one')] })
    await stores.db.query('delete from agent_secrets where agent_id = $1', [agentWithKey.agent.id])
    const now = timeAfter(7 * DAY_MS)
    expect(await expireBatch(now)).toHaveLength(2)
    const expiry = { cause: 'never-used', expiredAt: now }
    expect(await findTombstone(agent.id, now)).toEqual({
      ...expiry,
      id: agent.id,
      keys: [],
      secrets: [{ digest: secret!.digest, keyId: secret!.keyId }],
    })
    expect(await findTombstone(agentWithKey.agent.id, now)).toEqual({
      ...expiry,
      id: agentWithKey.agent.id,
      secrets: [],
      keys: agentWithKey.agent.keys,
    })
    const tombstoneExpiry = timeAfter(90 * DAY_MS, now)
    expect(await findTombstone(agent.id, timeAfter(-1, tombstoneExpiry))).toBeDefined()
    expect(await findTombstone(agent.id, tombstoneExpiry)).toBeUndefined()
    expect(await deleteOldTombstones(timeAfter(-1, tombstoneExpiry), NO_LIMIT)).toBe(0)
    expect(await deleteOldTombstones(tombstoneExpiry, NO_LIMIT)).toBe(2)
  })

  test('does not expire a disabled agent, and counts enabling it as a use', async () => {
    const { agent } = await addAgent()
    await stores.agents.deactivate(agent, 'disabled', doNothing)
    expect(await expireBatch(timeAfter(1_000 * DAY_MS))).toEqual([])
    await stores.agents.enable(agent.id, timeAfter(1_000 * DAY_MS))
    expect(await expireBatch(timeAfter(1_001 * DAY_MS))).toEqual([])
    expect(await expireBatch(timeAfter(1_091 * DAY_MS))).toHaveLength(1)
  })

  test('changes nothing if the tokens cannot be revoked', async () => {
    const { agent } = await addAgent()
    const tokens = { revokeTokensOf: () => Promise.reject(new Error('no Redis')) }
    const expiry = expireAgents({ ...createDeps(), tokens }, timeAfter(7 * DAY_MS), NO_LIMIT)
    await expect(expiry).rejects.toThrow('no Redis')
    expect(await listAgentIds()).toEqual([agent.id])
    expect(await findTombstone(agent.id, START)).toBeUndefined()
  })

  test('either expires an agent or records its use, when both are attempted simultaneously', async () => {
    const records = await Promise.all(Array.from({ length: 40 }, () => addAgent()))
    const now = timeAfter(7 * DAY_MS)
    const [useResults] = await Promise.all([
      Promise.all(records.map(({ agent }) => stores.agents.markUsed(agent.id, now))),
      expireBatch(now),
      expireBatch(now),
    ])
    const remainingIds = new Set(await listAgentIds())
    expect(useResults).toHaveLength(remainingIds.size + (await countTombstones()))
    expect(records.map(({ agent }) => remainingIds.has(agent.id))).toEqual(useResults)
  })
})

test('deleteTombstones deletes the oldest tombstones beyond the limit', async () => {
  for (const hours of [0, 1, 2]) await addAgent({ registeredAt: timeAfter(hours * HOUR_MS) })
  for (const hours of [0, 1, 2])
    expect(await expireBatch(timeAfter(7 * DAY_MS + hours * HOUR_MS))).toHaveLength(1)
  const now = timeAfter(8 * DAY_MS)
  expect(await deleteOldTombstones(now, 3)).toBe(0)
  expect(await deleteOldTombstones(now, 2)).toBe(1)
  const { rows } = await stores.db.query<{ expired_at: Date }>(
    'select expired_at from expired_agents order by expired_at',
  )
  const remainingTimes = [1, 2].map((hours) => timeAfter(7 * DAY_MS + hours * HOUR_MS))
  expect(rows.map(({ expired_at }) => expired_at)).toEqual(remainingTimes)
})

test('expireAgents expires many agents in batches, and none twice when called simultaneously', async () => {
  // 450 agents are more than two batches of 200.
  await stores.db.query(
    `insert into agents (id, scopes, status, registered_at, last_used_at)
     select 'agt_' || lpad(number::text, 22, '0'), '{guides:read}', 'active', $1, null from generate_series(1, 450) number`,
    [START],
  )
  const now = timeAfter(7 * DAY_MS)
  const batches = await Promise.all([expireBatch(now), expireBatch(now)])
  for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(200)
  const expiredIds = batches.flat()
  expect(new Set(expiredIds).size).toBe(expiredIds.length)
  while ((await expireBatch(now)).length > 0);
  expect(await listAgentIds()).toEqual([])
})

/** An agent in the model. Its times are in milliseconds after `START`. */
interface ModelAgent {
  readonly id: AgentId
  readonly registeredMs: number
  lastUsedMs: number | undefined
}

/** Predicts the agents that remain after a run. `agents` must be in the order of their registration: the oldest excess agents expire. */
function predictRemaining(agents: readonly ModelAgent[], now: number, maxNeverUsed: number): ModelAgent[] {
  const unexpired = agents.filter(({ registeredMs, lastUsedMs }) =>
    lastUsedMs === undefined ? now - registeredMs < 7 * DAY_MS : now - lastUsedMs < 91 * DAY_MS,
  )
  const neverUsed = unexpired.filter(({ lastUsedMs }) => lastUsedMs === undefined)
  const excess = neverUsed.slice(0, Math.max(0, neverUsed.length - maxNeverUsed))
  const removed = new Set(excess.filter(({ registeredMs }) => now - registeredMs >= HOUR_MS))
  return unexpired.filter((agent) => !removed.has(agent))
}

/** A step of the model. `agentIndex` selects an agent, modulo their number; `times` is the number of simultaneous expiry runs. */
const stepArbitrary = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('register' as const), count: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('use' as const), agentIndex: fc.nat(20) }) },
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

test('expireAgents expires the agents that the model predicts, after any sequence of registrations, uses, waits and expiry runs', async () => {
  const maxNeverUsed = 3
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 4, maxLength: 25 }), async (sequence) => {
      await stores.db.query('delete from agent_secrets')
      await deleteAllAgents()
      let model: ModelAgent[] = []
      let now = 0
      for (const step of sequence) {
        now += 1
        if (step.do === 'wait') now += step.ms
        else if (step.do === 'register')
          for (let count = 0; count < step.count; count += 1) {
            // No two agents have the same time, so it is certain which is older.
            now += 1
            const { agent } = await addAgent({ registeredAt: timeAfter(now) })
            model.push({ id: agent.id, registeredMs: now, lastUsedMs: undefined })
          }
        else if (step.do === 'use') {
          const agent = model[step.agentIndex % Math.max(1, model.length)]
          if (!agent) continue
          expect(await stores.agents.markUsed(agent.id, timeAfter(now))).toBe(true)
          agent.lastUsedMs = now
        } else {
          const at = timeAfter(now)
          await Promise.all(Array.from({ length: step.times }, () => expireBatch(at, maxNeverUsed)))
          while ((await expireBatch(at, maxNeverUsed)).length > 0);
          model = predictRemaining(model, now, maxNeverUsed)
          expect(await listAgentIds()).toEqual(model.map(({ id }) => id).sort())
          const neverUsed = model.filter(({ lastUsedMs }) => lastUsedMs === undefined)
          expect((await countUnusedAgents(stores.db, at)).neverUsed).toBe(neverUsed.length)
          const olderThanAnHour = neverUsed.filter(({ registeredMs }) => now - registeredMs >= HOUR_MS)
          expect(olderThanAnHour.length).toBeLessThanOrEqual(maxNeverUsed)
        }
      }
    }),
    // On a slow machine, the test passes with the runs that were completed within a minute.
    { numRuns: 60, interruptAfterTimeLimit: 60_000 },
  )
}, 120_000)

test('countAgents counts the agents of each kind, and countUnusedAgents those that are unused', async () => {
  await addAgent()
  await addAgent({ lastUsedAt: START })
  const disabled = await addAgent()
  await stores.agents.deactivate(disabled.agent, 'disabled', doNothing)
  const deleted = await addAgent()
  await stores.agents.deactivate(deleted.agent, 'deleted', doNothing)
  await expireBatch(timeAfter(7 * DAY_MS))
  await addAgent({ registeredAt: timeAfter(7 * DAY_MS) })
  expect(await countAgents(stores.db, timeAfter(30 * DAY_MS))).toEqual({
    active: 2,
    neverUsed: 1,
    idle: 1,
    disabled: 1,
    deleted: 1,
    expired: 1,
    withKeys: 0,
    withDomain: 0,
    liveVerifications: 0,
  })
  expect(await countUnusedAgents(stores.db, timeAfter(30 * DAY_MS))).toEqual({ neverUsed: 1, idle: 1 })
})
