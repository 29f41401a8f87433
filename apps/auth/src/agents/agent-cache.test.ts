import type { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { createAgentCache } from './agent-cache.ts'
import type { AgentRecord } from './agent-store.ts'

/** A store whose reads the test releases, and a clock that the test sets. */
function underTest() {
  const rows = new Map<string, AgentRecord>()
  const reads: AgentId[] = []
  const held: (() => void)[] = []
  let holding = false
  const clock = { ms: 1, now: () => clock.ms }
  const alone = { now: false }
  const store = {
    async find(id: AgentId) {
      reads.push(id)
      const row = rows.get(id)
      if (holding) await new Promise<void>((release) => void held.push(release))
      return row
    },
  }
  return {
    agents: createAgentCache(store, { clock, skipSharedLoads: () => alone.now }),
    alone,
    reads,
    clock,
    rows,
    /** From now on, reads of the store wait until the test releases them. */
    hold: () => void (holding = true),
    /** Releases the read that began last. */
    releaseLatest: () => held.pop()?.(),
  }
}

test('reads the store once for simultaneous loads', async () => {
  const { agents, reads, rows } = underTest()
  const record = exampleAgent()
  rows.set(record.agent.id, record)
  const found = await Promise.all(Array.from({ length: 5 }, () => agents.find(record.agent.id)))
  expect(found).toEqual(Array.from({ length: 5 }, () => record))
  expect(reads).toHaveLength(1)
})

test('loads by itself for a caller that must not wait, and caches the result', async () => {
  const { agents, alone, reads, rows, hold, releaseLatest } = underTest()
  const record = exampleAgent()
  rows.set(record.agent.id, record)
  hold()
  const stuck = agents.find(record.agent.id)
  alone.now = true
  const found = agents.find(record.agent.id)
  releaseLatest()
  expect(await found).toEqual(record)
  expect(await agents.find(record.agent.id)).toEqual(record)
  expect(reads).toHaveLength(2)
  releaseLatest()
  await stuck
})

test('caches an agent for 30 seconds, and a miss for 2', async () => {
  const { agents, reads, clock, rows } = underTest()
  const [known, unknown] = [exampleAgent(), exampleAgent()]
  rows.set(known.agent.id, known)
  const findBoth = async () => [await agents.find(known.agent.id), await agents.find(unknown.agent.id)]
  await findBoth()
  clock.ms += 2_000
  await findBoth()
  expect(reads).toHaveLength(2)
  clock.ms += 1
  expect(await findBoth()).toEqual([known, undefined])
  expect(reads).toEqual([known.agent.id, unknown.agent.id, unknown.agent.id])
  clock.ms += 28_000
  await findBoth()
  expect(reads.filter((id) => id === known.agent.id)).toHaveLength(2)
})

test('reads again after a notification', async () => {
  const { agents, rows } = underTest()
  const record = exampleAgent()
  const id = record.agent.id
  rows.set(id, record)
  await agents.find(id)
  rows.delete(id)
  expect(await agents.find(id)).toEqual(record)
  agents.invalidate(id)
  expect(await agents.find(id)).toBeUndefined()
})

test.for([
  ['a notice', (agents, id) => agents.invalidate(id)],
  ['a lost connection', (agents) => agents.invalidateAll()],
] satisfies [string, (agents: ReturnType<typeof createAgentCache>, id: string) => void][])(
  'a read that was in flight when %s arrived is not cached, and later reads do not share it',
  async ([_what, forget]) => {
    const { agents, reads, rows, hold, releaseLatest } = underTest()
    const record = exampleAgent()
    const id = record.agent.id
    rows.set(id, record)
    hold()
    const before = agents.find(id)
    rows.delete(id)
    forget(agents, id)
    const after = agents.find(id)
    releaseLatest()
    expect(await after).toBeUndefined()
    releaseLatest()
    expect(await before).toEqual(record)
    expect(await agents.find(id)).toBeUndefined()
    expect(reads).toHaveLength(2)
  },
)

test('does not cache a load that fails', async () => {
  const results = [Promise.reject(new Error('no database')), Promise.resolve(undefined)]
  const agents = createAgentCache({ find: () => results.shift() ?? Promise.resolve(undefined) })
  const { id } = exampleAgent().agent
  await expect(agents.find(id)).rejects.toThrow('no database')
  expect(await agents.find(id)).toBeUndefined()
})

test('holds at most 10 000 agents', async () => {
  const { agents, reads } = underTest()
  const first = exampleAgent().agent.id
  await agents.find(first)
  for (let count = 0; count < 10_000; count++)
    await agents.find(`agt_${String(count).padStart(22, '0')}` as AgentId)
  reads.length = 0
  await agents.find(first)
  expect(reads).toEqual([first])
})
