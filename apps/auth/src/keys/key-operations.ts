/*
 * The operations of the `keys` commands: rotating, revoking and verifying signing keys. Which step is allowed is decided
 * in `key-ring.ts`, and storing it is up to `key-store.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { thisActor } from '@plainpath/commands'
import { err, ok, type Result } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import { signProof, verifyProof } from './jws-signer.ts'
import { checkChain, statesByAudit } from './key-audit.ts'
import type { Follower } from './key-followers.ts'
import {
  activate,
  type Circumstances,
  createFirstKey,
  type DueStep,
  findDueStep,
  generate,
  isLive,
  type KeyRefusal,
  type KeyRing,
  laggards,
  publish,
  retire,
  revoke,
  type StepName,
  signingKey,
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
 * Creates the first signing key, unless there is one; of several concurrent callers exactly one creates it. Keys that
 * are older than the audit are added to it.
 *
 * @returns the kid of the new key, or undefined when there was a key already
 */
export async function initKeys(deps: { keys: KeyStore }): Promise<string | undefined> {
  const added = generateKeyPair('ES256')
  const done = await deps.keys.update(thisActor(), ({ ring }) => {
    if (ring.version === 1 && ring.keys.length > 0)
      return ok({
        step: 'adopt',
        transitions: ring.keys.map(({ kid, state }) => ({ kid, from: undefined, to: state })),
      })
    const step = createFirstKey(ring, added.kid)
    return step.ok ? ok({ step: 'init', transitions: step.value, added }) : err(step.error)
  })
  return done.ok && done.value.change.step === 'init' ? added.kid : undefined
}

interface KeyOperationsDeps {
  readonly keys: KeyStore
  readonly settings: KeySettings
  readonly by: Actor
}

export interface StepOptions {
  readonly kid?: string | undefined
  readonly algorithm?: SigningAlgorithm | undefined
  readonly trial?: boolean | undefined
}

/** Which instances have adopted a change. */
export interface Followed {
  readonly live: readonly Follower[]
  /** Those that still sign by an older ring. */
  readonly behind: readonly Follower[]
}

const POLL_MS = 50
/** Allows for a busy machine, beyond the settings. */
const SLACK_MS = 5_000

/** Creates the operations. Each is one step, and refuses when the step is not safe yet. */
export function keyOperations({ keys, settings, by }: KeyOperationsDeps) {
  const circumstances = ({ now, followers }: RingView): Circumstances => ({
    now,
    followers,
    policy: settings,
  })

  function decide(name: StepName, { kid, algorithm }: StepOptions) {
    return (view: RingView): Result<RingChange, KeyRefusal> => {
      const { ring } = view
      if (name === 'generate') {
        const added = generateKeyPair(algorithm ?? signingKey(ring)?.algorithm ?? 'ES256')
        return asChange(name, generate(ring, added.kid), added)
      }
      const chosen = kid === undefined ? onlyOne(ring, FROM[name]) : ok(kid)
      if (!chosen.ok) return err(chosen.error)
      const steps = { publish, activate, retire }
      return asChange(name, steps[name](ring, chosen.value, circumstances(view)))
    }
  }

  return {
    keys,
    circumstances,
    step: (name: StepName, options: StepOptions = {}) => keys.update(by, decide(name, options), options),
    /**
     * Performs the step that is due, if there is one.
     *
     * @param options.early starts a rotation before the key's period has passed
     */
    async rotate(
      options: StepOptions & { early?: boolean | undefined } = {},
    ): Promise<Result<AppliedChange | { readonly next: DueStep }, KeyRefusal>> {
      const view = await keys.view()
      const next = findDueStep(view.ring, circumstances(view))
      if (!next) return err({ reason: 'No key signs: run "auth keys init" once.' })
      const successor = view.ring.keys.some(({ state }) => state === 'generated' || state === 'published')
      const begins = next.safeFrom > view.now && options.early === true && !successor
      if (next.safeFrom > view.now && !begins) return ok({ next })
      const { step, kid } = begins ? { step: 'generate' as const, kid: undefined } : next
      return keys.update(by, decide(step, { ...options, kid }), options)
    },
    /** Revokes a key at once; the waiting successor, or a new key, signs in its place. Repeating it changes nothing. */
    async revoke(
      kid: string,
      options: { reason: string; trial?: boolean | undefined },
    ): Promise<Result<AppliedChange | { readonly already: KeyRing }, KeyRefusal>> {
      const { ring } = await keys.view()
      const key = ring.keys.find((each) => each.kid === kid)
      if (key?.state === 'revoked') return ok({ already: ring })
      const successor = generateKeyPair(key?.algorithm ?? 'ES256')
      return keys.update(
        by,
        (view) => {
          const change = asChange('revoke', revoke(view.ring, kid, successor.kid), successor)
          return change.ok ? ok({ ...change.value, reason: options.reason }) : change
        },
        options,
      )
    },
    /**
     * Waits until every signing instance has adopted this version of the ring or a later one. An instance that does not
     * report stops signing when its lease expires, so the wait is bounded.
     */
    async waitForInstances(version: number): Promise<Followed> {
      const deadline = performance.now() + settings.leaseMs + settings.pollMs + SLACK_MS
      for (;;) {
        const view = await keys.view()
        const at = circumstances(view)
        const behind = laggards({ version }, at)
        const live = view.followers.filter((each) => isLive(each, at))
        if (behind.length === 0 || performance.now() > deadline) return { live, behind }
        await sleep(POLL_MS)
      }
    },
  }
}

