import { expect, test } from 'vitest'
import { exampleHashKey } from '../../test/example-agent.ts'
import type { Verification } from './verification.ts'
import { findLinkedVerifications, revokeLinkedVerifications } from './verification-link.ts'

const START = new Date('2026-11-20T09:00:00Z')
const never = () => Promise.reject(new Error('no person is asked here'))

test('publishes again when a person repeats ending a claim after an error', async () => {
  const ended: Verification = {
    id: 'clm_1',
    agentId: 'agt_1',
    verifiedAt: START,
    expiresAt: new Date(START.getTime() + 1_000),
    endedAt: START,
    endedBy: 'person',
  }
  const published: string[] = []
  const deps = {
    stores: {
      verificationAttempts: { findByLink: never, showCode: never, decline: never },
      verifications: {
        findByRevocationLink: async () => ended,
        findByAttempt: never,
        listByAddress: never,
        async revoke(id: string) {
          published.push(id)
          return false
        },
      },
    },
    hashKey: exampleHashKey(),
    now: () => START,
  }
  expect(await findLinkedVerifications(deps, 'secret')).toEqual({ ok: false, error: 'already-ended' })
  expect(await revokeLinkedVerifications(deps, 'secret', { all: false })).toEqual({
    ok: false,
    error: 'already-ended',
  })
  expect(published).toEqual([ended.id])
})
