import { expect, test } from 'vitest'
import { createExampleHashKey } from '../../test/example-agent.ts'
import type { Verification } from './verification.ts'
import { findLinkedVerifications, revokeLinkedVerifications } from './verification-link.ts'

const START = new Date('2026-11-20T09:00:00Z')
const failIfCalled = () => Promise.reject(new Error('must not be called'))

test('repeats the revocation of a verification that has already ended, because publishing it may have failed', async () => {
  const endedVerification: Verification = {
    id: 'clm_1',
    agentId: 'agt_1',
    verifiedAt: START,
    expiresAt: new Date(START.getTime() + 1_000),
    endedAt: START,
    endedBy: 'person',
  }
  const revokedIds: string[] = []
  const deps = {
    stores: {
      verificationAttempts: { findByLink: failIfCalled, showCode: failIfCalled, decline: failIfCalled },
      verifications: {
        findByRevocationLink: async () => endedVerification,
        findByAttempt: failIfCalled,
        listByAddress: failIfCalled,
        async revoke(id: string) {
          revokedIds.push(id)
          // The verification had already ended.
          return false
        },
        republishRevocations: failIfCalled,
      },
      revocationPublisher: { publish: failIfCalled },
    },
    hashKey: createExampleHashKey(),
    now: () => START,
  }
  expect(await findLinkedVerifications(deps, 'secret')).toEqual({ ok: false, error: 'already-ended' })
  expect(await revokeLinkedVerifications(deps, 'secret', { all: false })).toEqual({
    ok: false,
    error: 'already-ended',
  })
  expect(revokedIds).toEqual([endedVerification.id])
})
