import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type FollowerEvent,
  type FollowerState,
  followKeyRing,
  INITIAL_STATE,
  isCurrent,
  type ReadRing,
  reportOf,
  statusOf,
} from './follow-key-ring.ts'
import { UnreadableKey } from './key-store.ts'
import { generateKeyPair } from './signing-key.ts'

const LEASE_MS = 100
const SINCE = new Date('2026-11-20T09:00:00Z')
const pairs = Array.from({ length: 6 }, () => generateKeyPair('ES256'))
const ring = (version: number): ReadRing => {
  const { privateJwk, publicJwk } = pairs[version % pairs.length] as (typeof pairs)[number]
  return { version, keys: { signing: privateJwk, published: [publicJwk] }, since: SINCE }
}
const kidOf = (version: number) => ring(version).keys.signing.kid
const next = (state: FollowerState, event: FollowerEvent) => followKeyRing(state, event, LEASE_MS)
const read = (version: number, startedAt: number) =>
  ({ type: 'ring-read', ring: ring(version), startedAt }) as const
const adopted = (version: number, startedAt: number) =>
  ({ type: 'ring-adopted', ring: ring(version), proof: `proof ${version}`, startedAt }) as const
const failed = (error: unknown, startedAt: number) => ({ type: 'reading-failed', error, startedAt }) as const
const unavailable = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const audited = (ringVersion: number) =>
  ({
    type: 'audit-read',
    ringVersion,
    end: { number: ringVersion, entry: '{}', hash: Buffer.alloc(32, ringVersion) },
  }) as const
/** An instance that adopted this version by a reading that began at 0. */
const following = (version: number) => {
  const { state } = next(INITIAL_STATE, adopted(version, 0))
  return next(state, audited(version)).state
}
const done = (step: ReturnType<typeof next>) =>
  step.effects.map((effect) => (effect.do === 'log' ? effect.message : effect.do))

test('a ring that is news is adopted first; then its audit is read, and then it is reported', () => {
  const first = next(INITIAL_STATE, read(1, 10))
  expect(first).toEqual({
    state: INITIAL_STATE,
    effects: [{ do: 'adopt', ring: ring(1), startedAt: 10 }],
  })
  const second = next(first.state, adopted(1, 10))
  expect(done(second)).toEqual(['read-audit', 'follows the key ring', 'report'])
  expect(reportOf(second.state, 11)).toEqual({
    ringVersion: 1,
    signingKid: kidOf(1),
    proof: 'proof 1',
    problem: undefined,
  })
})

test('the same ring read again prolongs the lease, and is no news', () => {
  const again = next(following(1), read(1, 60))
  expect(done(again)).toEqual([])
  expect([isCurrent(again.state, 159), isCurrent(again.state, 160)]).toEqual([true, false])
})

test('another set of published keys under the same version is adopted', () => {
  const { keys } = ring(1)
  const more = { ...ring(1), keys: { ...keys, published: [...keys.published, ...ring(2).keys.published] } }
  expect(done(next(following(1), { type: 'ring-read', ring: more, startedAt: 10 }))).toEqual(['adopt'])
})

test('the lease is counted from before the report, not from when the ring was read', () => {
  const { state } = next(following(1), read(1, 50))
  expect([isCurrent(state, 149), isCurrent(state, 150)]).toEqual([true, false])
})

test('an instance that may have missed a change says that it signs with nothing', () => {
  expect(reportOf(following(1), LEASE_MS)).toEqual({
    ringVersion: 0,
    signingKid: undefined,
    proof: undefined,
    problem: undefined,
  })
})

test('a database that is away changes nothing but the log', () => {
  const state = following(1)
  const step = next(state, failed(unavailable(), 50))
  expect(step.state).toBe(state)
  expect(done(step)).toEqual(['the key ring could not be read'])
})

