import { describe, expect, test } from 'vitest'
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

describe('storeCanaryToken', () => {
  const STORED_AT = new Date('2026-11-27T12:00:00Z')
  const LEASE_MS = 600_000

  /** Stores a canary with one instance, which finds it at first and no longer after the revocation. */
  async function storeCanary() {
    let [now, isFound, report] = [STORED_AT, true, undefined as string | undefined]
    const expiryTimes: Date[] = []
    const deps = {
      db: {
        async query(_sql: string, values: readonly string[]) {
          const find = async () => (isFound ? {} : undefined)
          report = (await createCanaryReport(values[1] ?? '', find)) ?? report
          return { rows: [{ id: 'agt_1', credentialVersion: 1 }] }
        },
      },
      tokens: {
        save: async (_hash: Buffer, { expiresAt }: { expiresAt: Date }) => void expiryTimes.push(expiresAt),
        revoke: async () => undefined,
        readCutoff: async () => ({ issuedBefore: undefined }),
      },
      keys: {
        view: async () => ({
          now,
          followers: [{ instanceId: 'i1', host: 'a', release: '1', seenAt: now, canary: report }],
        }),
      },
      leaseMs: LEASE_MS,
    }
    const scope = { kind: 'client', clientId: 'agt_1' }
    const canary = await storeCanaryToken(deps as never, scope as never)
    const proveAt = (time: Date) => {
      ;[now, isFound] = [time, false]
      return canary?.prove()
    }
    return { expiresAt: expiryTimes[0]!, proveAt }
  }

  test('stores a canary that outlives a lease and the waits for reports', async () => {
    const { expiresAt } = await storeCanary()
    expect(expiresAt.getTime() - STORED_AT.getTime()).toBeGreaterThan(LEASE_MS + 60_000)
  })

  test('proves a revocation by reports from before the canary expires, but by none from afterwards', async () => {
    const { expiresAt, proveAt } = await storeCanary()
    expect(await proveAt(new Date(expiresAt.getTime() - 1))).toMatchObject([{ state: 'proven' }])
    expect(await proveAt(expiresAt)).toMatchObject([{ state: 'silent' }])
  })
})
