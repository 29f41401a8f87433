import type { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { type AgentCache, createAgentCache } from './agent-cache.ts'
import type { AgentRecord } from './agent-store.ts'

/** Creates a cache over a store whose reads the test can hold, with a clock that the test sets. */
function createTestCache() {
  const rows = new Map<string, AgentRecord>()
  const reads: AgentId[] = []
  const releaseHeldReads: (() => void)[] = []
  let isHolding = false
  const clock = { ms: 1, now: () => clock.ms }
  /** `skipsSharedLoads`: whether the next caller must not wait for the load of another caller. */
  const options = { skipsSharedLoads: false }
  const store = {
    async find(id: AgentId) {
      reads.push(id)
      const row = rows.get(id)
      if (isHolding) await new Promise<void>((release) => void releaseHeldReads.push(release))
      return row
    },
  }
  return {
    agents: createAgentCache(store, { clock, skipSharedLoads: () => options.skipsSharedLoads }),
    options,
    reads,
    clock,
    rows,
    /** From now on, reads of the store wait until the test releases them. */
    holdReads: () => void (isHolding = true),
    /** Releases the held read that began last. */
    releaseLatestRead: () => releaseHeldReads.pop()?.(),
  }
}

test('reads the store once for simultaneous loads', async () => {
  const { agents, reads, rows } = createTestCache()
  const record = createExampleAgent()
  rows.set(record.agent.id, record)
  const found = await Promise.all(Array.from({ length: 5 }, () => agents.find(record.agent.id)))
  expect(found).toEqual(Array.from({ length: 5 }, () => record))
  expect(reads).toHaveLength(1)
})

test('loads separately for a caller that must not wait for another load, and caches the result', async () => {
  const { agents, options, reads, rows, holdReads, releaseLatestRead } = createTestCache()
  const record = createExampleAgent()
  rows.set(record.agent.id, record)
  holdReads()
  const earlierLoad = agents.find(record.agent.id)
  options.skipsSharedLoads = true
  const found = agents.find(record.agent.id)
  releaseLatestRead()
  expect(await found).toEqual(record)
  expect(await agents.find(record.agent.id)).toEqual(record)
  expect(reads).toHaveLength(2)
  releaseLatestRead()
  await earlierLoad
})

test('caches an agent for 30 seconds, and a miss for 2 seconds', async () => {
  const { agents, reads, clock, rows } = createTestCache()
  const stored = createExampleAgent()
  const missing = createExampleAgent()
  rows.set(stored.agent.id, stored)
  const findBoth = async () => [await agents.find(stored.agent.id), await agents.find(missing.agent.id)]
  await findBoth()
  clock.ms += 2_000
  await findBoth()
  expect(reads).toHaveLength(2)
  clock.ms += 1
  expect(await findBoth()).toEqual([stored, undefined])
  expect(reads).toEqual([stored.agent.id, missing.agent.id, missing.agent.id])
  clock.ms += 28_000
  await findBoth()
  expect(reads.filter((id) => id === stored.agent.id)).toHaveLength(2)
})

test('reads an agent again after it is invalidated', async () => {
  const { agents, rows } = createTestCache()
  const record = createExampleAgent()
  const id = record.agent.id
  rows.set(id, record)
  await agents.find(id)
  rows.delete(id)
  expect(await agents.find(id)).toEqual(record)
  agents.invalidate(id)
  expect(await agents.find(id)).toBeUndefined()
})

test.for([
  ['the agent', (agents, id) => agents.invalidate(id)],
  ['every agent', (agents) => agents.invalidateAll()],
] satisfies [string, (agents: AgentCache, id: string) => void][])(
  'does not cache or share a read that is in flight when %s is invalidated',
  async ([_scope, invalidate]) => {
    const { agents, reads, rows, holdReads, releaseLatestRead } = createTestCache()
    const record = createExampleAgent()
    const id = record.agent.id
    rows.set(id, record)
    holdReads()
    const staleRead = agents.find(id)
    rows.delete(id)
    invalidate(agents, id)
    const freshRead = agents.find(id)
    releaseLatestRead()
    expect(await freshRead).toBeUndefined()
    releaseLatestRead()
    expect(await staleRead).toEqual(record)
    expect(await agents.find(id)).toBeUndefined()
    expect(reads).toHaveLength(2)
  },
)

test('does not cache a load that fails', async () => {
  const results = [Promise.reject(new Error('no database')), Promise.resolve(undefined)]
  const agents = createAgentCache({ find: () => results.shift() ?? Promise.resolve(undefined) })
  const { id } = createExampleAgent().agent
  await expect(agents.find(id)).rejects.toThrow('no database')
  expect(await agents.find(id)).toBeUndefined()
})

/** Caches 12,000 agents with the given name, more than fit. Returns how many of them are then still cached. */
async function countCachedAgents(name: string): Promise<number> {
  const { agents, reads, rows } = createTestCache()
  const ids = Array.from(
    { length: 12_000 },
    (_, index) => `agt_${String(index).padStart(22, '0')}` as AgentId,
  )
  const record = createExampleAgent({ name })
  for (const id of ids) {
    rows.set(id, record)
    await agents.find(id)
  }
  reads.length = 0
  // Newest first: a miss evicts the least recently used entry, which would otherwise be one not yet counted.
  for (const id of ids.toReversed()) await agents.find(id)
  return ids.length - reads.length
}

test('caches at least 10,000 agents with short names, and fewer with long names', async () => {
  expect(await countCachedAgents('Atlas')).toBeGreaterThanOrEqual(10_000)
  expect(await countCachedAgents('x'.repeat(80))).toBeLessThan(10_000)
})
