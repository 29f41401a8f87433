import { addressNetworks } from './client-address.ts'
import { daysOf, hashed, scaledPolicy, tightest } from './limit-keys.ts'
import {
  type LimitCount,
  type LimitPolicy,
  type LimitState,
  type LimitStore,
  memoryLimitStore,
} from './limit-store.ts'
import type { Log } from './log.ts'
import { Problem } from './problem.ts'
import { type TakeHere, takeHere } from './take-here.ts'

export interface Limiter {
  /** Takes one under whatever identifies the caller: a client id, an e-mail address. */
  take(policy: LimitPolicy, subject: string): Promise<LimitState>
  /**
   * Takes one for each network the address belongs to; the state of the first that refuses, or the tightest.
   *
   * @param address as `clientAddress` gives it
   */
  takeForAddress(policy: LimitPolicy, address: string): Promise<LimitState>
  readonly takeHere: TakeHere
}

export interface LimiterOptions {
  store: LimitStore
  /** Multiplies every quota. */
  factor: number
  now: () => Date
  log: Log
  onDecision?(policy: string, decision: 'allowed' | 'refused' | 'uncounted'): void
}

/** How long a store that failed is left alone by policies that can be counted here. */
const PAUSE_MS = 1_000
const REPORT_EVERY_MS = 10_000

/**
 * Counts under keyed hashes whose random key changes daily; a window that began the day before counts under both. No
 * window is longer than a day. When the store fails, general policies are counted
 * in this process for a second, then the store is asked again; policies marked `closed` throw `unavailable`.
 */
export function createLimiter({ store, factor, now, log, onDecision }: LimiterOptions): Limiter {
  /** Made when it is first needed: it keeps room for all its keys. */
  let local: LimitStore | undefined
  const here = takeHere({ store, factor, now, onDecision })
  let pausedUntil = Number.NEGATIVE_INFINITY
  let reportedAt = Number.NEGATIVE_INFINITY

  function noteFailure(error: unknown): void {
    const at = now().getTime()
    pausedUntil = at + PAUSE_MS
    if (at - reportedAt < REPORT_EVERY_MS) return
    reportedAt = at
    log.warn('limits are counted in this process only', { error })
  }

  async function count(policy: LimitPolicy, subject: string): Promise<LimitCount> {
    const at = now()
    const takeFrom = async (from: LimitStore) => {
      const keyOn = (known: Buffer) => hashed(known, policy, subject)
      const dailyKey = (day: string) => from.here?.key(day) ?? from.dailyKey(day)
      const [today, before] = daysOf(policy, at)
      const key = keyOn(await dailyKey(today))
      return from.take(key, policy, before === undefined ? undefined : keyOn(await dailyKey(before)))
    }
    if (policy.closed || at.getTime() >= pausedUntil) {
      try {
        return await takeFrom(store)
      } catch (error) {
        noteFailure(error)
        if (policy.closed) throw new Problem('unavailable', { cause: error })
      }
    }
    onDecision?.(policy.name, 'uncounted')
    local ??= memoryLimitStore(now)
    return takeFrom(local)
  }

  async function take(policy: LimitPolicy, subject: string, allowance = 1): Promise<LimitState> {
    const effective = scaledPolicy(policy, factor * allowance)
    const state = { policy: effective, ...(await count(effective, subject)) }
    onDecision?.(policy.name, state.allowed ? 'allowed' : 'refused')
    return state
  }

  return {
    take: (policy, subject) => take(policy, subject),
    async takeForAddress(policy, address) {
      const states: LimitState[] = []
      // The narrower network first: what it refuses must not use up what its neighbours share with it.
      for (const { network, allowance } of addressNetworks(address)) {
        const state = await take(policy, network, allowance)
        if (!state.allowed) return state
        states.push(state)
      }
      return tightest(states)
    },
    takeHere: (limits, address, clientId) =>
      now().getTime() < pausedUntil ? undefined : here(limits, address, clientId),
  }
}
