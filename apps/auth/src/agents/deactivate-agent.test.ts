import { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { deactivateAgent } from './deactivate-agent.ts'

const ID = AgentId.parse(`agt_${'a'.repeat(22)}`)

/** Returns the steps, in order, when this one fails. */
async function ending(fails: 'end' | 'second raise' | 'announce' | 'nothing') {
  const done: string[] = []
  let raised = 0
  const failing = (what: typeof fails) => {
    if (fails === what) throw new Error(what)
  }
  const deps = {
    agents: {
      async deactivate(
        _id: AgentId,
        _status: string,
        announce: (credentialVersion: number) => Promise<void>,
      ) {
        await announce(3)
        failing('end')
        done.push('commit')
        return 3
      },
    },
    tokens: {
      async revokeTokensOf() {
        raised += 1
        if (raised === 2) failing('second raise')
        done.push('raise')
      },
    },
    revocationPublisher: {
      async publish() {
        failing('announce')
        done.push('announce')
      },
    },
    agentCache: { invalidate: () => void done.push('forget') },
  }
  const outcome = await deactivateAgent(deps, ID, 'deleted').catch(() => 'failed')
  return [...done, outcome]
}

test('raises the generation before and after the commit, then clears the cache, then publishes', async () => {
  expect(await ending('nothing')).toEqual(['raise', 'commit', 'raise', 'forget', 'announce', 'forget', true])
  expect(await ending('second raise')).toEqual(['raise', 'commit', 'forget', 'failed'])
  expect(await ending('announce')).toEqual(['raise', 'commit', 'raise', 'forget', 'forget', 'failed'])
  expect(await ending('end')).toEqual(['raise', 'forget', 'failed'])
})
