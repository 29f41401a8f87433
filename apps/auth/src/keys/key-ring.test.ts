import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Follower } from './key-follower-store.ts'
import {
  activate,
  applyChange,
  type Circumstances,
  createFirstKey,
  findDueStep,
  generate,
  type KeyPolicy,
  type KeyRing,
  publish,
  retire,
  revoke,
} from './key-ring.ts'
import { generateKeyPair, type KeyRecord, type KeyState } from './signing-key.ts'

const POLICY: KeyPolicy = { maxAgeMs: 300, pollMs: 30, overlapMs: 1_000, periodMs: 10_000, leaseMs: 100 }
const START = new Date('2026-11-20T09:00:00Z')
const after = (ms: number, from = START) => new Date(from.getTime() + ms)
const pairs = Array.from({ length: 40 }, (_, n) => generateKeyPair(n % 2 ? 'EdDSA' : 'ES256'))
const key = (n: number, state: KeyState, stateSince = START): KeyRecord => {
  const { kid, algorithm, publicJwk } = pairs[n] as (typeof pairs)[number]
  return { kid, algorithm, publicJwk, state, stateSince, createdAt: START }
}
const kid = (n: number) => pairs[n]?.kid ?? ''
const ring = (...keys: KeyRecord[]): KeyRing => ({ version: 7, keys })
const at = (ms: number, followers: readonly Follower[] = []): Circumstances => ({
  now: after(ms),
  policy: POLICY,
  followers,
})
const follower = (members: Partial<Follower> = {}): Follower => ({
  instanceId: 'one',
  host: 'auth-1',
  ringVersion: 7,
  signingKid: kid(0),
  problem: undefined,
  proof: undefined,
  followedAt: START,
  seenAt: after(1_000_000),
  ...members,
})

test('lets the first key sign at once, and allows one first key', () => {
  expect(createFirstKey(ring(), kid(0))).toEqual({
    ok: true,
    value: [{ kid: kid(0), from: undefined, to: 'signing' }],
  })
  expect(createFirstKey(ring(key(0, 'signing')), kid(1))).toMatchObject({ ok: false })
})

test('generates one successor at a time', () => {
  expect(generate(ring(key(0, 'signing'), key(1, 'retiring')), kid(2)).ok).toBe(true)
  expect(generate(ring(key(0, 'signing'), key(1, 'generated')), kid(2)).ok).toBe(false)
  expect(generate(ring(key(0, 'signing'), key(1, 'published')), kid(2)).ok).toBe(false)
})

test('lets a key sign once caches of the older key set have expired, and says from when', () => {
  const published = ring(key(0, 'signing'), key(1, 'published'))
  expect(activate(published, kid(1), at(329))).toMatchObject({ ok: false, error: { safeFrom: after(330) } })
  expect(activate(published, kid(1), at(330))).toEqual({
    ok: true,
    value: [
      { kid: kid(0), from: 'signing', to: 'retiring' },
      { kid: kid(1), from: 'published', to: 'signing' },
    ],
  })
})

test('postpones activation for an instance that adopted late, and refuses it while one has not adopted', () => {
  const published = ring(key(0, 'signing'), key(1, 'published'))
  const late = follower({ followedAt: after(200) })
  expect(activate(published, kid(1), at(400, [late]))).toMatchObject({ error: { safeFrom: after(500) } })
  const behind = activate(published, kid(1), at(5_000, [follower({ ringVersion: 6 })]))
  expect(behind).toMatchObject({ ok: false, error: { reason: expect.stringContaining('auth-1') } })
  const gone = follower({ ringVersion: 6, seenAt: after(4_899) })
  expect(activate(published, kid(1), at(5_000, [gone])).ok).toBe(true)
})

test('keeps a key published while its signatures may be in use or an instance signs with it', () => {
  const retiring = ring(key(0, 'signing'), key(1, 'retiring'))
  expect(retire(retiring, kid(1), at(1_029))).toMatchObject({ ok: false, error: { safeFrom: after(1_030) } })
  expect(retire(retiring, kid(1), at(1_030)).ok).toBe(true)
  expect(retire(retiring, kid(1), at(1_030, [follower({ signingKid: kid(1) })])).ok).toBe(false)
})

