import { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import type { ChangedAgent } from '../clients/credential-version.ts'
import { deactivateAgent } from './deactivate-agent.ts'

const ID = AgentId.parse(`agt_${'a'.repeat(22)}`)

type FailingStep = 'commit' | 'second revocation' | 'publish'

/**
 * Deletes an agent with dependencies that record their steps.
 *
 * @param failingStep the step that throws
 * @returns the steps in order, and the outcome
 */
async function recordSteps(failingStep?: FailingStep) {
  const steps: string[] = []
  let revocationCount = 0
  const failAt = (step: FailingStep) => {
    if (step === failingStep) throw new Error(step)
  }
  const deps = {
    agents: {
      async deactivate(
        _agent: ChangedAgent,
        _status: string,
        beforeCommit: (credentialVersion: number) => Promise<void>,
      ) {
        await beforeCommit(3)
        failAt('commit')
        steps.push('commit')
        return 3
      },
    },
    tokens: {
      async revokeTokensOf() {
        revocationCount += 1
        if (revocationCount === 2) failAt('second revocation')
        steps.push('revoke')
      },
    },
    revocationPublisher: {
      async publish() {
        failAt('publish')
        steps.push('publish')
      },
    },
    agentCache: { invalidate: () => void steps.push('invalidate') },
  }
  const outcome = await deactivateAgent(deps, { id: ID, credentialVersion: 1 }, 'deleted').catch(
    () => 'failed',
  )
  return [...steps, outcome]
}

test('deactivateAgent revokes tokens before and after the commit, and then invalidates the cache before and after it publishes', async () => {
  const steps = ['revoke', 'commit', 'revoke', 'invalidate', 'publish', 'invalidate']
  expect(await recordSteps()).toEqual([...steps, true])
})

test('deactivateAgent stops at a step that fails, and invalidates the cache', async () => {
  expect(await recordSteps('commit')).toEqual(['revoke', 'invalidate', 'failed'])
  expect(await recordSteps('second revocation')).toEqual(['revoke', 'commit', 'invalidate', 'failed'])
  expect(await recordSteps('publish')).toEqual([
    'revoke',
    'commit',
    'revoke',
    'invalidate',
    'invalidate',
    'failed',
  ])
})

test('deactivateAgent publishes, after it invalidates the cache, for an agent that was deleted before', async () => {
  const steps: string[] = []
  const deps = {
    agents: { deactivate: async () => undefined },
    tokens: { revokeTokensOf: async () => void steps.push('revoke') },
    revocationPublisher: { publish: async () => void steps.push('publish') },
    agentCache: { invalidate: () => void steps.push('invalidate') },
  }
  expect(await deactivateAgent(deps, { id: ID, credentialVersion: undefined }, 'deleted')).toBe(false)
  expect(steps).toEqual(['invalidate', 'publish'])
})
