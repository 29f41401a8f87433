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

/*
 * Tests the transitions of the state machine one by one. The last test is a simulation: it interleaves the polls of two
 * instances in random order, and checks the guarantee on which a change of the key ring relies.
 */

const LEASE_MS = 100
const SINCE = new Date('2026-11-20T09:00:00Z')
const pairs = Array.from({ length: 6 }, () => generateKeyPair('ES256'))
/** Creates the ring of a version. Successive versions have different keys. */
const createRing = (version: number): LoadedRing => {
  const { privateJwk, publicJwk } = pairs[version % pairs.length] as (typeof pairs)[number]
  return { version, keys: { signingKey: privateJwk, publishedKeys: [publicJwk] }, signingSince: SINCE }
}
const getKid = (version: number) => createRing(version).keys.signingKey.kid
const advance = (state: KeyFollowerState, event: KeyFollowerEvent) =>
  advanceKeyFollower(state, event, LEASE_MS)
const startPoll = (state: KeyFollowerState, now: number) =>
  advance(state, { kind: 'poll-started', now }).state
const createRingReadEvent = (version: number) => ({ kind: 'ring-read', ring: createRing(version) }) as const
const createRingAdoptedEvent = (version: number) =>
  ({ kind: 'ring-adopted', ring: createRing(version), proof: `proof ${version}` }) as const
const createPollFailedEvent = (error: unknown) => ({ kind: 'poll-failed', error }) as const
const createUnavailableError = () =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const createAuditReadEvent = (ringVersion: number) =>
  ({
    kind: 'audit-read',
    ringVersion,
    lastRow: { number: ringVersion, entry: '{}', hash: Buffer.alloc(32, ringVersion) },
  }) as const
/** Returns the report with which an instance in this state begins a poll. */
function findPollReport(state: KeyFollowerState, now: number) {
  const [firstEffect] = advance(state, { kind: 'poll-started', now }).effects
  return firstEffect?.kind === 'report' ? firstEffect.report : undefined
}
/** Creates the state of an instance that adopted this version, announced it, and read it again at 0. */
function createFollowingState(version: number) {
  const adoptedState = advance(startPoll(INITIAL_STATE, 0), createRingAdoptedEvent(version)).state
  const { state } = advance(adoptedState, createAuditReadEvent(version))
  return advance(startPoll(state, 0), createRingReadEvent(version)).state
}
const listEffects = (step: ReturnType<typeof advance>) =>
  step.effects.map((effect) => (effect.kind === 'log' ? effect.message : effect.kind))
/** The report of an instance that does not sign. */
const SIGNS_NOTHING = { ringVersion: 0, signingKid: undefined, proof: undefined, problem: undefined }

test('begins a poll with a report, and then reads the ring', () => {
  const step = advance(createFollowingState(1), { kind: 'poll-started', now: 10 })
  expect(listEffects(step)).toEqual(['report', 'read-ring'])
})

test('adopts a new ring first, then reads its audit, then reports it', () => {
  const readStep = advance(startPoll(createFollowingState(1), 10), createRingReadEvent(2))
  expect(readStep.effects).toEqual([{ kind: 'adopt-ring', ring: createRing(2) }])
  const adoptionStep = advance(readStep.state, createRingAdoptedEvent(2))
  expect(listEffects(adoptionStep)).toEqual(['read-audit', 'adopted the key ring', 'report'])
  expect(findPollReport(adoptionStep.state, 11)).toEqual({
    ringVersion: 2,
    signingKid: getKid(2),
    proof: 'proof 2',
    problem: undefined,
  })
})

