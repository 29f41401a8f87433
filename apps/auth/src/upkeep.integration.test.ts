import { DAY_MS } from '@plainpath/domain'
import { createMetrics, type Metrics } from '@plainpath/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../test/example-agent.ts'
import { type AuthStores, openAuthStores } from '../test/open-auth-stores.ts'
import { loadConfig } from './config.ts'
import { createEvents } from './events.ts'
import { openStores, type Stores } from './stores.ts'
import { startUpkeep } from './upkeep.ts'

const START = new Date('2026-11-20T09:00:00Z')
const after = (days: number) => new Date(START.getTime() + days * DAY_MS)

let place: AuthStores
let stores: Stores
const log = { info: () => undefined, error: () => undefined, warn: () => undefined }
let now = START
beforeAll(async () => {
  place = await openAuthStores()
  const config = loadConfig(await place.settingsFor('https://plainpath.example'))
  stores = await openStores(config, { log, now: () => now })
})
afterAll(async () => {
  await stores[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

function eventsCountedBy(metrics: Metrics) {
  const events = createEvents()
  events.on('swept', ({ what }) => metrics.recordSweep(what))
  return events
}

test('expires unused agents, deletes their tombstones, and updates the counts', async () => {
  const metrics = createMetrics('test')
  const gauge = async (name: string) =>
    (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value
  const rows = async (table: string) => (await stores.db.query(`select 1 from ${table}`)).rowCount
  for (const lastUsedAt of [undefined, after(40), START])
    await stores.agents.add(exampleAgent({ registeredAt: START, ...(lastUsedAt && { lastUsedAt }) }))
  await using _living = startUpkeep(
    { neverUsedClients: 10 },
    { stores, metrics, events: eventsCountedBy(metrics), log, now: () => now, everyMs: 5 },
  )
  now = after(7)
  await expect.poll(() => rows('agents')).toBe(2)
  await expect.poll(() => gauge('agents_never_used')).toBe(0)
  now = after(71)
  await expect.poll(() => gauge('agents_idle')).toBe(2)
  expect(await rows('expired_agents')).toBe(1)
  now = after(92)
  await expect.poll(() => rows('agents')).toBe(1)
  now = after(98)
  await expect.poll(() => rows('expired_agents')).toBe(1)
})

test('shows when each sweep last succeeded, and that one has stopped succeeding', async () => {
  const metrics = createMetrics('test')
  const shown = async () => {
    const { values = [] } =
      (await metrics.registry.getSingleMetric('retention_last_success_timestamp_seconds')?.get()) ?? {}
    return new Map(values.map(({ labels, value }) => [labels['sweep'], value]))
  }
  const isLater = async (sweep: string, than: number) => ((await shown()).get(sweep) ?? 0) > than
  const began = Date.now() / 1_000
  await place.asOwner('alter table agent_secrets rename to secrets_away')
  await using _living = startUpkeep(
    { neverUsedClients: 10 },
    { stores, metrics, events: eventsCountedBy(metrics), log, now: () => now, everyMs: 5 },
  )
  const first = await shown()
  expect([...first.keys()]).toEqual([
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
  expect(Math.min(...first.values())).toBeGreaterThanOrEqual(began)
  await expect.poll(() => isLater('expired agents', began + 0.1)).toBe(true)
  expect((await shown()).get('ended secrets')).toBe(first.get('ended secrets'))
  await place.asOwner('alter table secrets_away rename to agent_secrets')
  await expect.poll(() => isLater('ended secrets', began + 0.1)).toBe(true)
})
