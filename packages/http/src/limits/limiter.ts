import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { DAY_MS } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { addressNetworks } from '../request/client-address.ts'
import type { Caller, RouteLimits } from '../routing/route.ts'
import { clientLimits } from './client-limits.ts'
import {
  type LimitCount,
  type LimitPolicy,
  type LimitState,
  type LimitStore,
  memoryLimitStore,
} from './limit-store.ts'

/*
 * Rate limits of both apps: turns a policy and a subject into a keyed hash and counts it in a store. How a store counts is its
 * own matter (`limit-store.ts`, `redis-limit-store.ts`), which policies a route has is decided by the app, and
 * `spend-limits.ts` reports the result to the caller.
 */

export interface Limiter {
  /** Counts a request against a policy. @param subject identifies the caller: a client id, an e-mail address */
  take(policy: LimitPolicy, subject: string): Promise<LimitState>
  /**
   * Counts a request for each network that the address belongs to.
   *
   * @param address as `clientAddress` returns it
   * @returns the first state that refuses, else the one with the fewest requests left
   */
  takeForAddress(policy: LimitPolicy, address: string): Promise<LimitState>
  readonly takeLocally: TakeLocally
}

interface LimiterOptions {
  store: LimitStore
  /** Multiplies every quota. */
  factor: number
  now: () => Date
  log: Log
  onDecision?(policy: string, decision: 'allowed' | 'refused' | 'uncounted'): void
}

/** After a failure of the store, general policies are counted in this process for this long. */
const PAUSE_MS = 1_000
const REPORT_EVERY_MS = 10_000

/**
 * Creates a limiter that counts under keyed hashes. The random key changes daily, so a window that began the day before
 * counts under both keys; no window is longer than a day. When the store fails, general policies are counted in this
 * process for a second before the store is tried again; policies marked `closed` throw `unavailable`.
 */
export function createLimiter({ store, factor, now, log, onDecision }: LimiterOptions): Limiter {
  /** Created on first use, since it reserves memory for all its keys. */
  let fallback: LimitStore | undefined
  const takeWithoutWaiting = takeLocally({ store, factor, now, onDecision })
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
      const hashUnder = (keyOfDay: Buffer) => hashSubject(keyOfDay, policy, subject)
      const dailyKey = (day: string) => from.local?.cachedDailyKey(day) ?? from.dailyKey(day)
      const [today, yesterday] = windowDays(policy, at)
      const key = hashUnder(await dailyKey(today))
      return from.take(
        key,
        policy,
        yesterday === undefined ? undefined : hashUnder(await dailyKey(yesterday)),
      )
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
    fallback ??= memoryLimitStore(now)
    return takeFrom(fallback)
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
      // The narrower network first: a request that it refuses must not use up the quota that it shares with its neighbours.
      for (const { network, allowance } of addressNetworks(address)) {
        const state = await take(policy, network, allowance)
        if (!state.allowed) return state
        states.push(state)
      }
      return tightest(states)
    },
    takeLocally: (limits, address, caller) =>
      now().getTime() < pausedUntil ? undefined : takeWithoutWaiting(limits, address, caller),
  }
}

/**
 * Counts a request against all policies of a route synchronously, provided that this process can count every one of them
 * without a call to the shared store. Otherwise returns undefined and counts nothing.
 *
 * @param address as `clientAddress` returns it
 * @param caller the caller of a verified token; absent for an anonymous one
 */
type TakeLocally = (limits: RouteLimits, address: string, caller?: LimitedCaller) => LimitState[] | undefined

/** What limits need to know of a caller. */
type LimitedCaller = Pick<Caller, 'clientId' | 'verifiedDomain'>

/** The keys that one policy counts a caller under: one for each network of the address, or one for the client or its domain. */
type PolicyKeys = readonly { readonly policy: LimitPolicy; readonly key: string }[]

/** Parsing and hashing an address takes longer than counting, so the keys of recent callers are cached for the day. */
interface CachedKeys {
  readonly keyOfDay: Buffer | undefined
  readonly callers: WeakMap<RouteLimits, LRUCache<string, readonly PolicyKeys[]>>
}

const MOST_CALLERS = 10_000

