import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '@plainpath/domain'
import type { Actor } from '../audit-chain.ts'
import {
  activate,
  type Circumstances,
  type DueStep,
  due,
  type Follower,
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
import type { AppliedChange, KeyStore, RingChange, RingView } from './key-store.ts'
import { generateKeyPair, type SigningAlgorithm } from './signing-key.ts'

export interface KeyOperationsDeps {
  readonly keys: KeyStore
  readonly settings: KeySettings
  readonly by: Actor
}

export interface StepOptions {
  readonly kid?: string | undefined
  readonly algorithm?: SigningAlgorithm | undefined
  readonly trial?: boolean | undefined
}

/** Who signs with what, after a change. */
export interface Followed {
  readonly live: readonly Follower[]
  /** Those that sign by an older ring still. */
  readonly behind: readonly Follower[]
}

const ASK_MS = 50
/** What a machine that is busy may take beyond the settings. */
const SLACK_MS = 5_000

/** What the security team does with keys: one step each, safe to ask for at any time. */
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
    view: () => keys.view(),
    circumstances,
    step: (name: StepName, options: StepOptions = {}) =>
      keys.update(by, decide(name, options), { trial: options.trial ?? false }),
    /**
     * Does the step that is due, if there is one.
     *
     * @param options.early begins a rotation before the key's period has passed
     */
    async rotate(
      options: StepOptions & { early?: boolean | undefined } = {},
    ): Promise<Result<AppliedChange | { readonly next: DueStep }, KeyRefusal>> {
      const view = await keys.view()
      const next = due(view.ring, circumstances(view))
      if (!next) return err({ reason: 'No key signs: run "auth keys init" once.' })
      const successor = view.ring.keys.some(({ state }) => state === 'generated' || state === 'published')
      const begins = next.safeFrom > view.now && options.early === true && !successor
      if (next.safeFrom > view.now && !begins) return ok({ next })
      const { step, kid } = begins ? { step: 'generate' as const, kid: undefined } : next
      return keys.update(by, decide(step, { ...options, kid }), { trial: options.trial ?? false })
    },
    /** Ends a key at once; one that waits, or a new one, signs in its place. Asked again, it changes nothing more. */
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
        { trial: options.trial ?? false },
      )
    },
    /**
     * Waits until every instance that signs does so by this version of the ring or a later one. An instance that says
     * nothing stops signing after the lease, so this ends.
     */
    async followed(version: number): Promise<Followed> {
      const deadline = performance.now() + settings.leaseMs + settings.pollMs + SLACK_MS
      for (;;) {
        const view = await keys.view()
        const at = circumstances(view)
        const behind = laggards({ version }, at)
        const live = view.followers.filter((each) => isLive(each, at))
        if (behind.length === 0 || performance.now() > deadline) return { live, behind }
        await sleep(ASK_MS)
      }
    },
    rewrap: (options: { trial?: boolean }) => keys.rewrap(by, options),
    inspect: () => keys.inspect(),
    audit: () => keys.audit(),
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
