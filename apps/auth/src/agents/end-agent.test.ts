import { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { endAgent } from './end-agent.ts'

const ID = AgentId.parse(`agt_${'a'.repeat(22)}`)

/** What fails, and how often the end was told. */
async function ending(fails: 'end' | 'second raise' | 'announce' | 'nothing') {
  const told: unknown[] = []
  let raised = 0
  const failing = (what: typeof fails) => {
    if (fails === what) throw new Error(what)
  }
  const end = endAgent({
    agents: {
      async end(_id, _status, announce) {
        await announce(3)
        failing('end')
        return 3
      },
    },
    async raiseGeneration() {
      raised += 1
      if (raised === 2) failing('second raise')
    },
    async announceEnd() {
      failing('announce')
    },
    forget: () => undefined,
    onEnded: (...kept) => told.push(kept),
  })
  const ended = await end(ID, 'deleted').catch(() => 'failed')
  return { ended, told }
}

test('an end is told once it is kept, whatever fails after it, and not before', async () => {
  const told = [[ID, 'deleted']]
  expect(await ending('nothing')).toEqual({ ended: true, told })
  expect(await ending('second raise')).toEqual({ ended: 'failed', told })
  expect(await ending('announce')).toEqual({ ended: 'failed', told })
  expect(await ending('end')).toEqual({ ended: 'failed', told: [] })
})
