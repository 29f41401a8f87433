import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { createByteBoundOptions, DAY_MS } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { listNetworks } from '../request/client-address.ts'
import type { Caller, RouteLimits } from '../routing/route.ts'
import { listClientLimits } from './client-limits.ts'
import {
  createMemoryLimitStore,
  type LimitCount,
  type LimitPolicy,
  type LimitState,
  type LimitStore,
} from './limit-store.ts'

/*
 * Rate limiting for both apps. The limiter turns a policy and a subject into a keyed hash, and counts it in a store
 * (`limit-store.ts`, `redis-limit-store.ts`). The apps choose each route's policies, and `enforce-limits.ts` reports the
 * result to the caller.
 */

export interface Limiter {
  /**
   * Counts a request against a policy.
   *
   * @param subject what is counted, such as a client id, a registrable domain or an e-mail address
   */
  take(policy: LimitPolicy, subject: string): Promise<LimitState>
  /**
   * Counts a request for the networks that `listNetworks` returns for an address, until one of them refuses it.
   *
   * @param address an address in the form that `findClientAddress` returns
   * @returns the state that refuses the request; otherwise, the state with the fewest requests left
   */
  takeForAddress(policy: LimitPolicy, address: string): Promise<LimitState>
  readonly takeLocally: TakeLocally
}

interface LimiterOptions {
  store: LimitStore
  /** Multiplies every quota. The product is rounded down, but to no less than 1. */
  factor: number
  now: () => Date
  log: Log
  /** Called for each decision. While the store fails, first with `uncounted`, since only this process counts the request. */
  onDecision?(policy: string, decision: 'allowed' | 'refused' | 'uncounted'): void
}

/** For this time after a store failure, policies without `failsClosed` are counted in this process. */
const STORE_PAUSE_MS = 1_000
/** A failing store is logged at most once within this time. */
const REPORT_EVERY_MS = 10_000

/**
 * Creates a limiter that counts by keyed hashes. The random key changes daily, so a window that began yesterday counts under both keys.
 * A window must not be longer than a day. After the store has failed, policies are counted in this process for a second before the
 * store is tried again. A policy with `failsClosed` is never counted in this process: when the store fails, `take` throws `unavailable`.
 */
export function createLimiter({ store, factor, now, log, onDecision }: LimiterOptions): Limiter {
  /** Counts while `store` fails. Created when it is first needed. */
  let fallback: LimitStore | undefined
  const takeWithoutWaiting = createTakeLocally({ store, factor, now, onDecision })
  // Times are compared by their distance, because the clock may be set back after a failure.
  let failedAt = Number.NEGATIVE_INFINITY
  let reportedAt = Number.NEGATIVE_INFINITY

  function recordFailure(error: unknown): void {
    failedAt = now().getTime()
    if (Math.abs(failedAt - reportedAt) < REPORT_EVERY_MS) return
    reportedAt = failedAt
    log.warn('the store of the rate limits failed, so limits are counted in this process only', { error })
  }

  const isPaused = (at: Date) => Math.abs(at.getTime() - failedAt) < STORE_PAUSE_MS

  async function countRequest(policy: LimitPolicy, subject: string): Promise<LimitCount> {
    const requestedAt = now()
    const takeFrom = async (countingStore: LimitStore) => {
      const hashForDay = async (day: string) => {
        const dailyKey = countingStore.local?.getCachedDailyKey(day) ?? (await countingStore.getDailyKey(day))
        return hashSubject(dailyKey, policy, subject)
      }
      const [today, yesterday] = listWindowDays(policy, requestedAt)
      const key = await hashForDay(today)
      const yesterdaysKey = yesterday === undefined ? undefined : await hashForDay(yesterday)
      return countingStore.take(key, policy, yesterdaysKey)
    }
    if (policy.failsClosed || !isPaused(requestedAt)) {
      try {
        return await takeFrom(store)
      } catch (error) {
        recordFailure(error)
        if (policy.failsClosed) throw new Problem('unavailable', { cause: error })
      }
    }
    onDecision?.(policy.name, 'uncounted')
    fallback ??= createMemoryLimitStore(now)
    return takeFrom(fallback)
  }

  async function take(policy: LimitPolicy, subject: string, allowance = 1): Promise<LimitState> {
    const scaledPolicy = scalePolicy(policy, factor * allowance)
    const state = { policy: scaledPolicy, ...(await countRequest(scaledPolicy, subject)) }
    onDecision?.(policy.name, state.allowed ? 'allowed' : 'refused')
    return state
  }

  return {
    take: (policy, subject) => take(policy, subject),
    async takeForAddress(policy, address) {
      const states: LimitState[] = []
      // Narrower networks come first: a request that they refuse must not use up a quota that neighbours share.
      for (const { network, allowance } of listNetworks(address)) {
        const state = await take(policy, network, allowance)
        if (!state.allowed) return state
        states.push(state)
      }
      return findTightest(states)
    },
    takeLocally: (limits, address, caller) =>
      isPaused(now()) ? undefined : takeWithoutWaiting(limits, address, caller),
  }
}

