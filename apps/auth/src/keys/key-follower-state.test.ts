import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  advanceKeyFollower,
  hasLease,
  INITIAL_STATE,
  type KeyFollowerEffect,
  type KeyFollowerEvent,
  type KeyFollowerState,
  type LoadedRing,
  toStatus,
} from './key-follower-state.ts'
import type { Follower } from './key-follower-store.ts'
import { findLaggingInstances } from './key-ring.ts'
import { UnreadableKey } from './key-store.ts'
import { generateKeyPair } from './signing-key.ts'

const LEASE_MS = 100
const SINCE = new Date('2026-11-20T09:00:00Z')
const pairs = Array.from({ length: 6 }, () => generateKeyPair('ES256'))
const ring = (version: number): LoadedRing => {
  const { privateJwk, publicJwk } = pairs[version % pairs.length] as (typeof pairs)[number]
  return { version, keys: { signing: privateJwk, published: [publicJwk] }, signingSince: SINCE }
}
const kidOf = (version: number) => ring(version).keys.signing.kid
const next = (state: KeyFollowerState, event: KeyFollowerEvent) => advanceKeyFollower(state, event, LEASE_MS)
const poll = (state: KeyFollowerState, now: number) => next(state, { kind: 'poll-started', now }).state
const read = (version: number) => ({ kind: 'ring-read', ring: ring(version) }) as const
const adopted = (version: number) =>
  ({ kind: 'ring-adopted', ring: ring(version), proof: `proof ${version}` }) as const
const failed = (error: unknown) => ({ kind: 'poll-failed', error }) as const
const unavailable = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const audited = (ringVersion: number) =>
  ({
    kind: 'audit-read',
    ringVersion,
    lastRow: { number: ringVersion, entry: '{}', hash: Buffer.alloc(32, ringVersion) },
  }) as const
/** The report of an instance when it polls. */
function reported(state: KeyFollowerState, now: number) {
  const [first] = next(state, { kind: 'poll-started', now }).effects
  return first?.kind === 'report' ? first.report : undefined
}
/** An instance that adopted this version, announced it, and read it again at 0. */
function following(version: number) {
  const { state } = next(next(poll(INITIAL_STATE, 0), adopted(version)).state, audited(version))
  return next(poll(state, 0), read(version)).state
}
const done = (step: ReturnType<typeof next>) =>
  step.effects.map((effect) => (effect.kind === 'log' ? effect.message : effect.kind))
const SIGNS_NOTHING = { ringVersion: 0, signingKid: undefined, proof: undefined, problem: undefined }

test('an instance reports itself before it reads', () => {
  expect(done(next(following(1), { kind: 'poll-started', now: 10 }))).toEqual(['report', 'read-ring'])
})

test('adopts a new ring first, then reads its audit, then reports it', () => {
  const first = next(poll(following(1), 10), read(2))
  expect(first.effects).toEqual([{ kind: 'adopt-ring', ring: ring(2) }])
  const second = next(first.state, adopted(2))
  expect(done(second)).toEqual(['read-audit', 'adopted the key ring', 'report'])
  expect(reported(second.state, 11)).toEqual({
    ringVersion: 2,
    signingKid: kidOf(2),
    proof: 'proof 2',
    problem: undefined,
  })
})

test.for([
  ['that starts', INITIAL_STATE, ['read-audit', 'adopted the key ring', 'poll-again']],
  ['whose lease was over', following(1), ['poll-again']],
] as const)('an instance %s says that it signs before it does, and reads again', ([, before, expected]) => {
  expect(reported(before, LEASE_MS)).toEqual(SIGNS_NOTHING)
  const reading = poll(before, LEASE_MS)
  const first = next(reading, before.ring ? read(1) : adopted(1))
  expect(done(first)).toEqual(expected)
  expect(hasLease(first.state, LEASE_MS)).toBe(false)
  expect(reported(first.state, LEASE_MS)).toMatchObject({ ringVersion: 1, signingKid: kidOf(1) })
  const second = next(poll(first.state, LEASE_MS), read(1))
  expect(hasLease(second.state, LEASE_MS)).toBe(true)
  const unread = next(poll(first.state, LEASE_MS), failed(unavailable())).state
  expect(reported(unread, LEASE_MS)).toEqual(SIGNS_NOTHING)
})

test('extends the lease, counted from before the report, when it reads the same ring again', () => {
  const again = next(poll(following(1), 60), read(1))
  expect(done(again)).toEqual([])
  expect([hasLease(again.state, 159), hasLease(again.state, 160)]).toEqual([true, false])
})

test('adopts another set of published keys under the same version', () => {
  const { keys } = ring(1)
  const more = { ...ring(1), keys: { ...keys, published: [...keys.published, ...ring(2).keys.published] } }
  expect(done(next(following(1), { kind: 'ring-read', ring: more }))).toEqual(['adopt-ring'])
})

test('only logs when the database is unavailable', () => {
  const state = poll(following(1), 50)
  const step = next(state, failed(unavailable()))
  expect(step.state).toBe(state)
  expect(done(step)).toEqual(['the key ring could not be read'])
})

