import { DAY_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createExampleHashKey } from '../../test/example-agent.ts'
import type { Verification } from './verification.ts'
import { findLinkedVerifications, revokeLinkedVerifications } from './verification-link.ts'

const START = new Date('2026-11-20T09:00:00Z')
const failIfCalled = () => Promise.reject(new Error('must not be called'))
const endedVerification: Verification = {
  id: 'clm_1',
  agentId: 'agt_1',
  verifiedAt: START,
  expiresAt: new Date(START.getTime() + DAY_MS),
  endedAt: START,
  endedBy: 'person',
}

/** Creates dependencies with one verification, which has ended. `revokedIds` are the verifications that were revoked again. */
function createDeps(verification: Verification, now = START) {
  const revokedIds: string[] = []
  const deps = {
    stores: {
      verificationAttempts: { findByLink: failIfCalled, showCode: failIfCalled, decline: failIfCalled },
      verifications: {
        findByRevocationLink: async () => verification,
        findByAttempt: failIfCalled,
        // The address of an ended verification is erased.
        listByAddress: async () => [],
        async revoke(id: string) {
          revokedIds.push(id)
          // The verification had already ended.
          return false
        },
        revokeAllByAddress: failIfCalled,
        republishRevocations: failIfCalled,
      },
    },
    hashKey: createExampleHashKey(),
    now: () => now,
  }
  return { deps, revokedIds }
}

test('findLinkedVerifications reports for 90 s that the person has just ended the access, and never that somebody else has', async () => {
  const find = async (verification: Verification, sinceEndMs: number) =>
    await findLinkedVerifications(
      createDeps(verification, new Date(START.getTime() + sinceEndMs)).deps,
      'secret',
    )
  expect(await find(endedVerification, 0)).toEqual({ ok: false, error: 'just-ended' })
  expect(await find(endedVerification, 89_999)).toEqual({ ok: false, error: 'just-ended' })
  expect(await find(endedVerification, 90_000)).toEqual({ ok: false, error: 'already-ended' })
  const endedByAgent = { ...endedVerification, endedBy: 'agent' } as const
  expect(await find(endedByAgent, 0)).toEqual({ ok: false, error: 'already-ended' })
})

test('repeats the revocation of a verification that has already ended, because publishing it may have failed', async () => {
  const { deps, revokedIds } = createDeps(endedVerification)
  expect(await revokeLinkedVerifications(deps, 'secret', { all: false })).toEqual({
    ok: false,
    error: 'already-ended',
  })
  expect(revokedIds).toEqual([endedVerification.id])
})
