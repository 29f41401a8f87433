import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { createEvents } from '../events.ts'
import { reportCutoffs } from './report-cutoffs.ts'
import type { TokenCutoff } from './token-store.ts'

const token = {
  clientId: createExampleAgent().agent.id,
  credentialVersion: 1,
  scope: 'guides:read',
  audience: 'https://plainpath.example/api',
  issuedAt: new Date(0),
  expiresAt: new Date(1),
}

test('emits an event for each advance of the cutoff, but not for the first, a lower or a missing cutoff', async () => {
  const cutoffs: (TokenCutoff | undefined)[] = [
    { epoch: 3 },
    { epoch: 3 },
    // A higher epoch.
    { epoch: 4 },
    // A token with its own epoch has no cutoff.
    undefined,
    // Lower than before, because the results of concurrent calls can arrive in another order.
    { epoch: 3 },
    // A later time.
    { epoch: 4, issuedBefore: new Date(1_000) },
    { epoch: 4, issuedBefore: new Date(1_000) },
  ]
  const events = createEvents()
  let eventCount = 0
  events.on('tokens-stopped', () => void (eventCount += 1))
  const countsAfterEachSave: number[] = []
  const remaining = [...cutoffs]
  const save = reportCutoffs(async () => remaining.shift(), events)
  for (const cutoff of cutoffs) {
    expect(await save(randomBytes(32), token)).toEqual(cutoff)
    countsAfterEachSave.push(eventCount)
  }
  expect(countsAfterEachSave).toEqual([0, 0, 1, 1, 1, 2, 2])
})