test('reports an unreadable row once, and keeps signing', () => {
  const unreadable = () => failed(new UnreadableKey('kid-2', 1))
  const step = next(poll(following(1), 50), unreadable())
  expect(done(step)).toEqual(['signing keys cannot be read: this instance is not ready'])
  expect(hasLease(step.state, 149)).toBe(true)
  expect(toStatus(step.state).problem).toContain('kid-2')
  expect(done(next(poll(step.state, 60), unreadable()))).toEqual([])
})

test('does not extend the lease when a row of a newer ring is unreadable', () => {
  const { state } = next(poll(following(1), 50), failed(new UnreadableKey('kid-2', 2)))
  expect(hasLease(state, LEASE_MS)).toBe(false)
})

test('does not show the error of an unusable ring in the status', () => {
  const step = next(following(1), failed(new Error('value of a secret')))
  expect(done(step)).toEqual(['the key ring cannot be used: this instance is not ready'])
  expect(toStatus(step.state).problem).toBe('the key ring cannot be used')
})

test('reports the same ring again after a problem is solved', () => {
  const { state } = next(poll(following(1), 50), failed(new UnreadableKey('kid-2', 1)))
  expect(reported(state, 60)?.problem).toContain('kid-2')
  const recovered = next(poll(state, 60), read(1))
  expect(done(recovered)).toEqual(['the key ring can be read again', 'report'])
  expect(reported(recovered.state, 61)?.problem).toBeUndefined()
})

test('reads the last row of the audit again if it could not be read', () => {
  const { state } = next(poll(following(1), 10), adopted(2))
  const unread = next(state, { kind: 'audit-read-failed', error: unavailable() })
  expect(toStatus(unread.state)).toMatchObject({ audit: { number: 1 }, audit_unread: true })
  const again = next(poll(unread.state, 20), read(2))
  expect(done(again)).toEqual(['read-audit'])
  const readAtLast = next(again.state, audited(2)).state
  expect(toStatus(readAtLast)).toMatchObject({ audit: { number: 2 } })
  expect(toStatus(readAtLast)).not.toHaveProperty('audit_unread')
  expect(done(next(poll(readAtLast, 30), read(2)))).toEqual([])
})

/** One of several instances of a simulated database, whose readings others may interrupt at any point. */
function instance(instanceId: string, world: World) {
  let state = INITIAL_STATE
  let pending: KeyFollowerEffect[] = []
  const take = (event: KeyFollowerEvent) => {
    const step = next(state, event)
    state = step.state
    pending = [...step.effects, ...pending]
  }
  /** Performs one effect, or begins a reading; `failure` is what the database says to it. */
  function advance(failure: unknown): void {
    const effect = pending.shift()
    if (!effect || effect.kind === 'poll-again') return take({ kind: 'poll-started', now: world.now })
    const fails =
      effect.kind === 'read-ring' || (effect.kind === 'report' && !(failure instanceof UnreadableKey))
    if (failure !== undefined && fails) {
      pending = []
      return take(failed(failure))
    }
    if (effect.kind === 'report') {
      const at = new Date(world.now)
      world.list.set(instanceId, {
        instanceId,
        host: instanceId,
        ...effect.report,
        followedAt: at,
        seenAt: at,
      })
    }
    if (effect.kind === 'read-ring') take(read(world.version))
    if (effect.kind === 'adopt-ring') take({ kind: 'ring-adopted', ring: effect.ring, proof: 'proof' })
    if (effect.kind === 'read-audit') take(audited(effect.ringVersion))
  }
  const signsWith = () => (hasLease(state, world.now) ? state.ring?.version : undefined)
  return { advance, signsWith }
}
interface World {
  now: number
  version: number
  readonly list: Map<string, Follower>
}

const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      who: fc.nat(1),
      fails: fc.constantFrom('no', 'no', 'no', 'no', 'unavailable', 'unreadable', 'broken' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(80) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('change', 'look' as const) }) },
)
const POLICY = { maxAgeMs: 0, pollMs: 0, overlapMs: 0, periodMs: 0, leaseMs: LEASE_MS }

test('no instance signs by an older ring once the operator has waited, wherever an instance paused', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const world: World = { now: 0, version: 1, list: new Map() }
      const instances = ['one', 'two'].map((id) => instance(id, world))
      let followed = 0
      for (const each of actions) {
        if (each.do === 'wait') world.now += each.ms
        if (each.do === 'change') world.version += 1
        if (each.do === 'advance') {
          const failures = {
            no: undefined,
            unavailable: unavailable(),
            unreadable: new UnreadableKey('kid', world.version),
            broken: new Error('broken'),
          }
          instances[each.who]?.advance(failures[each.fails])
        }
        if (each.do === 'look') {
          const at = { now: new Date(world.now), policy: POLICY, followers: [...world.list.values()] }
          if (findLaggingInstances(world, at).length === 0) followed = world.version
        }
        for (const { signsWith } of instances)
          expect(signsWith() ?? world.version).toBeGreaterThanOrEqual(followed)
      }
    }),
    { numRuns: 3_000 },
  )
})
