/*
 * The operations of the `keys` commands: rotating, revoking and verifying signing keys. `key-ring.ts` decides which step is
 * allowed, and `key-store.ts` stores the change.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { getCurrentActor } from '@plainpath/commands'
import { err, ok, type Result } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import { signProof, verifyProof } from './jws-signer.ts'
import { computeAuditedStates, verifyKeyAudit } from './key-audit.ts'
import type { Follower } from './key-follower-store.ts'
import {
  activate,
  type Circumstances,
  createFirstKey,
  findLaggingInstances,
  findNextStep,
  findSigningKey,
  generate,
  isLive,
  type KeyRefusal,
  type KeyRing,
  type NextStep,
  publish,
  retire,
  revoke,
  type StepName,
  type Transition,
} from './key-ring.ts'
import type { KeySettings } from './key-settings.ts'
import {
  type AppliedChange,
  type KeyStore,
  type RingChange,
  type RingView,
  UnreadableKey,
} from './key-store.ts'
import { generateKeyPair, type SigningAlgorithm } from './signing-key.ts'

/**
 * Creates the first signing key, unless a key already signs. If several callers do so concurrently, exactly one succeeds. If
 * the ring has keys but is still at version 1, the keys are older than the audit log. Then adds them to it, and creates no key.
 *
 * @returns the kid of the new key; undefined if none was created
 */
export async function initKeys(deps: { keys: KeyStore }): Promise<string | undefined> {
  const newKey = generateKeyPair('ES256')
  const applied = await deps.keys.update(getCurrentActor(), ({ ring }) => {
    if (ring.version === 1 && ring.keys.length > 0)
      return ok({
        step: 'adopt',
        transitions: ring.keys.map(({ kid, state }) => ({ kid, from: undefined, to: state })),
      })
    const step = createFirstKey(ring, newKey.kid)
    return step.ok ? ok({ step: 'init', transitions: step.value, added: newKey }) : err(step.error)
  })
  return applied.ok && applied.value.change.step === 'init' ? newKey.kid : undefined
}

interface KeyOperationsDeps {
  readonly keys: KeyStore
  readonly settings: KeySettings
  readonly actor: Actor
}

export interface StepOptions {
  /** The key that the step changes; by default the only key in the state that the step requires. `generate` ignores it. */
  readonly kid?: string | undefined
  /** The algorithm of the key that `generate` creates; by default that of the signing key. The other steps ignore it. */
  readonly algorithm?: SigningAlgorithm | undefined
  /** True to return the change without storing it. */
  readonly dryRun?: boolean | undefined
}

/** Which instances are running, and which of them have not adopted a change. */
interface AdoptionStatus {
  readonly liveInstances: readonly Follower[]
  /** The instances that reported within the last hour, but not within their lease. */
  readonly endedInstances: readonly Follower[]
  /** The live signing instances that still use an older ring. */
  readonly laggingInstances: readonly Follower[]
}

const POLL_MS = 50
/** Added to the intervals of the settings, to allow for a busy machine. */
const EXTRA_WAIT_MS = 5_000

/** The operations on the key ring. */
export interface KeyOperations {
  readonly keys: KeyStore
  toCircumstances(view: RingView): Circumstances
  /** Performs a step, or refuses it if it is not safe yet. */
  step(name: StepName, options?: StepOptions): Promise<Result<AppliedChange, KeyRefusal>>
  /**
   * Performs the next step if it is due.
   *
   * @param options.early true to start a rotation before the period of the signing key has passed
   * @returns the change; or the step as `next` until its time has come; or a refusal if its time has come but it is not safe yet,
   *   for instance because an instance has not adopted the last change
   */
  rotate(
    options?: Omit<StepOptions, 'kid'> & { early?: boolean | undefined },
  ): Promise<Result<AppliedChange | { readonly next: NextStep }, KeyRefusal>>
  /**
   * Revokes a key immediately. If it was the signing key, its successor takes over immediately, or a new key if there is no
   * successor.
   *
   * @returns the change, or in `unchangedRing` the current ring if the key had been revoked before
   */
  revoke(
    kid: string,
    options: { reason: string; dryRun?: boolean | undefined },
  ): Promise<Result<AppliedChange | { readonly unchangedRing: KeyRing }, KeyRefusal>>
  /**
   * Waits until every signing instance has adopted this version of the ring or a later one. An instance that stops reporting does
   * not count once its lease has expired. The wait ends after at most `leaseMs` + `pollMs` + 5 s.
   */
  waitForInstances(version: number): Promise<AdoptionStatus>
}