/** Creates the function behind {@link Limiter.takeLocally}. */
export function takeLocally(options: {
  store: LimitStore
  factor: number
  now: () => Date
  onDecision?: ((policy: string, decision: 'allowed') => void) | undefined
}): TakeLocally {
  const { store, factor, now, onDecision } = options
  let cached: CachedKeys = { keyOfDay: undefined, callers: new WeakMap() }

  /** Finds the keys of a caller for each policy of the route, in order. */
  function findKeys(limits: RouteLimits, keyOfDay: Buffer, address: string, caller?: LimitedCaller) {
    if (cached.keyOfDay !== keyOfDay) cached = { keyOfDay, callers: new WeakMap() }
    const callers =
      cached.callers.get(limits) ?? new LRUCache<string, readonly PolicyKeys[]>({ max: MOST_CALLERS })
    cached.callers.set(limits, callers)
    const name = nameCaller(address, caller)
    const found = callers.get(name)
    if (found) return found
    const keysFor =
      (subjects: ReturnType<typeof addressNetworks>) =>
      (policy: LimitPolicy): PolicyKeys =>
        subjects.map(({ network, allowance }) => ({
          policy: scaledPolicy(policy, factor * allowance),
          key: hashSubject(keyOfDay, policy, network),
        }))
    const networkKeys = keysFor(addressNetworks(address))
    const own =
      caller === undefined
        ? (limits.anonymous ?? []).map(networkKeys)
        : clientLimits(limits, caller).map(({ policy, subject }) =>
            keysFor([{ network: subject, allowance: 1 }])(policy),
          )
    const keys = [...(limits.address ?? []).map(networkKeys), ...own]
    callers.set(name, keys)
    return keys
  }

  return (limits, address, caller) => {
    const { local } = store
    const today = commonDay(now(), limits)
    const keyOfDay = today === undefined ? undefined : local?.cachedDailyKey(today)
    if (!local || !keyOfDay) return undefined
    const taking: { readonly policy: LimitPolicy; readonly take: () => LimitCount }[][] = []
    for (const keys of findKeys(limits, keyOfDay, address, caller)) {
      const offered = []
      for (const { policy, key } of keys) {
        const take = local.offer(key, policy)
        if (!take) return undefined
        offered.push({ policy, take })
      }
      taking.push(offered)
    }
    return taking.map((offered) =>
      tightest(
        offered.map(({ policy, take }) => {
          onDecision?.(policy.name, 'allowed')
          return { policy, ...take() }
        }),
      ),
    )
  }
}

/** Names a caller in the cache of keys. No part contains a space. */
function nameCaller(address: string, caller: LimitedCaller | undefined): string {
  if (caller === undefined) return address
  const { clientId, verifiedDomain } = caller
  return verifiedDomain === undefined ? `${address} ${clientId}` : `${address} ${clientId} ${verifiedDomain}`
}

const SCALED = new WeakMap<LimitPolicy, Map<number, LimitPolicy>>()

function scaledPolicy(policy: LimitPolicy, factor: number): LimitPolicy {
  const byFactor = SCALED.get(policy) ?? new Map<number, LimitPolicy>()
  SCALED.set(policy, byFactor)
  const scaled = byFactor.get(factor) ?? { ...policy, quota: Math.max(1, Math.floor(policy.quota * factor)) }
  byFactor.set(factor, scaled)
  return scaled
}

const tightest = (states: readonly LimitState[]): LimitState =>
  states.reduce((least, state) => (state.remaining < least.remaining ? state : least))

/**
 * Creating a `KeyObject` takes ten times as long as using it, so each key of the day has one. Its cache of hashes is dropped
 * together with it.
 */
interface HashingKey {
  readonly key: KeyObject
  readonly hashes: LRUCache<string, string>
}
const HASHING_KEYS = new WeakMap<Buffer, HashingKey>()
const MOST_HASHES = 10_000
/** Longer than any address, id or name of ours. A caller may send something as long as a request body instead. */
const LONGEST_CACHED = 500

/** Hashes a subject into the key that it is counted under. @param keyOfDay 32 bytes */
function hashSubject(keyOfDay: Buffer, { name }: LimitPolicy, subject: string): string {
  const hashing = HASHING_KEYS.get(keyOfDay) ?? {
    key: createSecretKey(keyOfDay),
    hashes: new LRUCache<string, string>({ max: MOST_HASHES }),
  }
  HASHING_KEYS.set(keyOfDay, hashing)
  const { key, hashes } = hashing
  const text = `${name}\n${subject}`
  const hash = hashes.get(text) ?? createHmac('sha256', key).update(text).digest('base64url').slice(0, 22)
  if (text.length <= LONGEST_CACHED && !hashes.has(text)) hashes.set(text, hash)
  return hash
}

/** Today, and yesterday if a window that ends now began then. */
function windowDays({ windowSeconds }: LimitPolicy, at: Date): [string, string?] {
  const today = formatDay(at.getTime())
  const yesterday = formatDay(at.getTime() - windowSeconds * 1000)
  return yesterday === today ? [today] : [today, yesterday]
}

/** Today, if the windows of all policies that end now also began today; else undefined. */
function commonDay(at: Date, limits: RouteLimits): string | undefined {
  const now = at.getTime()
  return now - longestWindowMs(limits) >= midnightBefore(now) ? formatDay(now) : undefined
}

const LONGEST_WINDOWS = new WeakMap<RouteLimits, number>()

function longestWindowMs(limits: RouteLimits): number {
  const found = LONGEST_WINDOWS.get(limits)
  if (found !== undefined) return found
  const policies = Object.values(limits).flat()
  const longest = Math.max(0, ...policies.map(({ windowSeconds }) => windowSeconds * 1000))
  LONGEST_WINDOWS.set(limits, longest)
  return longest
}

const midnightBefore = (ms: number) => Math.floor(ms / DAY_MS) * DAY_MS

let lastDay = { number: Number.NaN, text: '' }

/** Formats a day such as `2026-11-21`. The last result is cached: formatting would take longer than the rest of a count. */
function formatDay(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (lastDay.number !== number) lastDay = { number, text: new Date(ms).toISOString().slice(0, 10) }
  return lastDay.text
}
