/*
 * The rules of key rotation as pure functions: which step is allowed when, and what it changes. A key goes from
 * generated to published, signing, retiring and retired, or from any state to revoked.
 */
import { err, ok, type Result } from '@plainpath/domain'
import type { Follower } from './key-followers.ts'
import type { KeySettings } from './key-settings.ts'
import type { KeyRecord, KeyState } from './signing-key.ts'

/** All keys, oldest first, and the number of changes so far. */
export interface KeyRing {
  readonly version: number
  readonly keys: readonly KeyRecord[]
}

export type KeyPolicy = Pick<KeySettings, 'maxAgeMs' | 'pollMs' | 'overlapMs' | 'periodMs' | 'leaseMs'>

/** `from` is undefined for a key that is new. */
export interface Transition {
  readonly kid: string
  readonly from: KeyState | undefined
  readonly to: KeyState
}

export interface KeyRefusal {
  readonly reason: string
  /** When the step will be safe, as far as is known now. */
  readonly safeFrom?: Date
}

/** The facts that decide whether a step is allowed. */
export interface Circumstances {
  readonly now: Date
  readonly policy: KeyPolicy
  readonly followers: readonly Follower[]
}

type Step = Result<readonly Transition[], KeyRefusal>
const refuse = (reason: string, safeFrom?: Date): Step => err({ reason, ...(safeFrom && { safeFrom }) })

/** Creates the first key, which signs at once: no verifier has cached an earlier key set. */
export function createFirstKey(ring: KeyRing, kid: string): Step {
  if (signingKey(ring)) return refuse('A key signs already.')
  return ok([{ kid, from: undefined, to: 'signing' }])
}

/** Adds a successor of the signing key. There may be one at a time. */
export function generate(ring: KeyRing, kid: string): Step {
  const waiting = ring.keys.find(({ state }) => state === 'generated' || state === 'published')
  if (waiting) return refuse(`${waiting.kid} is ${waiting.state} already; it is the successor.`)
  return ok([{ kid, from: undefined, to: 'generated' }])
}

/** Adds the successor to the published key set. */
export function publish(ring: KeyRing, kid: string): Step {
  return inState(ring, kid, 'generated', () => ok([{ kid, from: 'generated', to: 'published' }]))
}

/**
 * Lets a published key sign. The private part of the key before it is erased; its public part stays published. Refused
 * until every instance publishes the new key, and caches of the old key set have expired.
 */
export function activate(ring: KeyRing, kid: string, at: Circumstances): Step {
  return inState(ring, kid, 'published', (key) => {
    const behind = laggards(ring, at)
    if (behind.length > 0)
      return refuse(`Not every instance publishes it yet: ${behind.map(({ host }) => host).join(', ')}.`)
    const safeFrom = activationSafeFrom(key, at)
    if (safeFrom > at.now) return refuse('Others may still keep the key set without it.', safeFrom)
    const before = signingKey(ring)
    return ok([
      ...(before ? [{ kid: before.kid, from: 'signing', to: 'retiring' } as const] : []),
      { kid, from: 'published', to: 'signing' },
    ])
  })
}

/** Removes a key from the published set, once nothing that it signed can be in use. */
export function retire(ring: KeyRing, kid: string, at: Circumstances): Step {
  return inState(ring, kid, 'retiring', (key) => {
    const still = at.followers.filter((each) => isLive(each, at) && each.signingKid === kid)
    if (still.length > 0)
      return refuse(`An instance still signs with it: ${still.map(({ host }) => host).join(', ')}.`)
    const safeFrom = retirementSafeFrom(key, at.policy)
    if (safeFrom > at.now) return refuse('What it signed may still be in use.', safeFrom)
    return ok([{ kid, from: 'retiring', to: 'retired' }])
  })
}

/**
 * Revokes a key at once, from any state.
 *
 * @param successor kid of a new key, used when the revoked key is the signing one and no successor waits
 */