test('replaces a revoked signing key by the waiting successor, or a new key', () => {
  const signs = (result: ReturnType<typeof revoke>) =>
    result.ok && result.value.find(({ to }) => to === 'signing')?.kid
  expect(signs(revoke(ring(key(0, 'signing')), kid(0), kid(9)))).toBe(kid(9))
  expect(signs(revoke(ring(key(0, 'signing'), key(1, 'generated')), kid(0), kid(9)))).toBe(kid(1))
  expect(signs(revoke(ring(key(0, 'signing'), key(1, 'published')), kid(0), kid(9)))).toBe(kid(1))
  expect(revoke(ring(key(0, 'signing'), key(1, 'retired')), kid(1), kid(9))).toEqual({
    ok: true,
    value: [{ kid: kid(1), from: 'retired', to: 'revoked' }],
  })
  expect(revoke(ring(key(0, 'signing'), key(1, 'revoked')), kid(1), kid(9)).ok).toBe(false)
})

test('finds the soonest step', () => {
  expect(findDueStep(ring(), at(0))).toBeUndefined()
  expect(findDueStep(ring(key(0, 'signing')), at(0))).toEqual({
    step: 'generate',
    kid: undefined,
    safeFrom: after(10_000),
  })
  expect(findDueStep(ring(key(0, 'signing'), key(1, 'generated')), at(0))).toMatchObject({
    step: 'publish',
    safeFrom: START,
  })
  const both = ring(key(0, 'signing'), key(1, 'retiring'), key(2, 'published'))
  expect(findDueStep(both, at(0))).toEqual({ step: 'activate', kid: kid(2), safeFrom: after(330) })
})

/** Any steps by any operators at any time, as they are asked for; most are refused. */
const command = fc.record({
  step: fc.constantFrom('generate', 'publish', 'activate', 'retire', 'revoke', 'due' as const),
  pick: fc.nat(39),
  waitMs: fc.oneof(fc.nat(50), fc.nat(1_500)),
})

test('keeps exactly one signing key, published in time, for any sequence of steps', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      let now = START
      let generated = 1
      let current = applyChange(ring(), [{ kid: kid(0), from: undefined, to: 'signing' }], now, pairs[0])
      const publishedAt = new Map<string, number>()
      const stoppedAt = new Map<string, number>()
      for (const { step, pick, waitMs } of commands) {
        now = after(waitMs, now)
        const circumstances = { now, policy: POLICY, followers: [] }
        const next = pairs[generated]
        const nextDue = findDueStep(current, circumstances)
        const name = step === 'due' ? (nextDue?.step ?? 'generate') : step
        const chosen = step === 'due' ? (nextDue?.kid ?? '') : kid(pick % generated)
        const result = {
          generate: () => generate(current, next?.kid ?? ''),
          publish: () => publish(current, chosen),
          activate: () => activate(current, chosen, circumstances),
          retire: () => retire(current, chosen, circumstances),
          revoke: () => revoke(current, chosen, next?.kid ?? ''),
        }[name]()
        if (!result.ok) continue
        if (!next) return
        if (result.value.some((each) => each.kid === next.kid)) generated += 1
        current = applyChange(current, result.value, now, next)
        for (const each of result.value) {
          if (each.to === 'published') publishedAt.set(each.kid, now.getTime())
          if (each.to === 'retiring') stoppedAt.set(each.kid, now.getTime())
          if (name === 'activate' && each.to === 'signing')
            expect(now.getTime() - (publishedAt.get(each.kid) ?? Infinity)).toBeGreaterThanOrEqual(330)
          if (each.to === 'retired')
            expect(now.getTime() - (stoppedAt.get(each.kid) ?? Infinity)).toBeGreaterThanOrEqual(1_030)
          expect(['retired', 'revoked']).not.toContain(each.to === 'revoked' ? undefined : each.from)
        }
        expect(current.keys.filter(({ state }) => state === 'signing')).toHaveLength(1)
        expect(
          current.keys.filter(({ state }) => state === 'generated' || state === 'published').length,
        ).toBeLessThanOrEqual(1)
      }
    }),
    { numRuns: 300 },
  )
})
