import type { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createUsageRecorder } from './usage-recorder.ts'

/** Records one use of each of 12,000 agents, more than the recorder can remember. Returns how many uses are remembered. */
async function countRemembered(formatId: (index: number) => string): Promise<number> {
  const usage = createUsageRecorder({
    agentCache: { find: async () => undefined },
    agents: { markUsed: async () => true },
    now: () => new Date('2026-11-26T12:00:00Z'),
  })
  const ids = Array.from({ length: 12_000 }, (_, index) => formatId(index))
  for (const id of ids) await usage.recordUse(id as AgentId)
  return ids.filter((id) => usage.findExpiry(id)).length
}

test('remembers the last uses of about 10,000 agents, or of fewer if their ids are long URLs', async () => {
  expect(await countRemembered((index) => `agt_${String(index).padStart(22, '0')}`)).toBeGreaterThan(9_900)
  expect(await countRemembered((index) => `https://${'a'.repeat(200)}.example/${index}`)).toBeLessThan(6_000)
})
