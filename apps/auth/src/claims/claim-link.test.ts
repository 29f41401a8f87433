import { expect, test } from 'vitest'
import { exampleHashKey } from '../../test/example-agent.ts'
import type { Claim } from './claim.ts'
import { endLinkedClaims, findLinkedClaims } from './claim-link.ts'

const START = new Date('2026-11-20T09:00:00Z')
const never = () => Promise.reject(new Error('no person is asked here'))

test('publishes again when a person repeats ending a claim after an error', async () => {
  const ended: Claim = {
    ...{ id: 'clm_1', agentId: 'agt_1', verifiedAt: START },
    expiresAt: new Date(START.getTime() + 1_000),
    endedAt: START,
    endedBy: 'person',
  }
  const told: string[] = []
  const deps = {
    stores: {
      claimAttempts: { findByLink: never, press: never, decline: never },
      claims: {
        findByEndLink: async () => ended,
        findOfAttempt: never,
        listOfAddress: never,
        async end(id: string) {
          told.push(id)
          return false
        },
      },
    },
    hashKey: exampleHashKey(),
    now: () => START,
  }
  expect(await findLinkedClaims(deps, 'secret')).toEqual({ ok: false, error: 'already-ended' })
  expect(await endLinkedClaims(deps, 'secret', { all: false })).toEqual({ ok: false, error: 'already-ended' })
  expect(told).toEqual([ended.id])
})
