/*
 * The rules of key rotation as pure functions: when each step is allowed, and what it changes. In a rotation, the state of a key
 * changes from generated to published, signing, retiring and finally retired. A key can be revoked in each of these states. The
 * first key, and the key that replaces a revoked signing key, sign immediately.
 */
import { err, ok, type Result } from '@plainpath/domain'
import type { Follower } from './key-follower-store.ts'
import type { KeySettings } from './key-settings.ts'
import type { KeyRecord, KeyState } from './signing-key.ts'

/** All keys, oldest first, and a version, which each change increments. */
export interface KeyRing {
  readonly version: number
  readonly keys: readonly KeyRecord[]
}

/** The settings that decide when a step is safe: see `KeySettings`. */
export type KeyPolicy = Pick<
  KeySettings,
  'verifierCacheMs' | 'pollMs' | 'overlapMs' | 'signingPeriodMs' | 'leaseMs'
>

/** A change of a key state. `from` is undefined for a new key. */
export interface Transition {
  readonly kid: string
  readonly from: KeyState | undefined
  readonly to: KeyState
}

/** Why a step is refused. */
export interface KeyRefusal {
  /** One or more sentences for the operator. */
  readonly reason: string
  /** When the step becomes safe, if nothing changes until then. */
  readonly safeFrom?: Date
}

/** The facts that decide whether a step is allowed. */
export interface Circumstances {
  /** The time of the database, because the clock of an operator's machine may be wrong (docs/decisions/0007). */
  readonly now: Date
  readonly policy: KeyPolicy
  /** The last reports of the instances, some of which may have stopped: see `isLive`. */
  readonly followers: readonly Follower[]
}

type StepResult = Result<readonly Transition[], KeyRefusal>
const refuse = (reason: string, safeFrom?: Date): StepResult => err({ reason, ...(safeFrom && { safeFrom }) })

/** Creates the first key. It signs immediately, because no verifier can have cached an earlier key set. */
export function createFirstKey(ring: KeyRing, kid: string): StepResult {
  if (findSigningKey(ring)) return refuse('There is already a signing key.')
  return ok([{ kid, from: undefined, to: 'signing' }])
}

/** Adds a successor of the signing key. There may be only one at a time. */
export function generate(ring: KeyRing, kid: string): StepResult {
  const successorKey = ring.keys.find(({ state }) => state === 'generated' || state === 'published')
  if (successorKey)
    return refuse(`There is already a successor: ${successorKey.kid}, in the state ${successorKey.state}.`)
  return ok([{ kid, from: undefined, to: 'generated' }])
}

/** Adds the successor to the published key set. */
export function publish(ring: KeyRing, kid: string): StepResult {
  return requireState(ring, kid, 'generated', () => ok([{ kid, from: 'generated', to: 'published' }]))
}

/**
 * Lets a published key sign. The previous key retires: its private part is erased, and its public part stays published. The
 * step is refused until every signing instance publishes the new key, and caches of the old key set have expired.
 */
export function activate(ring: KeyRing, kid: string, circumstances: Circumstances): StepResult {
  return requireState(ring, kid, 'published', (key) => {
    const laggingInstances = findLaggingInstances(ring, circumstances)
    if (laggingInstances.length > 0)
      return refuse(
        `These instances do not publish the key yet: ${laggingInstances.map(({ host }) => host).join(', ')}.`,
      )
    const safeFrom = computeActivationTime(key, circumstances)
    if (safeFrom > circumstances.now)
      return refuse('APIs and other verifiers may still cache the key set without this key.', safeFrom)
    const previousKey = findSigningKey(ring)
    return ok([
      ...(previousKey ? [{ kid: previousKey.kid, from: 'signing', to: 'retiring' } as const] : []),
      { kid, from: 'published', to: 'signing' },
    ])
  })
}

/**
 * Removes a retiring key from the published set. The step is refused while an instance signs with the key, and until the overlap
 * has passed, because something that the key signed may be in use until then.
 */
export function retire(ring: KeyRing, kid: string, circumstances: Circumstances): StepResult {
  return requireState(ring, kid, 'retiring', (key) => {
    const signingInstances = circumstances.followers.filter(
      (follower) => isLive(follower, circumstances) && follower.signingKid === kid,
    )
    if (signingInstances.length > 0)
      return refuse(
        `These instances still sign with the key: ${signingInstances.map(({ host }) => host).join(', ')}.`,
      )
    const safeFrom = computeRetirementTime(key, circumstances.policy)
    if (safeFrom > circumstances.now)
      return refuse('Something that this key signed may still be in use.', safeFrom)
    return ok([{ kid, from: 'retiring', to: 'retired' }])
  })
}

/**
 * Revokes a key immediately, in any state.
 *
 * @param newKid the kid of a new key, which signs if the revoked key is the signing key and has no successor
 */