export function createKeyOperations({ keys, settings, actor }: KeyOperationsDeps): KeyOperations {
  const toCircumstances = ({ now, followers }: RingView): Circumstances => ({
    now,
    followers,
    policy: settings,
  })

  /** Creates the function that decides how a step changes the ring, or refuses it. */
  function createDecider(name: StepName, { kid, algorithm }: StepOptions) {
    return (view: RingView): Result<RingChange, KeyRefusal> => {
      const { ring } = view
      if (name === 'generate') {
        const newKey = generateKeyPair(algorithm ?? findSigningKey(ring)?.algorithm ?? 'ES256')
        return toRingChange(name, generate(ring, newKey.kid), newKey)
      }
      const chosenKid = kid === undefined ? selectOnlyKey(ring, REQUIRED_STATES[name]) : ok(kid)
      if (!chosenKid.ok) return err(chosenKid.error)
      const steps = { publish, activate, retire }
      return toRingChange(name, steps[name](ring, chosenKid.value, toCircumstances(view)))
    }
  }

  return {
    keys,
    toCircumstances,
    step: (name, options = {}) => keys.update(actor, createDecider(name, options), options),
    async rotate(options = {}) {
      const view = await keys.view()
      const next = findNextStep(view.ring, toCircumstances(view))
      if (!next) return err({ reason: 'There is no signing key. Create one with: auth keys init' })
      const hasSuccessor = view.ring.keys.some(({ state }) => state === 'generated' || state === 'published')
      const isEarlyStart = next.safeFrom > view.now && options.early === true && !hasSuccessor
      if (next.safeFrom > view.now && !isEarlyStart) return ok({ next })
      const { step, kid } = isEarlyStart ? { step: 'generate' as const, kid: undefined } : next
      return keys.update(actor, createDecider(step, { ...options, kid }), options)
    },
    async revoke(kid, options) {
      const { ring } = await keys.view()
      const key = ring.keys.find((candidate) => candidate.kid === kid)
      if (key?.state === 'revoked') return ok({ unchangedRing: ring })
      // If the kid is unknown, `revoke` refuses below. The algorithm then has no effect.
      const successor = generateKeyPair(key?.algorithm ?? 'ES256')
      return keys.update(
        actor,
        (view) => {
          const change = toRingChange('revoke', revoke(view.ring, kid, successor.kid), successor)
          return change.ok ? ok({ ...change.value, reason: options.reason }) : change
        },
        options,
      )
    },
    async waitForInstances(version) {
      const deadline = performance.now() + settings.leaseMs + settings.pollMs + EXTRA_WAIT_MS
      for (;;) {
        const view = await keys.view()
        const circumstances = toCircumstances(view)
        const laggingInstances = findLaggingInstances({ version }, circumstances)
        const liveInstances = view.followers.filter((follower) => isLive(follower, circumstances))
        const endedInstances = view.followers.filter((follower) => !isLive(follower, circumstances))
        if (laggingInstances.length === 0 || performance.now() > deadline)
          return { liveInstances, endedInstances, laggingInstances }
        await sleep(POLL_MS)
      }
    },
  }
}

/** The state that a key must have for each step. */
const REQUIRED_STATES = { publish: 'generated', activate: 'published', retire: 'retiring' } as const

function selectOnlyKey(
  ring: KeyRing,
  state: (typeof REQUIRED_STATES)[keyof typeof REQUIRED_STATES],
): Result<string, KeyRefusal> {
  const [onlyKey, anotherKey] = ring.keys.filter((key) => key.state === state)
  if (!onlyKey) return err({ reason: `There is no key in the state ${state}.` })
  return anotherKey
    ? err({ reason: `Several keys are in the state ${state}. Add the kid of one of them to the command.` })
    : ok(onlyKey.kid)
}

