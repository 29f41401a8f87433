import { createMetrics } from '@plainpath/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../test/example-agent.ts'
import { type AuthStores, openAuthStores } from '../test/open-auth-stores.ts'
import { loadConfig } from './config.ts'
import { wireAgentLife } from './wire-agent-life.ts'
import { openStores } from './wire-stores.ts'

const DAY_MS = 24 * 3_600_000
const START = new Date('2026-11-20T09:00:00Z')
const after = (days: number) => new Date(START.getTime() + days * DAY_MS)

let place: AuthStores
let stores: Awaited<ReturnType<typeof openStores>>
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

test('ends by itself who is due, forgets what was left of them, and counts', async () => {
  const metrics = createMetrics('test')
  const gauge = async (name: string) =>
    (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value
  const rows = async (table: string) => (await stores.db.query(`select 1 from ${table}`)).rowCount
  for (const lastUsedAt of [undefined, after(40), START])
    await stores.store.add(exampleAgent({ registeredAt: START, ...(lastUsedAt && { lastUsedAt }) }))
  await using _living = wireAgentLife(
    { neverUsedClients: 10 },
    { stores, metrics, log, now: () => now, everyMs: 5 },
  )
  now = after(7)
  await expect.poll(() => rows('agents'), { timeout: 10_000 }).toBe(2)
  await expect.poll(() => gauge('agents_never_used'), { timeout: 10_000 }).toBe(0)
  now = after(71)
  await expect.poll(() => gauge('agents_idle'), { timeout: 10_000 }).toBe(2)
  expect(await rows('expired_agents')).toBe(1)
  now = after(92)
  await expect.poll(() => rows('agents'), { timeout: 10_000 }).toBe(1)
  now = after(98)
  await expect.poll(() => rows('expired_agents'), { timeout: 10_000 }).toBe(1)
})
