import type { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import type { RevokedSubject } from '../tokens/token-store.ts'
import type { SecretRemoval } from './agent-store.ts'
import { removeSecret } from './rotate-secret.ts'

const { id } = exampleAgent().agent

/** Returns the steps, in order, for this result of the store. */
async function ending(ended: SecretRemoval, failing?: string) {
  const done: string[] = []
  const note = async (what: string) => {
    done.push(what)
    if (what === failing) throw new Error(failing)
  }
  const deps = {
    agents: {
      async removeSecret(
        _id: AgentId,
        _secretId: string,
        _now: Date,
        announce: (credentialVersion: number) => Promise<void>,
      ) {
        if (ended.outcome === 'gone') await announce(ended.credentialVersion)
        await note('commit')
        return ended
      },
    },
    tokens: {
      revokeTokensOf: (subject: RevokedSubject) =>
        note(subject.kind === 'client' ? `raise ${subject.credentialVersion}` : subject.kind),
    },
    revocationPublisher: { publish: () => note('announce') },
    agentCache: { invalidate: () => void done.push('forget') },
  }
  const outcome = await removeSecret(deps, { id, secretId: 'any' }, new Date()).catch(() => 'failed')
  return [...done, outcome]
}

test('raises the generation before and after the commit, then clears the cache, then publishes', async () => {
  expect(await ending({ outcome: 'gone', credentialVersion: 2 })).toEqual([
    ...['raise 2', 'commit', 'raise 2', 'forget', 'announce', 'forget', 'gone'],
  ])
})

test('publishes again for a secret that was removed before', async () => {
  const failed = await ending({ outcome: 'gone', credentialVersion: 2 }, 'announce')
  expect(failed.at(-1)).toBe('failed')
  expect(await ending({ outcome: 'unknown', credentialVersion: 2 })).toEqual([
    ...['commit', 'raise 2', 'forget', 'announce', 'forget', 'unknown'],
  ])
})

test('publishes nothing when nothing was removed', async () => {
  for (const outcome of ['last', 'ended'] as const)
    expect(await ending({ outcome })).toEqual(['commit', 'forget', outcome])
})
