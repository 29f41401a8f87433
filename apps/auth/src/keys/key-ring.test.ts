import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Follower } from './key-follower-store.ts'
import {
  activate,
  applyChange,
  type Circumstances,
  createFirstKey,
  findNextStep,
  generate,
  type KeyPolicy,
  type KeyRing,
  publish,
  retire,
  revoke,
} from './key-ring.ts'
import { generateKeyPair, type KeyRecord, type KeyState } from './signing-key.ts'

/**
 * Under this policy, a key may sign 330 ms after its publication (`pollMs` + `verifierCacheMs`), and is retired 1,030 ms after it
 * stopped signing (`pollMs` + `overlapMs`).
 */
const POLICY: KeyPolicy = {
  verifierCacheMs: 300,
  pollMs: 30,
  overlapMs: 1_000,
  signingPeriodMs: 10_000,
  leaseMs: 100,
}
const START = new Date('2026-11-20T09:00:00Z')
const addMs = (ms: number, from = START) => new Date(from.getTime() + ms)
const pairs = Array.from({ length: 40 }, (_, index) => generateKeyPair(index % 2 ? 'EdDSA' : 'ES256'))
const createKey = (index: number, state: KeyState, stateSince = START): KeyRecord => {
  const { kid, algorithm, publicJwk } = pairs[index] as (typeof pairs)[number]
  return { kid, algorithm, publicJwk, state, stateSince, createdAt: START }
}
const getKid = (index: number) => pairs[index]?.kid ?? ''
/** Creates a ring of version 7, which is the version that followers have adopted by default. */
const createRing = (...keys: KeyRecord[]): KeyRing => ({ version: 7, keys })
const createCircumstances = (nowMs: number, followers: readonly Follower[] = []): Circumstances => ({
  now: addMs(nowMs),
  policy: POLICY,
  followers,
})
const createFollower = (members: Partial<Follower> = {}): Follower => ({
  instanceId: 'one',
  host: 'auth-1',
  ringVersion: 7,
  signingKid: getKid(0),
  problem: undefined,
  proof: undefined,
  followedAt: START,
  // Later than `now` in every test, so that the instance counts as live.
  seenAt: addMs(1_000_000),
  ...members,
})

test('lets the first key sign immediately, and refuses a second first key', () => {
  expect(createFirstKey(createRing(), getKid(0))).toEqual({
    ok: true,
    value: [{ kid: getKid(0), from: undefined, to: 'signing' }],
  })
  expect(createFirstKey(createRing(createKey(0, 'signing')), getKid(1))).toMatchObject({ ok: false })
})

test('generates one successor at a time', () => {
  const signingKey = createKey(0, 'signing')
  expect(generate(createRing(signingKey, createKey(1, 'retiring')), getKid(2)).ok).toBe(true)
  expect(generate(createRing(signingKey, createKey(1, 'generated')), getKid(2)).ok).toBe(false)
  expect(generate(createRing(signingKey, createKey(1, 'published')), getKid(2)).ok).toBe(false)
})

test('activates a key only after caches of the older key set have expired, and says from when', () => {
  const ring = createRing(createKey(0, 'signing'), createKey(1, 'published'))
  expect(activate(ring, getKid(1), createCircumstances(329))).toMatchObject({
    ok: false,
    error: { safeFrom: addMs(330) },
  })
  expect(activate(ring, getKid(1), createCircumstances(330))).toEqual({
    ok: true,
    value: [
      { kid: getKid(0), from: 'signing', to: 'retiring' },
      { kid: getKid(1), from: 'published', to: 'signing' },
    ],
  })
})

test('postpones activation if an instance adopted the ring late, and refuses it while a live one has not adopted the ring', () => {
  const ring = createRing(createKey(0, 'signing'), createKey(1, 'published'))
  const lateFollower = createFollower({ followedAt: addMs(200) })
  expect(activate(ring, getKid(1), createCircumstances(400, [lateFollower]))).toMatchObject({
    error: { safeFrom: addMs(500) },
  })
  const laggingFollower = createFollower({ ringVersion: 6 })
  expect(activate(ring, getKid(1), createCircumstances(5_000, [laggingFollower]))).toMatchObject({
    ok: false,
    error: { reason: expect.stringContaining('auth-1') },
  })
  // The last report is 101 ms old, which is longer than the lease.
  const expiredFollower = createFollower({ ringVersion: 6, seenAt: addMs(4_899) })
  expect(activate(ring, getKid(1), createCircumstances(5_000, [expiredFollower])).ok).toBe(true)
})

test('does not retire a key while its signatures may be in use or an instance signs with it', () => {
  const ring = createRing(createKey(0, 'signing'), createKey(1, 'retiring'))
  expect(retire(ring, getKid(1), createCircumstances(1_029))).toMatchObject({
    ok: false,
    error: { safeFrom: addMs(1_030) },
  })
  expect(retire(ring, getKid(1), createCircumstances(1_030)).ok).toBe(true)
  const signingFollower = createFollower({ signingKid: getKid(1) })
  expect(retire(ring, getKid(1), createCircumstances(1_030, [signingFollower])).ok).toBe(false)
})

