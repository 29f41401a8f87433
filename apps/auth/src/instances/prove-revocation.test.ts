import { expect, test } from 'vitest'
import { createCanaryReport, readCanaryState } from './canary.ts'
import { assessInstance, type InstanceProof, isProven, storeCanaryToken } from './prove-revocation.ts'

const HASH = Buffer.alloc(32, 7)
/** A valid request for reports on a canary: the request id and the token hash (`canary.ts`). */
const PAYLOAD = `q1 ${HASH.toString('base64url')}`

// The columns: the condition, the release, the reports before and after the revocation, whether the lease is valid, the result.
test.for([
  ['its lease has expired', '1', undefined, undefined, false, 'ended'],
  ['its release does not support canaries', undefined, undefined, undefined, true, 'old'],
  ['it does not report after the revocation', '1', 'active', undefined, true, 'silent'],
  ['it does not find the canary before the revocation', '1', 'inactive', 'inactive', true, 'other-store'],
  ['it still finds the canary', '1', 'active', 'active', true, 'still-active'],
  ['it no longer finds the canary', '1', 'active', 'inactive', true, 'proven'],
  // This proves nothing: an instance that uses another store reports the canary as inactive too.
  ['it reports only after the revocation', '1', undefined, 'inactive', true, 'silent'],
] as const)('assesses an instance: %s', ([, release, before, after, isLive, state]) => {
  expect(assessInstance({ release }, { before, after }, { expected: 'inactive', isLive })).toBe(state)
})

const createProofs = (...states: InstanceProof['state'][]) =>
  states.map((state) => ({ host: 'a', release: '1', state }))

test.for([
  // Without instances, no instance can accept a token.
  [true, createProofs()],
  [true, createProofs('proven', 'proven')],
  [true, createProofs('proven', 'ended')],
  // No live instance reported: the database may be one that the service no longer uses.
  [false, createProofs('ended')],
  [false, createProofs('proven', 'silent')],
  [false, createProofs('proven', 'old')],
  [false, createProofs('other-store')],
] as const)('isProven returns %s for %j', ([proven, instances]) => {
  expect(isProven(instances)).toBe(proven)
})

test('createCanaryReport reports whether the requested token is found, and readCanaryState reads only a report on its request', async () => {
  const requestedHashes: Buffer[] = []
  const find = async (hash: Buffer) => void requestedHashes.push(hash)
  const report = await createCanaryReport(PAYLOAD, find)
  expect(requestedHashes).toEqual([HASH])
  expect(readCanaryState(report, 'q1')).toBe('inactive')
  expect(readCanaryState(await createCanaryReport(PAYLOAD, async () => ({})), 'q1')).toBe('active')
  expect(readCanaryState(report, 'q2')).toBeUndefined()
  expect(readCanaryState(undefined, 'q1')).toBeUndefined()
})

test.for(['', 'q1', 'q1 short', `${PAYLOAD} more`, `q 1 ${PAYLOAD}`])(
  'createCanaryReport creates no report for the invalid request %j',
  async (payload) => {
    expect(await createCanaryReport(payload, async () => ({}))).toBeUndefined()
  },
)

test('storeCanaryToken stores a canary that outlives the longest lease and the waits for reports', async () => {
  const now = new Date('2026-11-27T12:00:00Z')
  const leaseMs = 600_000
  const expiryTimes: number[] = []
  const tokens = {
    save: async (_hash: Buffer, { expiresAt }: { expiresAt: Date }) => void expiryTimes.push(+expiresAt),
    revoke: async () => undefined,
    readCutoff: async () => ({ issuedBefore: undefined, changedAt: undefined }),
  }
  const db = { query: async () => ({ rows: [{ id: 'agt_1', credentialVersion: 1 }], rowCount: 1 }) }
  const keys = { view: async () => ({ now, followers: [] }) }
  await using canary = await storeCanaryToken(
    { db, tokens, keys, leaseMs } as never,
    {
      kind: 'client',
      clientId: 'agt_1',
    } as never,
  )
  expect(canary).toBeDefined()
  expect(expiryTimes[0]! - now.getTime()).toBeGreaterThan(leaseMs + 60_000)
})
