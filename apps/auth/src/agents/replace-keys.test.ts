import { ok } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import type { RevokedSubject } from '../tokens/token-store.ts'
import type { AgentStore } from './agent-store.ts'
import { replaceKeys } from './replace-keys.ts'

const keys = [exampleKey('one')]
const { agent } = exampleAgent({ keys, credentialVersion: 2 })

/** Returns the steps, in order, when this one fails. */
async function replacing(failing: 'commit' | 'announce' | 'nothing', proofs: readonly string[] = []) {
  const done: string[] = []
  const note = async (what: string) => {
    done.push(what)
    if (what === failing) throw new Error(failing)
  }
  const replaceInStore: AgentStore['replaceKeys'] = async (_id, _keys, announce) => {
    await announce(agent.credentialVersion)
    await note('commit')
    return ok({ agent, unproven: [] })
  }
  const deps = {
    agents: { replaceKeys: replaceInStore },
    tokens: {
      revokeTokensOf: (subject: RevokedSubject) =>
        note(subject.kind === 'client' ? `raise ${subject.credentialVersion}` : subject.kind),
    },
    revocationPublisher: { publish: () => note('announce') },
    agentCache: { invalidate: () => void done.push('forget') },
  }
  const request = { id: agent.id, keys, proofs, endpoint: 'https://plainpath.example/api/agent/jwks' }
  const outcome = await replaceKeys(deps, request, new Date()).then(
    (replaced) => (replaced.ok ? 'replaced' : replaced.error.fault),
    () => 'failed',
  )
  return [...done, outcome]
}

test('raises the generation before and after the commit, then clears the cache, then publishes', async () => {
  expect(await replacing('nothing')).toEqual([
    ...['raise 2', 'commit', 'raise 2', 'forget', 'announce', 'forget', 'replaced'],
  ])
  expect(await replacing('announce')).toEqual([
    ...['raise 2', 'commit', 'raise 2', 'forget', 'announce', 'forget', 'failed'],
  ])
  expect(await replacing('commit')).toEqual(['raise 2', 'commit', 'forget', 'failed'])
})

test('rejects a wrong proof before anything changes', async () => {
  expect(await replacing('nothing', ['x'])).toEqual(['not-a-jwt'])
})
