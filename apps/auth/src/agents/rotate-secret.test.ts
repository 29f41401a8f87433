import type { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import type { RevokedSubject } from '../tokens/token-store.ts'
import type { EndedSecret } from './agent-repository.ts'
import { endSecret } from './rotate-secret.ts'

const { id } = exampleAgent().agent

/** What is done, in its order, when the store finds this. */
async function ending(ended: EndedSecret, failing?: string) {
  const done: string[] = []
  const note = async (what: string) => {
    done.push(what)
    if (what === failing) throw new Error(failing)
  }
  const deps = {
    agents: {
      async endSecret(
        _id: AgentId,
        _secretId: string,
        _now: Date,
        announce: (generation: number) => Promise<void>,
      ) {
        if (ended.outcome === 'gone') await announce(ended.generation)
        await note('commit')
        return ended
      },
    },
    tokens: {
      revokeTokensOf: (subject: RevokedSubject) =>
        note(subject.kind === 'client' ? `raise ${subject.generation}` : subject.kind),
    },
    revoker: { publishRevocation: () => note('announce') },
    cachedAgents: { forget: () => void done.push('forget') },
  }
  const outcome = await endSecret(deps, { id, secretId: 'any' }, new Date()).catch(() => 'failed')
  return [...done, outcome]
}

test('raises the generation before and after the commit, then clears the cache, then publishes', async () => {
  expect(await ending({ outcome: 'gone', generation: 2 })).toEqual([
    ...['raise 2', 'commit', 'raise 2', 'forget', 'announce', 'forget', 'gone'],
  ])
})

test('publishes again for a secret that was removed before', async () => {
  const failed = await ending({ outcome: 'gone', generation: 2 }, 'announce')
  expect(failed.at(-1)).toBe('failed')
  expect(await ending({ outcome: 'unknown', generation: 2 })).toEqual([
    ...['commit', 'raise 2', 'forget', 'announce', 'forget', 'unknown'],
  ])
})

test('publishes nothing when nothing was removed', async () => {
  for (const outcome of ['last', 'ended'] as const)
    expect(await ending({ outcome })).toEqual(['commit', 'forget', outcome])
})