export function revoke(ring: KeyRing, kid: string, newKid: string): StepResult {
  const key = ring.keys.find((candidate) => candidate.kid === kid)
  if (!key) return refuse(`There is no key ${kid}.`)
  if (key.state === 'revoked') return refuse(`Key ${kid} is already revoked.`)
  const revocation: Transition = { kid, from: key.state, to: 'revoked' }
  if (key.state !== 'signing') return ok([revocation])
  const successorKey =
    ring.keys.find(({ state }) => state === 'published') ??
    ring.keys.find(({ state }) => state === 'generated')
  return ok([revocation, { kid: successorKey?.kid ?? newKid, from: successorKey?.state, to: 'signing' }])
}

export type StepName = 'generate' | 'publish' | 'activate' | 'retire'

/** The next step of a rotation, which is due from `safeFrom` on. */
export interface NextStep {
  readonly step: StepName
  /** The key that the step changes; undefined for `generate`. */
  readonly kid: string | undefined
  readonly safeFrom: Date
}

/**
 * Finds the next step of the rotation. It is due from its `safeFrom` on, but may still be refused, for instance because an
 * instance has not adopted the last change.
 *
 * @returns undefined if no key signs
 */
export function findNextStep(ring: KeyRing, circumstances: Circumstances): NextStep | undefined {
  const signingKey = findSigningKey(ring)
  if (!signingKey) return undefined
  const steps: NextStep[] = []
  let hasSuccessor = false
  for (const key of ring.keys) {
    const addStep = (name: StepName, safeFrom: Date) => steps.push({ step: name, kid: key.kid, safeFrom })
    if (key.state === 'retiring') addStep('retire', computeRetirementTime(key, circumstances.policy))
    if (key.state === 'published') addStep('activate', computeActivationTime(key, circumstances))
    if (key.state === 'generated') addStep('publish', key.stateSince)
    hasSuccessor ||= key.state === 'published' || key.state === 'generated'
  }
  if (!hasSuccessor)
    steps.push({
      step: 'generate',
      kid: undefined,
      safeFrom: addMs(signingKey.stateSince, circumstances.policy.signingPeriodMs),
    })
  return steps.reduce((soonest, step) => (step.safeFrom < soonest.safeFrom ? step : soonest))
}

/**
 * Computes the ring after a change.
 *
 * @throws {Error} if a transition names a key that is neither in the ring nor `newKey`
 */
export function applyChange(
  ring: KeyRing,
  transitions: readonly Transition[],
  now: Date,
  newKey?: Pick<KeyRecord, 'kid' | 'algorithm' | 'publicJwk'>,
): KeyRing {
  const keys = [...ring.keys]
  for (const { kid, to } of transitions) {
    const index = keys.findIndex((key) => key.kid === kid)
    const key = keys[index]
    if (key) keys[index] = { ...key, state: to, stateSince: now }
    else if (newKey?.kid === kid) keys.push({ ...newKey, state: to, stateSince: now, createdAt: now })
    else throw new Error(`a step named ${kid}, which is not in the ring`)
  }
  return { version: ring.version + 1, keys }
}

/** Returns whether an instance reported recently enough that it may still sign. */
export const isLive = (follower: Follower, { now, policy }: Pick<Circumstances, 'now' | 'policy'>) =>
  follower.seenAt.getTime() + policy.leaseMs > now.getTime()

export const findSigningKey = (ring: KeyRing) => ring.keys.find(({ state }) => state === 'signing')

/**
 * Finds the live instances that use an older ring. Instances that do not sign are ignored: they refuse their key set to APIs,
 * and the public key set that they serve is not cacheable.
 */
export const findLaggingInstances = (ring: Pick<KeyRing, 'version'>, circumstances: Circumstances) =>
  circumstances.followers.filter(
    (follower) =>
      isLive(follower, circumstances) &&
      follower.signingKid !== undefined &&
      follower.ringVersion < ring.version,
  )

const addMs = (from: Date, ms: number) => new Date(from.getTime() + ms)

/**
 * Computes when a key may begin to sign. The last instance to adopt the new key set may have served the old set until it did so,
 * and a verifier may cache the old set for `verifierCacheMs`.
 */
function computeActivationTime(key: KeyRecord, circumstances: Circumstances): Date {
  const { policy, followers } = circumstances
  const adoptionTimes = followers
    .filter((follower) => isLive(follower, circumstances))
    .map(({ followedAt }) => followedAt.getTime())
  const adoptedByAllAt = Math.max(key.stateSince.getTime() + policy.pollMs, ...adoptionTimes)
  return new Date(adoptedByAllAt + policy.verifierCacheMs)
}

/**
 * Computes when a key may be retired. An instance may sign with it until the instance's next poll, and what it signed may be in
 * use for `overlapMs`.
 */
const computeRetirementTime = (key: KeyRecord, { pollMs, overlapMs }: KeyPolicy) =>
  addMs(key.stateSince, pollMs + overlapMs)

/** Takes a step, or refuses it unless the key is in the state that the step needs. */
function requireState(
  ring: KeyRing,
  kid: string,
  state: KeyState,
  takeStep: (key: KeyRecord) => StepResult,
): StepResult {
  const key = ring.keys.find((candidate) => candidate.kid === kid)
  if (!key) return refuse(`There is no key ${kid}.`)
  return key.state === state
    ? takeStep(key)
    : refuse(`Key ${kid} is in the state ${key.state}, but this step needs the state ${state}.`)
}
