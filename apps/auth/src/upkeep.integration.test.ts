import { DAY_MS } from '@plainpath/domain'
import { createMetrics, type Metrics } from '@plainpath/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../test/example-agent.ts'
import { type AuthTestbed, openAuthTestbed } from '../test/open-auth-testbed.ts'
import { loadConfig } from './config.ts'
import { createEvents } from './events.ts'
import { openStores, type Stores } from './stores.ts'
import { startUpkeep } from './upkeep.ts'

const START = new Date('2026-11-20T09:00:00Z')
const daysAfterStart = (days: number) => new Date(START.getTime() + days * DAY_MS)

let testbed: AuthTestbed
let stores: Stores
const log = { info: () => undefined, error: () => undefined, warn: () => undefined }
let now = START
beforeAll(async () => {
  testbed = await openAuthTestbed()
  const config = loadConfig(await testbed.createSettings('https://plainpath.example'))
  stores = await openStores(config, { log, now: () => now })
})
afterAll(async () => {
  await stores[Symbol.asyncDispose]()
  await testbed[Symbol.asyncDispose]()
})

/** Creates events that record sweeps in the metrics, as `createAuthMetrics` does. */
function createEventsFor(metrics: Metrics) {
  const events = createEvents()
  events.on('swept', ({ sweep }) => metrics.recordSweep(sweep))
  return events
}

// An agent that never got a token expires after 7 days, and any other agent at most 91 days after its last use. The tombstone of
// an expired agent is deleted 90 days after the expiry. An agent counts as idle after 30 days without a token.
test('expires unused agents, deletes their tombstones, and updates the counts', async () => {
  const metrics = createMetrics('test')
  const readGauge = async (name: string) =>
    (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value
  const countRows = async (table: string) => (await stores.db.query(`select 1 from ${table}`)).rowCount
  for (const lastUsedAt of [undefined, daysAfterStart(40), START])
    await stores.agents.add(createExampleAgent({ registeredAt: START, ...(lastUsedAt && { lastUsedAt }) }))
  await using _upkeep = startUpkeep(
    { maxNeverUsedClients: 10 },
    { stores, metrics, events: createEventsFor(metrics), log, now: () => now, everyMs: 5 },
  )
  now = daysAfterStart(7)
  await expect.poll(() => countRows('agents')).toBe(2)
  await expect.poll(() => readGauge('agents_never_used')).toBe(0)
  // On day 71, the two other agents got their last token 31 and 71 days ago.
  now = daysAfterStart(71)
  await expect.poll(() => readGauge('agents_idle')).toBe(2)
  expect(await countRows('expired_agents')).toBe(1)
  now = daysAfterStart(92)
  await expect.poll(() => countRows('agents')).toBe(1)
  // The first tombstone, of day 7, is more than 90 days old. The second is newer.
  now = daysAfterStart(98)
  await expect.poll(() => countRows('expired_agents')).toBe(1)
})

test('exports when each sweep last succeeded, and leaves that time unchanged while the sweep fails', async () => {
  const metrics = createMetrics('test')
  const readLastSuccesses = async () => {
    const { values = [] } =
      (await metrics.registry.getSingleMetric('retention_last_success_timestamp_seconds')?.get()) ?? {}
    return new Map(values.map(({ labels, value }) => [labels['sweep'], value]))
  }
  const hasSucceededAfter = async (sweep: string, seconds: number) =>
    ((await readLastSuccesses()).get(sweep) ?? 0) > seconds
  const startSeconds = Date.now() / 1_000
  // Without this table, the sweep 'ended secrets' fails.
  await testbed.runAsOwner('alter table agent_secrets rename to secrets_away')
  await using _upkeep = startUpkeep(
    { maxNeverUsedClients: 10 },
    { stores, metrics, events: createEventsFor(metrics), log, now: () => now, everyMs: 5 },
  )
  const initialTimes = await readLastSuccesses()
  expect([...initialTimes.keys()]).toEqual([
    'expired tokens',
    'identity assertions',
    'spent assertions',
    'claims',
    'sign-ins',
    'unused apps',
    'unused agents',
    'expired agents',
    'ended secrets',
  ])
  expect(Math.min(...initialTimes.values())).toBeGreaterThanOrEqual(startSeconds)
  // The start itself counts as a success, so only a later time shows a run that succeeded.
  await expect.poll(() => hasSucceededAfter('expired agents', startSeconds + 0.1)).toBe(true)
  expect((await readLastSuccesses()).get('ended secrets')).toBe(initialTimes.get('ended secrets'))
  await testbed.runAsOwner('alter table secrets_away rename to agent_secrets')
  await expect.poll(() => hasSucceededAfter('ended secrets', startSeconds + 0.1)).toBe(true)
})