test('replaces a revoked signing key with its successor or a new key, and revokes a key only once', () => {
  const signingKey = createKey(0, 'signing')
  const findNewSigningKid = (...otherKeys: KeyRecord[]) => {
    const revoked = revoke(createRing(signingKey, ...otherKeys), getKid(0), getKid(9))
    return revoked.ok && revoked.value.find(({ to }) => to === 'signing')?.kid
  }
  expect(findNewSigningKid()).toBe(getKid(9))
  expect(findNewSigningKid(createKey(1, 'generated'))).toBe(getKid(1))
  expect(findNewSigningKid(createKey(1, 'published'))).toBe(getKid(1))
  expect(revoke(createRing(signingKey, createKey(1, 'retired')), getKid(1), getKid(9))).toEqual({
    ok: true,
    value: [{ kid: getKid(1), from: 'retired', to: 'revoked' }],
  })
  expect(revoke(createRing(signingKey, createKey(1, 'revoked')), getKid(1), getKid(9)).ok).toBe(false)
})

test('finds the step that is due first', () => {
  const signingKey = createKey(0, 'signing')
  expect(findNextStep(createRing(), createCircumstances(0))).toBeUndefined()
  expect(findNextStep(createRing(signingKey), createCircumstances(0))).toEqual({
    step: 'generate',
    kid: undefined,
    safeFrom: addMs(10_000),
  })
  const withSuccessor = createRing(signingKey, createKey(1, 'generated'))
  expect(findNextStep(withSuccessor, createCircumstances(0))).toMatchObject({
    step: 'publish',
    safeFrom: START,
  })
  const withTwoSteps = createRing(signingKey, createKey(1, 'retiring'), createKey(2, 'published'))
  expect(findNextStep(withTwoSteps, createCircumstances(0))).toEqual({
    step: 'activate',
    kid: getKid(2),
    safeFrom: addMs(330),
  })
})

/** Generates any step at any time, or the next step of the rotation. Most of these steps are refused. */
const command = fc.record({
  step: fc.constantFrom('generate', 'publish', 'activate', 'retire', 'revoke', 'next' as const),
  keyIndex: fc.nat(39),
  // Short waits leave some steps within the limits of 330 and 1,030 ms. Long waits can exceed both limits.
  waitMs: fc.oneof(fc.nat(50), fc.nat(1_500)),
})

test('any sequence of steps leaves one signing key, and activates and retires no key too early', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      let now = START
      let generatedCount = 1
      const firstTransition = { kid: getKid(0), from: undefined, to: 'signing' } as const
      let ring = applyChange(createRing(), [firstTransition], now, pairs[0])
      const publishedAt = new Map<string, number>()
      const stoppedAt = new Map<string, number>()
      for (const { step, keyIndex, waitMs } of commands) {
        now = addMs(waitMs, now)
        const circumstances = { now, policy: POLICY, followers: [] }
        const nextPair = pairs[generatedCount]
        const nextStep = findNextStep(ring, circumstances)
        const name = step === 'next' ? (nextStep?.step ?? 'generate') : step
        const kid = step === 'next' ? (nextStep?.kid ?? '') : getKid(keyIndex % generatedCount)
        const result = {
          generate: () => generate(ring, nextPair?.kid ?? ''),
          publish: () => publish(ring, kid),
          activate: () => activate(ring, kid, circumstances),
          retire: () => retire(ring, kid, circumstances),
          revoke: () => revoke(ring, kid, nextPair?.kid ?? ''),
        }[name]()
        if (!result.ok) continue
        // All pairs are used.
        if (!nextPair) return
        if (result.value.some((transition) => transition.kid === nextPair.kid)) generatedCount += 1
        ring = applyChange(ring, result.value, now, nextPair)
        for (const transition of result.value) {
          const { from, to } = transition
          if (to === 'published') publishedAt.set(transition.kid, now.getTime())
          if (to === 'retiring') stoppedAt.set(transition.kid, now.getTime())
          // If no time was recorded, `Infinity` makes the check fail.
          if (name === 'activate' && to === 'signing')
            expect(now.getTime() - (publishedAt.get(transition.kid) ?? Infinity)).toBeGreaterThanOrEqual(330)
          if (to === 'retired')
            expect(now.getTime() - (stoppedAt.get(transition.kid) ?? Infinity)).toBeGreaterThanOrEqual(1_030)
          // A retired or revoked key is never used again; a retired one may still be revoked.
          expect(['retired', 'revoked']).not.toContain(to === 'revoked' ? undefined : from)
        }
        expect(ring.keys.filter(({ state }) => state === 'signing')).toHaveLength(1)
        const successors = ring.keys.filter(({ state }) => state === 'generated' || state === 'published')
        expect(successors.length).toBeLessThanOrEqual(1)
      }
    }),
    { numRuns: 300 },
  )
})
