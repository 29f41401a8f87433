import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import type { ChangedAgent } from '../clients/credential-version.ts'
import type { RevokedSubject } from '../tokens/token-store.ts'
import type { SecretRemoval } from './agent-store.ts'
import { removeSecret } from './rotate-secret.ts'

const { id } = createExampleAgent().agent

/**
 * Removes a secret with dependencies that record their steps.
 *
 * @param removal the result of the store
 * @param failingStep the step that throws
 * @returns the steps in order, and the outcome
 */
async function recordSteps(removal: SecretRemoval, failingStep?: 'publish') {
  const steps: string[] = []
  const record = async (step: string) => {
    steps.push(step)
    if (step === failingStep) throw new Error(step)
  }
  const deps = {
    agents: {
      async removeSecret(
        _agent: ChangedAgent,
        _secretId: string,
        _now: Date,
        beforeCommit: (credentialVersion: number) => Promise<void>,
      ) {
        if (removal.outcome === 'removed') await beforeCommit(removal.credentialVersion)
        await record('commit')
        return removal
      },
    },
    tokens: {
      revokeTokensOf: (subject: RevokedSubject) =>
        record(subject.kind === 'client' ? `revoke ${subject.credentialVersion}` : subject.kind),
    },
    revocationPublisher: { publish: () => record('publish') },
    agentCache: { invalidate: () => void steps.push('invalidate') },
  }
  const outcome = await removeSecret(
    deps,
    { agent: { id, credentialVersion: 1 }, secretId: 'any' },
    new Date(),
  ).catch(() => 'failed')
  return [...steps, outcome]
}

test('removeSecret revokes tokens before and after the commit, and then invalidates the cache before and after it publishes', async () => {
  expect(await recordSteps({ outcome: 'removed', credentialVersion: 2 })).toEqual([
    'revoke 2',
    'commit',
    'revoke 2',
    'invalidate',
    'publish',
    'invalidate',
    'removed',
  ])
})

test('removeSecret revokes and publishes again for a secret that was removed before', async () => {
  const firstSteps = await recordSteps({ outcome: 'removed', credentialVersion: 2 }, 'publish')
  expect(firstSteps.at(-1)).toBe('failed')
  expect(await recordSteps({ outcome: 'unknown', credentialVersion: 2 })).toEqual([
    'commit',
    'revoke 2',
    'invalidate',
    'publish',
    'invalidate',
    'unknown',
  ])
})

test('removeSecret revokes and publishes nothing for the last secret, or if the agent is not active', async () => {
  for (const outcome of ['last', 'inactive'] as const)
    expect(await recordSteps({ outcome })).toEqual(['commit', 'invalidate', outcome])
})