/**
 * Counts a request against the route's policies for this caller, synchronously. Returns undefined, and counts nothing,
 * if a policy would refuse the request, if this process cannot count it without a call to the shared store, or within a
 * second after the store has failed.
 *
 * @param address an address in the form that `findClientAddress` returns
 * @param caller the caller with a verified token; absent for an anonymous caller
 */
type TakeLocally = (limits: RouteLimits, address: string, caller?: LimitedCaller) => LimitState[] | undefined

/** The properties of a caller on which its limits depend. */
type LimitedCaller = Pick<Caller, 'clientId' | 'verifiedDomain'>

/** The keys under which a policy counts a caller: one for each network of an address, or one for a client id or domain. */
type PolicyKeys = readonly { readonly policy: LimitPolicy; readonly key: string }[]

/** The cached keys of a day's recent callers. Parsing and hashing an address takes longer than counting. */
interface KeyCache {
  readonly dailyKey: Buffer | undefined
  readonly keysByCaller: WeakMap<RouteLimits, LRUCache<string, readonly PolicyKeys[]>>
}

/** Enough, for each `RouteLimits`, for the keys of about 10,000 callers (estimated by `createByteBoundOptions`). */
const MAX_CALLERS_BYTES = 7_000_000

/** Creates the function behind {@link Limiter.takeLocally}. */
export function createTakeLocally(options: {
  store: LimitStore
  factor: number
  now: () => Date
  onDecision?: ((policy: string, decision: 'allowed') => void) | undefined
}): TakeLocally {
  const { store, factor, now, onDecision } = options
  let cache: KeyCache = { dailyKey: undefined, keysByCaller: new WeakMap() }

  /** Finds the caller's keys for each policy of the route, in order. */
  function findKeys(limits: RouteLimits, dailyKey: Buffer, address: string, caller?: LimitedCaller) {
    if (cache.dailyKey !== dailyKey) cache = { dailyKey, keysByCaller: new WeakMap() }
    const keysByCaller =
      cache.keysByCaller.get(limits) ??
      new LRUCache<string, readonly PolicyKeys[]>(createByteBoundOptions(MAX_CALLERS_BYTES))
    cache.keysByCaller.set(limits, keysByCaller)
    const callerKey = formatCallerKey(address, caller)
    const cachedKeys = keysByCaller.get(callerKey)
    if (cachedKeys) return cachedKeys
    const createKeys =
      (subjects: ReturnType<typeof listNetworks>) =>
      (policy: LimitPolicy): PolicyKeys =>
        subjects.map(({ network, allowance }) => ({
          policy: scalePolicy(policy, factor * allowance),
          key: hashSubject(dailyKey, policy, network),
        }))
    const networkKeys = createKeys(listNetworks(address))
    const clientKeys =
      caller === undefined
        ? (limits.anonymous ?? []).map(networkKeys)
        : listClientLimits(limits, caller).map(({ policy, subject }) =>
            createKeys([{ network: subject, allowance: 1 }])(policy),
          )
    const keys = [...(limits.address ?? []).map(networkKeys), ...clientKeys]
    keysByCaller.set(callerKey, keys)
    return keys
  }

  return (limits, address, caller) => {
    const { local } = store
    const today = findOnlyWindowDay(now(), limits)
    const dailyKey = today === undefined ? undefined : local?.getCachedDailyKey(today)
    if (!local || !dailyKey) return undefined
    const takesByPolicy: { readonly policy: LimitPolicy; readonly take: () => LimitCount }[][] = []
    for (const keys of findKeys(limits, dailyKey, address, caller)) {
      const takes = []
      for (const { policy, key } of keys) {
        const take = local.offer(key, policy)
        if (!take) return undefined
        takes.push({ policy, take })
      }
      takesByPolicy.push(takes)
    }
    return takesByPolicy.map((takes) =>
      findTightest(
        takes.map(({ policy, take }) => {
          onDecision?.(policy.name, 'allowed')
          return { policy, ...take() }
        }),
      ),
    )
  }
}

