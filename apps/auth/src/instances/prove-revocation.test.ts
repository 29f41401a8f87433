import { expect, test } from 'vitest'
import { createCanaryReport, readCanary } from './canary.ts'
import { assessInstance, type InstanceProof, isProven } from './prove-revocation.ts'

const HASH = Buffer.alloc(32, 7)
const PAYLOAD = `q1 ${HASH.toString('base64url')}`

test.for([
  ['its lease has expired', '1', undefined, undefined, false, 'ended'],
  ['an earlier release', undefined, undefined, undefined, true, 'old'],
  ['no answer afterwards', '1', 'active', undefined, true, 'silent'],
  ['it never saw the canary', '1', 'inactive', 'inactive', true, 'other-store'],
  ['it still sees the canary', '1', 'active', 'active', true, 'still-active'],
  ['it lost the canary', '1', 'active', 'inactive', true, 'proven'],
  // An instance that uses another store may report this.
  ['it answered only afterwards', '1', undefined, 'inactive', true, 'silent'],
] as const)('judges an instance: %s', ([, release, before, after, isLive, state]) => {
  expect(assessInstance({ release }, { before, after }, { expected: 'inactive', isLive })).toBe(state)
})

const proofs = (...states: InstanceProof['state'][]) =>
  states.map((state) => ({ host: 'a', release: '1', state }))

test.for([
  [true, proofs()],
  [true, proofs('proven', 'proven')],
  [true, proofs('proven', 'ended')],
  // Nobody answered: the database may be one that the service no longer uses.
  [false, proofs('ended')],
  [false, proofs('proven', 'silent')],
  [false, proofs('proven', 'old')],
  [false, proofs('other-store')],
] as const)('proven: %s, for %j', ([proven, instances]) => {
  expect(isProven(instances)).toBe(proven)
})

test('an instance reports on the token that a request names', async () => {
  const lookedUp: Buffer[] = []
  const find = async (hash: Buffer) => void lookedUp.push(hash)
  const report = await createCanaryReport(PAYLOAD, find)
  expect(lookedUp).toEqual([HASH])
  expect(readCanary(report, 'q1')).toBe('inactive')
  expect(readCanary(await createCanaryReport(PAYLOAD, async () => ({})), 'q1')).toBe('active')
  expect(readCanary(report, 'q2')).toBeUndefined()
  expect(readCanary(undefined, 'q1')).toBeUndefined()
})

test.for(['', 'q1', 'q1 short', `${PAYLOAD} more`, `q 1 ${PAYLOAD}`])(
  '%j is not a valid request',
  async (payload) => {
    expect(await createCanaryReport(payload, async () => ({}))).toBeUndefined()
  },
)
