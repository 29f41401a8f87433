import { ok } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { createExampleKey } from '../../test/example-key.ts'
import type { RevokedSubject } from '../tokens/token-store.ts'
import type { AgentStore } from './agent-store.ts'
import { replaceKeys } from './replace-keys.ts'

const keys = [createExampleKey('one')]
const { agent } = createExampleAgent({ keys, credentialVersion: 2 })

/**
 * Replaces keys with dependencies that record their steps.
 *
 * @param options.failingStep the step that throws
 * @returns the steps in order, and the outcome
 */
async function recordSteps({
  failingStep,
  proofs = [],
}: {
  failingStep?: 'commit' | 'publish'
  proofs?: readonly string[]
} = {}) {
  const steps: string[] = []
  const record = async (step: string) => {
    steps.push(step)
    if (step === failingStep) throw new Error(step)
  }
  const replaceInStore: AgentStore['replaceKeys'] = async (_id, _keys, beforeCommit) => {
    await beforeCommit(agent.credentialVersion)
    await record('commit')
    return ok({ agent, unproven: [] })
  }
  const deps = {
    agents: { replaceKeys: replaceInStore },
    tokens: {
      revokeTokensOf: (subject: RevokedSubject) =>
        record(subject.kind === 'client' ? `revoke ${subject.credentialVersion}` : subject.kind),
    },
    revocationPublisher: { publish: () => record('publish') },
    agentCache: { invalidate: () => void steps.push('invalidate') },
  }
  const request = { agent, keys, proofs, endpoint: 'https://plainpath.example/api/agent/jwks' }
  const outcome = await replaceKeys(deps, request, new Date()).then(
    (replaced) => (replaced.ok ? 'replaced' : replaced.error.fault),
    () => 'failed',
  )
  return [...steps, outcome]
}

test('replaceKeys revokes tokens before and after the commit, and then invalidates the cache before and after it publishes', async () => {
  expect(await recordSteps()).toEqual([
    'revoke 2',
    'commit',
    'revoke 2',
    'invalidate',
    'publish',
    'invalidate',
    'replaced',
  ])
})

test('replaceKeys fails if the commit or the publication fails, and invalidates the cache', async () => {
  expect(await recordSteps({ failingStep: 'publish' })).toEqual([
    'revoke 2',
    'commit',
    'revoke 2',
    'invalidate',
    'publish',
    'invalidate',
    'failed',
  ])
  expect(await recordSteps({ failingStep: 'commit' })).toEqual(['revoke 2', 'commit', 'invalidate', 'failed'])
})

test('replaceKeys rejects a proof that is not a JWT, and changes nothing', async () => {
  expect(await recordSteps({ proofs: ['x'] })).toEqual(['not-a-jwt'])
})