test('another row that cannot be read is a problem, said once, and no reason to stop signing', () => {
  const unreadable = () => new UnreadableKey('kid-2', 1)
  const step = next(following(1), failed(unreadable(), 50))
  expect(done(step)).toEqual(['signing keys cannot be read: this instance is not ready'])
  expect(isCurrent(step.state, 149)).toBe(true)
  expect(statusOf(step.state).problem).toContain('kid-2')
  expect(done(next(step.state, failed(unreadable(), 60)))).toEqual([])
})

test('a row of a newer ring that cannot be read does not prolong the lease', () => {
  const { state } = next(following(1), failed(new UnreadableKey('kid-2', 2), 50))
  expect(isCurrent(state, LEASE_MS)).toBe(false)
})

test('a ring that cannot be used says nothing of its error to people', () => {
  const { state } = next(following(1), failed(new Error('value of a secret'), 50))
  expect(statusOf(state).problem).toBe('the key ring cannot be used')
})

test('after a problem the same ring is reported again, as sound', () => {
  const { state } = next(following(1), failed(new UnreadableKey('kid-2', 1), 50))
  const recovered = next(state, read(1, 60))
  expect(done(recovered)).toEqual(['follows the key ring', 'report'])
  expect(reportOf(recovered.state, 61).problem).toBeUndefined()
})

test('an end of the audit that could not be read is read again with the next reading', () => {
  const { state } = next(following(1), adopted(2, 10))
  const unread = next(state, { type: 'audit-failed', error: unavailable() })
  expect(statusOf(unread.state)).toMatchObject({ audit: { number: 1 }, audit_unread: true })
  const again = next(unread.state, read(2, 20))
  expect(done(again)).toEqual(['read-audit'])
  const readAtLast = next(again.state, audited(2)).state
  expect(statusOf(readAtLast)).toMatchObject({ audit: { number: 2 } })
  expect(statusOf(readAtLast)).not.toHaveProperty('audit_unread')
  expect(done(next(readAtLast, read(2, 30)))).toEqual([])
})

const event = fc.oneof(
  fc.record({ type: fc.constant('read' as const), version: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ type: fc.constant('unreadable' as const), version: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ type: fc.constantFrom('unavailable', 'broken', 'audit-failed' as const) }),
)

test('whatever happens in whatever order, an instance signs only with what a reading of the last lease confirmed', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(80), fc.nat(80)), { maxLength: 40 }), (happenings) => {
      let now = 0
      let state = INITIAL_STATE
      let confirmed: { version: number; at: number } | undefined
      for (const [what, waitMs, takesMs] of happenings) {
        now += waitMs
        const startedAt = now
        now += takesMs
        if (what.type === 'read') {
          const step = next(state, read(what.version, startedAt))
          const isNews = step.effects.some((effect) => effect.do === 'adopt')
          expect(isNews).toBe(state.ring?.version !== what.version)
          state = isNews ? next(step.state, adopted(what.version, startedAt)).state : step.state
          confirmed = { version: what.version, at: startedAt }
        } else if (what.type === 'unreadable') {
          state = next(state, failed(new UnreadableKey('kid', what.version), startedAt)).state
          if (confirmed?.version === what.version) confirmed = { ...confirmed, at: startedAt }
        } else if (what.type === 'audit-failed')
          state = next(state, { type: 'audit-failed', error: unavailable() }).state
        else {
          const error = what.type === 'broken' ? new Error('broken') : unavailable()
          state = next(state, failed(error, startedAt)).state
        }
        const signs = confirmed !== undefined && now < confirmed.at + LEASE_MS
        expect(isCurrent(state, now)).toBe(signs)
        expect(reportOf(state, now)).toMatchObject(
          signs
            ? { ringVersion: confirmed?.version, signingKid: kidOf(confirmed?.version ?? 0) }
            : { ringVersion: 0, signingKid: undefined },
        )
      }
    }),
    { numRuns: 500 },
  )
})
