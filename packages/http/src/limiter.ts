import { createHmac } from 'node:crypto'
import { addressNetworks } from './client-address.ts'
import { type LimitCount, type LimitPolicy, type LimitStore, memoryLimitStore } from './limit-store.ts'
import type { Log } from './log.ts'

export interface LimitState extends LimitCount {
  readonly policy: LimitPolicy
}

export interface Limiter {
  /** Takes one under whatever identifies the caller: a client id, an e-mail address. */
  take(policy: LimitPolicy, subject: string): Promise<LimitState>
  /** Takes one for each network the address belongs to; the state of the first that refuses, or the tightest. */
  takeForAddress(policy: LimitPolicy, address: string): Promise<LimitState>
}

export interface LimiterOptions {
  store: LimitStore
  /** Multiplies every quota. */
  factor: number
  now: () => Date
  log: Log
  onDecision?(policy: string, decision: 'allowed' | 'refused' | 'uncounted'): void
}

/**
 * Counts under keyed hashes whose random key changes daily. When the store fails, general policies are counted
 * in this process instead and policies marked `closed` throw, so that the request is answered 503.
 */
export function createLimiter({ store, factor, now, log, onDecision }: LimiterOptions): Limiter {
  const local = memoryLimitStore(now)
  let failedAt = Number.NEGATIVE_INFINITY

  async function count(policy: LimitPolicy, subject: string): Promise<LimitCount> {
    const day = now().toISOString().slice(0, 10)
    const takeFrom = async (from: LimitStore) =>
      from.take(hashed(await from.dailyKey(day), `${policy.name}\n${subject}`), policy)
    try {
      return await takeFrom(store)
    } catch (error) {
      if (now().getTime() - failedAt > 10_000) {
        failedAt = now().getTime()
        log.warn('limits are counted in this process only', { error })
      }
      onDecision?.(policy.name, 'uncounted')
      if (policy.closed) throw error
      return takeFrom(local)
    }
  }

  async function take(policy: LimitPolicy, subject: string, allowance = 1): Promise<LimitState> {
    const effective = { ...policy, quota: Math.max(1, Math.floor(policy.quota * factor * allowance)) }
    const state = { policy: effective, ...(await count(effective, subject)) }
    onDecision?.(policy.name, state.allowed ? 'allowed' : 'refused')
    return state
  }

  return {
    take: (policy, subject) => take(policy, subject),
    async takeForAddress(policy, address) {
      const states: LimitState[] = []
      // The wider network first: when it refuses, no key is made for the narrower one.
      for (const { network, allowance } of addressNetworks(address).toReversed()) {
        const state = await take(policy, network, allowance)
        if (!state.allowed) return state
        states.push(state)
      }
      return states.reduce((tightest, state) => (state.remaining < tightest.remaining ? state : tightest))
    },
  }
}

const hashed = (key: Buffer, subject: string) =>
  createHmac('sha256', key).update(subject).digest('base64url').slice(0, 22)