function toRingChange(
  step: string,
  decision: Result<readonly Transition[], KeyRefusal>,
  added?: RingChange['added'],
): Result<RingChange, KeyRefusal> {
  return decision.ok
    ? ok({ step, transitions: decision.value, ...(added && { added }) })
    : err(decision.error)
}

interface KeyVerification {
  readonly keyCount: number
  readonly liveInstanceCount: number
  /** The hash of the newest audit row, base64url; undefined if the audit log is empty or invalid. */
  readonly auditHead: string | undefined
  /** The faults, each as a sentence. */
  readonly findings: readonly string[]
}

/**
 * Verifies the signing keys:
 *
 * - Decrypts every private key, and verifies a signature by it.
 * - Verifies the audit log, and compares the key states with it.
 * - Verifies that each live instance uses the current ring and signs with the signing key.
 */
export async function verifyKeys(operations: KeyOperations): Promise<KeyVerification> {
  const inspectedKeys = await operations.keys.inspect()
  const view = await operations.keys.view()
  const findings: string[] = []
  for (const key of inspectedKeys) {
    if (key instanceof UnreadableKey)
      findings.push(`Key ${key.kid} cannot be decrypted, or its row was changed.`)
    else if (key.privateJwk) {
      const claims = { instanceId: 'verify', ringVersion: view.ring.version }
      if (!(await verifyProof(signProof(key.privateJwk, claims), key.publicJwk, claims)))
        findings.push(`The public part of key ${key.kid} does not verify what its private part signs.`)
    }
  }
  const chain = verifyKeyAudit(await operations.keys.readAudit())
  if (!chain.ok) findings.push(chain.error)
  else {
    const auditedStates = computeAuditedStates(chain.value.entries)
    for (const { kid, state } of view.ring.keys) {
      const auditedState = auditedStates.get(kid)
      if (auditedState !== state)
        findings.push(
          auditedState === undefined
            ? `Key ${kid} is in the state ${state}, but the audit log does not contain it.`
            : `Key ${kid} is in the state ${state}, but its state in the audit log is ${auditedState}.`,
        )
    }
    const kids = new Set(view.ring.keys.map(({ kid }) => kid))
    for (const kid of auditedStates.keys())
      if (!kids.has(kid)) findings.push(`Key ${kid} is in the audit log, but not in the key ring.`)
  }
  const signingKey = findSigningKey(view.ring)
  if (!signingKey) findings.push('There is no signing key.')
  const circumstances = operations.toCircumstances(view)
  const liveInstances = view.followers.filter((follower) => isLive(follower, circumstances))
  for (const instance of liveInstances) findings.push(...(await findInstanceFaults(instance, view.ring)))
  return {
    keyCount: inspectedKeys.length,
    liveInstanceCount: liveInstances.length,
    auditHead: chain.ok ? chain.value.head : undefined,
    findings,
  }
}

/**
 * Finds the faults in the last report of an instance. Without a signing key, an instance cannot sign, so only a problem that it
 * reported counts as a fault.
 */
async function findInstanceFaults(instance: Follower, ring: KeyRing): Promise<string[]> {
  const { host, problem, ringVersion, signingKid, proof } = instance
  const signingKey = findSigningKey(ring)
  if (problem) return [`Instance ${host}: ${problem}.`]
  if (!signingKey) return []
  // An instance that does not sign reports no ring.
  if (signingKid === undefined) return [`Instance ${host} does not sign.`]
  const faults: string[] = []
  if (ringVersion !== ring.version)
    faults.push(`Instance ${host} uses ring ${ringVersion}, but the current ring is ${ring.version}.`)
  if (signingKid !== signingKey.kid)
    faults.push(`Instance ${host} signs with ${signingKid}, but the signing key is ${signingKey.kid}.`)
  if (faults.length === 0 && !(await verifyProof(proof ?? '', signingKey.publicJwk, instance)))
    faults.push(`The signing key does not verify the signature that instance ${host} reported.`)
  return faults
}