test.for([
  ['that starts', INITIAL_STATE, ['read-audit', 'adopted the key ring', 'poll-again']],
  ['whose lease has expired', createFollowingState(1), ['poll-again']],
] as const)('an instance %s announces that it signs, and signs after the next read', ([, state, effects]) => {
  expect(findPollReport(state, LEASE_MS)).toEqual(SIGNS_NOTHING)
  const pollingState = startPoll(state, LEASE_MS)
  const firstRead = advance(pollingState, state.ring ? createRingReadEvent(1) : createRingAdoptedEvent(1))
  expect(listEffects(firstRead)).toEqual(effects)
  expect(hasLease(firstRead.state, LEASE_MS)).toBe(false)
  expect(findPollReport(firstRead.state, LEASE_MS)).toMatchObject({ ringVersion: 1, signingKid: getKid(1) })
  const secondRead = advance(startPoll(firstRead.state, LEASE_MS), createRingReadEvent(1))
  expect(hasLease(secondRead.state, LEASE_MS)).toBe(true)
  const failedRead = advance(
    startPoll(firstRead.state, LEASE_MS),
    createPollFailedEvent(createUnavailableError()),
  )
  expect(findPollReport(failedRead.state, LEASE_MS)).toEqual(SIGNS_NOTHING)
})

test('extends the lease from the start of the poll when it reads the same ring again', () => {
  const step = advance(startPoll(createFollowingState(1), 60), createRingReadEvent(1))
  expect(listEffects(step)).toEqual([])
  expect([hasLease(step.state, 159), hasLease(step.state, 160)]).toEqual([true, false])
})

test('adopts another set of published keys under the same version', () => {
  const { keys, ...otherMembers } = createRing(1)
  const publishedKeys = [...keys.publishedKeys, ...createRing(2).keys.publishedKeys]
  const ring = { ...otherMembers, keys: { ...keys, publishedKeys } }
  const step = advance(createFollowingState(1), { kind: 'ring-read', ring })
  expect(listEffects(step)).toEqual(['adopt-ring'])
})

test('changes no state when the database is unavailable, and logs it', () => {
  const state = startPoll(createFollowingState(1), 50)
  const step = advance(state, createPollFailedEvent(createUnavailableError()))
  expect(step.state).toBe(state)
  expect(listEffects(step)).toEqual(['the key ring could not be read'])
})

test('logs an unreadable row once, and extends the lease', () => {
  const failure = createPollFailedEvent(new UnreadableKey('kid-2', 1))
  const step = advance(startPoll(createFollowingState(1), 50), failure)
  expect(listEffects(step)).toEqual(['signing keys cannot be read: this instance is not ready'])
  expect(hasLease(step.state, 149)).toBe(true)
  expect(toStatus(step.state).problem).toContain('kid-2')
  expect(listEffects(advance(startPoll(step.state, 60), failure))).toEqual([])
})

test('does not extend the lease when a row of a newer ring is unreadable', () => {
  const { state } = advance(
    startPoll(createFollowingState(1), 50),
    createPollFailedEvent(new UnreadableKey('kid-2', 2)),
  )
  expect(hasLease(state, LEASE_MS)).toBe(false)
})

test('does not show the error of an unusable ring in the status', () => {
  const step = advance(createFollowingState(1), createPollFailedEvent(new Error('value of a secret')))
  expect(listEffects(step)).toEqual(['the key ring cannot be used: this instance is not ready'])
  expect(toStatus(step.state).problem).toBe('the key ring cannot be used')
})

test('reports the ring again once a problem is solved', () => {
  const { state } = advance(
    startPoll(createFollowingState(1), 50),
    createPollFailedEvent(new UnreadableKey('kid-2', 1)),
  )
  expect(findPollReport(state, 60)?.problem).toContain('kid-2')
  const recovered = advance(startPoll(state, 60), createRingReadEvent(1))
  expect(listEffects(recovered)).toEqual(['the key ring can be read again', 'report'])
  expect(findPollReport(recovered.state, 61)?.problem).toBeUndefined()
})

test('reads the last row of the audit log again if it could not be read', () => {
  const { state } = advance(startPoll(createFollowingState(1), 10), createRingAdoptedEvent(2))
  const failedRead = advance(state, { kind: 'audit-read-failed', error: createUnavailableError() })
  expect(toStatus(failedRead.state)).toMatchObject({ audit: { number: 1 }, audit_unread: true })
  const nextPoll = advance(startPoll(failedRead.state, 20), createRingReadEvent(2))
  expect(listEffects(nextPoll)).toEqual(['read-audit'])
  const auditedState = advance(nextPoll.state, createAuditReadEvent(2)).state
  expect(toStatus(auditedState)).toMatchObject({ audit: { number: 2 } })
  expect(toStatus(auditedState)).not.toHaveProperty('audit_unread')
  expect(listEffects(advance(startPoll(auditedState, 30), createRingReadEvent(2)))).toEqual([])
})