/** Formats a caller's cache key. No part contains a space. */
function formatCallerKey(address: string, caller: LimitedCaller | undefined): string {
  if (caller === undefined) return address
  const { clientId, verifiedDomain } = caller
  return verifiedDomain === undefined ? `${address} ${clientId}` : `${address} ${clientId} ${verifiedDomain}`
}

const SCALED_POLICIES = new WeakMap<LimitPolicy, Map<number, LimitPolicy>>()

function scalePolicy(policy: LimitPolicy, factor: number): LimitPolicy {
  const policiesByFactor = SCALED_POLICIES.get(policy) ?? new Map<number, LimitPolicy>()
  SCALED_POLICIES.set(policy, policiesByFactor)
  const scaled = policiesByFactor.get(factor) ?? {
    ...policy,
    quota: Math.max(1, Math.floor(policy.quota * factor)),
  }
  policiesByFactor.set(factor, scaled)
  return scaled
}

const findTightest = (states: readonly LimitState[]): LimitState =>
  states.reduce((tightest, state) => (state.remaining < tightest.remaining ? state : tightest))

/** A daily key with its cached hashes. Creating a `KeyObject` takes ten times as long as using it. */
interface HashingKey {
  readonly key: KeyObject
  readonly hashes: LRUCache<string, string>
}
const HASHING_KEYS = new WeakMap<Buffer, HashingKey>()
/** Enough for the hashes of about 10,000 addresses (estimated by `createByteBoundOptions`). */
const MAX_HASHES_BYTES = 2_000_000
/** Hashes of longer strings are not cached. Our addresses and ids are shorter, but a subject may be as long as a request body. */
const MAX_CACHED_LENGTH = 500

/**
 * Hashes a subject into the key under which it is counted: 22 characters, or 132 bits, enough that no two subjects collide.
 *
 * @param dailyKey 32 bytes
 */
function hashSubject(dailyKey: Buffer, { name }: LimitPolicy, subject: string): string {
  const hashingKey = HASHING_KEYS.get(dailyKey) ?? {
    key: createSecretKey(dailyKey),
    hashes: new LRUCache<string, string>(createByteBoundOptions(MAX_HASHES_BYTES)),
  }
  HASHING_KEYS.set(dailyKey, hashingKey)
  const { key, hashes } = hashingKey
  const text = `${name}\n${subject}`
  const hash = hashes.get(text) ?? createHmac('sha256', key).update(text).digest('base64url').slice(0, 22)
  if (text.length <= MAX_CACHED_LENGTH && !hashes.has(text)) hashes.set(text, hash)
  return hash
}

/** Lists today, and also yesterday if the current window began then. */
function listWindowDays({ windowSeconds }: LimitPolicy, at: Date): [string, string?] {
  const today = formatDay(at.getTime())
  const yesterday = formatDay(at.getTime() - windowSeconds * 1000)
  return yesterday === today ? [today] : [today, yesterday]
}

/** Returns today if the current windows of all policies began today; otherwise undefined. */
function findOnlyWindowDay(at: Date, limits: RouteLimits): string | undefined {
  const nowMs = at.getTime()
  const midnightMs = Math.floor(nowMs / DAY_MS) * DAY_MS
  return nowMs - findLongestWindowMs(limits) >= midnightMs ? formatDay(nowMs) : undefined
}

const LONGEST_WINDOWS_MS = new WeakMap<RouteLimits, number>()

function findLongestWindowMs(limits: RouteLimits): number {
  const cachedMs = LONGEST_WINDOWS_MS.get(limits)
  if (cachedMs !== undefined) return cachedMs
  const policies = Object.values(limits).flat()
  const longestMs = Math.max(0, ...policies.map(({ windowSeconds }) => windowSeconds * 1000))
  LONGEST_WINDOWS_MS.set(limits, longestMs)
  return longestMs
}

let lastDay = { number: Number.NaN, text: '' }

/** Formats a day such as `2026-11-21`. Caches the last result, because formatting is slower than counting. */
function formatDay(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (lastDay.number !== number) lastDay = { number, text: new Date(ms).toISOString().slice(0, 10) }
  return lastDay.text
}