export type KeyOperations = ReturnType<typeof keyOperations>

const FROM = { publish: 'generated', activate: 'published', retire: 'retiring' } as const

function onlyOne(ring: KeyRing, state: (typeof FROM)[keyof typeof FROM]): Result<string, KeyRefusal> {
  const [only, another] = ring.keys.filter((key) => key.state === state)
  if (!only) return err({ reason: `No key is ${state}.` })
  return another ? err({ reason: `Several keys are ${state}: name one.` }) : ok(only.kid)
}

function asChange(
  step: string,
  decided: Result<readonly Transition[], KeyRefusal>,
  added?: RingChange['added'],
): Result<RingChange, KeyRefusal> {
  return decided.ok ? ok({ step, transitions: decided.value, ...(added && { added }) }) : err(decided.error)
}

interface Verification {
  readonly keys: number
  readonly instances: number
  /** Head of the audit. */
  readonly head: string | undefined
  /** Each fault as a sentence; empty when there is none. */
  readonly findings: readonly string[]
}

/**
 * Verifies the signing keys: decrypts every key, signs with each that can sign and verifies the result, compares their
 * states with the audit, and verifies the proof of each live instance.
 */
export async function verifyKeys(operations: KeyOperations): Promise<Verification> {
  const inspected = await operations.keys.inspect()
  const view = await operations.keys.view()
  const findings: string[] = []
  for (const key of inspected) {
    if (key instanceof UnreadableKey)
      findings.push(`Key ${key.kid} cannot be opened, or its row was changed.`)
    else if (key.privateJwk) {
      const claims = { instanceId: 'verify', ringVersion: view.ring.version }
      if (!(await verifyProof(signProof(key.privateJwk, claims), key.publicJwk, claims)))
        findings.push(`Key ${key.kid} does not verify what it signs.`)
    }
  }
  const chain = checkChain(await operations.keys.audit())
  if (!chain.ok) findings.push(chain.error)
  else {
    const written = statesByAudit(chain.value.entries)
    for (const { kid, state } of view.ring.keys) {
      const audited = written.get(kid)
      if (audited !== state)
        findings.push(`Key ${kid} is ${state}; by the audit it is ${audited ?? 'unknown'}.`)
    }
    const kids = new Set(view.ring.keys.map(({ kid }) => kid))
    for (const kid of written.keys()) if (!kids.has(kid)) findings.push(`Key ${kid} is gone.`)
  }
  const signing = signingKey(view.ring)
  if (!signing) findings.push('No key signs.')
  const live = view.followers.filter((each) => isLive(each, operations.circumstances(view)))
  for (const each of live) {
    if (each.problem) findings.push(`Instance ${each.host}: ${each.problem}.`)
    else if (!signing || each.signingKid !== signing.kid || each.ringVersion !== view.ring.version)
      findings.push(
        `Instance ${each.host} signs with ${each.signingKid ?? 'nothing'}, by ring ${each.ringVersion}.`,
      )
    else if (!(await verifyProof(each.proof ?? '', signing.publicJwk, each)))
      findings.push(`Instance ${each.host} signs what its key does not verify.`)
  }
  return {
    keys: inspected.length,
    instances: live.length,
    head: chain.ok ? chain.value.head : undefined,
    findings,
  }
}