/** Simulates an instance that follows the ring of `world`. It performs one effect at a time, so others can run in between. */
function createInstance(instanceId: string, world: World) {
  let state = INITIAL_STATE
  let pendingEffects: KeyFollowerEffect[] = []
  const handle = (event: KeyFollowerEvent) => {
    const step = advance(state, event)
    state = step.state
    pendingEffects = [...step.effects, ...pendingEffects]
  }
  /** Performs the next effect, or begins a poll if there is none. `failure`, if any, is the error of reading or reporting. */
  function performNext(failure: unknown): void {
    const effect = pendingEffects.shift()
    if (!effect || effect.kind === 'poll-again') return handle({ kind: 'poll-started', now: world.now })
    // Reading the ring can fail in any way. Writing a report decrypts no key, so it cannot find an unreadable one.
    const canFail =
      effect.kind === 'read-ring' || (effect.kind === 'report' && !(failure instanceof UnreadableKey))
    if (failure !== undefined && canFail) {
      pendingEffects = []
      return handle(createPollFailedEvent(failure))
    }
    if (effect.kind === 'report') {
      const reportedAt = new Date(world.now)
      world.followers.set(instanceId, {
        instanceId,
        host: instanceId,
        ...effect.report,
        followedAt: reportedAt,
        seenAt: reportedAt,
      })
    }
    if (effect.kind === 'read-ring') handle(createRingReadEvent(world.version))
    if (effect.kind === 'adopt-ring') handle({ kind: 'ring-adopted', ring: effect.ring, proof: 'proof' })
    if (effect.kind === 'read-audit') handle(createAuditReadEvent(effect.ringVersion))
  }
  /** Returns the version of the ring by which this instance signs; undefined if it may not sign. */
  const getSigningVersion = () => (hasLease(state, world.now) ? state.ring?.version : undefined)
  return { performNext, getSigningVersion }
}
/** The state that the simulated instances share. */
interface World {
  /** Milliseconds. It stands for the clock of every instance and of the database. */
  now: number
  /** The version of the stored ring. */
  version: number
  /** The last report of each instance, by its id. */
  readonly followers: Map<string, Follower>
}

/**
 * A step of the simulation. `advance`: an instance performs its next effect. `wait`: time passes. `change`: a command changes the
 * ring. `check`: a command looks for instances that lag behind.
 */
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      instance: fc.nat(1),
      failure: fc.constantFrom(
        // Repeated, so that most effects succeed.
        'none',
        'none',
        'none',
        'none',
        'unavailable',
        'unreadable',
        'broken' as const,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(80) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('change', 'check' as const) }) },
)
/** `findLaggingInstances` uses only the lease. */
const POLICY = { verifierCacheMs: 0, pollMs: 0, overlapMs: 0, signingPeriodMs: 0, leaseMs: LEASE_MS }

test('no instance signs by an older ring once no follower lags behind, wherever an instance pauses', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const world: World = { now: 0, version: 1, followers: new Map() }
      const instances = ['one', 'two'].map((id) => createInstance(id, world))
      /** The newest version at which a check found no lagging instance. From then on, no instance may sign by an older one. */
      let adoptedVersion = 0
      for (const nextAction of actions) {
        if (nextAction.do === 'wait') world.now += nextAction.ms
        if (nextAction.do === 'change') world.version += 1
        if (nextAction.do === 'advance') {
          const failures = {
            none: undefined,
            unavailable: createUnavailableError(),
            unreadable: new UnreadableKey('kid', world.version),
            broken: new Error('broken'),
          }
          instances[nextAction.instance]?.performNext(failures[nextAction.failure])
        }
        if (nextAction.do === 'check') {
          const followers = [...world.followers.values()]
          const circumstances = { now: new Date(world.now), policy: POLICY, followers }
          if (findLaggingInstances(world, circumstances).length === 0) adoptedVersion = world.version
        }
        for (const { getSigningVersion } of instances)
          expect(getSigningVersion() ?? world.version).toBeGreaterThanOrEqual(adoptedVersion)
      }
    }),
    { numRuns: 3_000 },
  )
})