export function revoke(ring: KeyRing, kid: string, successor: string): Step {
  const key = ring.keys.find((each) => each.kid === kid)
  if (!key) return refuse(`There is no key ${kid}.`)
  if (key.state === 'revoked') return refuse(`${kid} is revoked already.`)
  const revocation: Transition = { kid, from: key.state, to: 'revoked' }
  if (key.state !== 'signing') return ok([revocation])
  const waiting =
    ring.keys.find(({ state }) => state === 'published') ??
    ring.keys.find(({ state }) => state === 'generated')
  return ok([revocation, { kid: waiting?.kid ?? successor, from: waiting?.state, to: 'signing' }])
}

export type StepName = 'generate' | 'publish' | 'activate' | 'retire'

export interface DueStep {
  readonly step: StepName
  /** The key that the step changes; undefined for `generate`. */
  readonly kid: string | undefined
  readonly safeFrom: Date
}

/** Finds the next step of the rotation, which is due from its `safeFrom`. @returns undefined when no key signs */
export function findDueStep(ring: KeyRing, at: Circumstances): DueStep | undefined {
  const signing = signingKey(ring)
  if (!signing) return undefined
  const steps: DueStep[] = []
  let successor = false
  for (const key of ring.keys) {
    const step = (name: StepName, safeFrom: Date) => steps.push({ step: name, kid: key.kid, safeFrom })
    if (key.state === 'retiring') step('retire', retirementSafeFrom(key, at.policy))
    if (key.state === 'published') step('activate', activationSafeFrom(key, at))
    if (key.state === 'generated') step('publish', key.stateSince)
    successor ||= key.state === 'published' || key.state === 'generated'
  }
  if (!successor)
    steps.push({ step: 'generate', kid: undefined, safeFrom: later(signing.stateSince, at.policy.periodMs) })
  return steps.reduce((soonest, each) => (each.safeFrom < soonest.safeFrom ? each : soonest))
}

/** Computes the ring after a change. @throws {Error} when a transition names a key that is not in the ring */
export function applyChange(
  ring: KeyRing,
  transitions: readonly Transition[],
  now: Date,
  added?: Pick<KeyRecord, 'kid' | 'algorithm' | 'publicJwk'>,
): KeyRing {
  const keys = [...ring.keys]
  for (const { kid, to } of transitions) {
    const index = keys.findIndex((key) => key.kid === kid)
    const key = keys[index]
    if (key) keys[index] = { ...key, state: to, stateSince: now }
    else if (added?.kid === kid) keys.push({ ...added, state: to, stateSince: now, createdAt: now })
    else throw new Error(`a step named ${kid}, which is not in the ring`)
  }
  return { version: ring.version + 1, keys }
}

/** True when an instance reported recently enough that it may still sign. */
export const isLive = (follower: Follower, { now, policy }: Pick<Circumstances, 'now' | 'policy'>) =>
  follower.seenAt.getTime() + policy.leaseMs > now.getTime()

export const signingKey = (ring: KeyRing) => ring.keys.find(({ state }) => state === 'signing')

/** Finds the live instances that sign by an older ring. An instance that does not sign publishes nothing either. */
export const laggards = (ring: Pick<KeyRing, 'version'>, at: Circumstances) =>
  at.followers.filter(
    (each) => isLive(each, at) && each.signingKid !== undefined && each.ringVersion < ring.version,
  )

const later = (from: Date, ms: number) => new Date(from.getTime() + ms)

/** A verifier may have fetched the old key set from the last instance to adopt the new one, and caches it for `maxAge`. */
function activationSafeFrom(key: KeyRecord, { policy, followers, ...at }: Circumstances): Date {
  const adoptedAt = followers
    .filter((each) => isLive(each, { policy, ...at }))
    .map(({ followedAt }) => followedAt.getTime())
  const latest = Math.max(key.stateSince.getTime() + policy.pollMs, ...adoptedAt)
  return new Date(latest + policy.maxAgeMs)
}

const retirementSafeFrom = (key: KeyRecord, { pollMs, overlapMs }: KeyPolicy) =>
  later(key.stateSince, pollMs + overlapMs)

function inState(ring: KeyRing, kid: string, state: KeyState, step: (key: KeyRecord) => Step): Step {
  const key = ring.keys.find((each) => each.kid === kid)
  if (!key) return refuse(`There is no key ${kid}.`)
  return key.state === state ? step(key) : refuse(`${kid} is ${key.state}, not ${state}.`)
}
