import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { DAY_MS } from '@plainpath/domain'
import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { addressNetworks } from '../request/client-address.ts'
import type { RouteLimits } from '../routing/route.ts'
import {
  type LimitCount,
  type LimitPolicy,
  type LimitState,
  type LimitStore,
  memoryLimitStore,
} from './limit-store.ts'

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

interface LimiterOptions {
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

/**
 * Takes one from each policy of a route at once, when this process can count all of them without asking anybody; else
 * undefined, and nothing is taken.
 *
 * @param address as `clientAddress` gives it
 * @param clientId of whoever showed a good token; without one the caller is anonymous
 */
type TakeHere = (limits: RouteLimits, address: string, clientId?: string) => LimitState[] | undefined

/** Where a caller is counted for one policy: in each network of the address, or as a client. */
type Places = readonly { readonly policy: LimitPolicy; readonly key: string }[]

/** The places of callers who came under one key of the day; nothing of them outlives it. */
interface Known {
  readonly keyOfDay: Buffer | undefined
  readonly callers: WeakMap<RouteLimits, LRUCache<string, readonly Places[]>>
}

/** To read an address and to hash it takes longer than to count; who comes often is looked up once. */
const MOST_CALLERS = 10_000

export function takeHere(options: {
  store: LimitStore
  factor: number
  now: () => Date
  onDecision?: ((policy: string, decision: 'allowed') => void) | undefined
}): TakeHere {
  const { store, factor, now, onDecision } = options
  let known: Known = { keyOfDay: undefined, callers: new WeakMap() }

  /** For each policy of the route, in order. */
  function placesOf(limits: RouteLimits, keyOfDay: Buffer, address: string, clientId?: string) {
    if (known.keyOfDay !== keyOfDay) known = { keyOfDay, callers: new WeakMap() }
    const callers =
      known.callers.get(limits) ?? new LRUCache<string, readonly Places[]>({ max: MOST_CALLERS })
    known.callers.set(limits, callers)
    const caller = clientId === undefined ? address : `${address} ${clientId}`
    const found = callers.get(caller)
    if (found) return found
    const placesIn =
      (subjects: ReturnType<typeof addressNetworks>) =>
      (policy: LimitPolicy): Places =>
        subjects.map(({ network, allowance }) => ({
          policy: scaledPolicy(policy, factor * allowance),
          key: hashed(keyOfDay, policy, network),
        }))
    const inNetworks = placesIn(addressNetworks(address))
    const own =
      clientId === undefined
        ? limits.anonymous?.map(inNetworks)
        : limits.client?.map(placesIn([{ network: clientId, allowance: 1 }]))
    const places = [...(limits.address ?? []).map(inNetworks), ...(own ?? [])]
    callers.set(caller, places)
    return places
  }

  return (limits, address, clientId) => {
    const { here } = store
    const today = dayOfAll(now(), limits.address, clientId === undefined ? limits.anonymous : limits.client)
    const keyOfDay = today === undefined ? undefined : here?.key(today)
    if (!here || !keyOfDay) return undefined
    const taking: { readonly policy: LimitPolicy; readonly take: () => LimitCount }[][] = []
    for (const places of placesOf(limits, keyOfDay, address, clientId)) {
      const offered = []
      for (const { policy, key } of places) {
        const take = here.offer(key, policy)
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

const SCALED = new WeakMap<LimitPolicy, Map<number, LimitPolicy>>()

function scaledPolicy(policy: LimitPolicy, factor: number): LimitPolicy {
  const known = SCALED.get(policy) ?? new Map<number, LimitPolicy>()
  SCALED.set(policy, known)
  const scaled = known.get(factor) ?? { ...policy, quota: Math.max(1, Math.floor(policy.quota * factor)) }
  known.set(factor, scaled)
  return scaled
}

const tightest = (states: readonly LimitState[]): LimitState =>
  states.reduce((least, state) => (state.remaining < least.remaining ? state : least))

/**
 * Making the key ready for use takes ten times as long as using it, and a store gives the same bytes all day. Who comes
 * often is hashed once; what is known goes with the key.
 */
interface ReadyKey {
  readonly key: KeyObject
  readonly known: LRUCache<string, string>
}
const READY = new WeakMap<Buffer, ReadyKey>()
const MOST_HASHES = 10_000
/** Past any address, id or name of ours: what a stranger sends in their place may be as long as a body. */
const MOST_REMEMBERED_LENGTH = 500

/** What a subject is counted under. @param bytes the key of the day */
function hashed(bytes: Buffer, { name }: LimitPolicy, subject: string): string {
  const ready = READY.get(bytes) ?? { key: createSecretKey(bytes), known: new LRUCache({ max: MOST_HASHES }) }
  READY.set(bytes, ready)
  const text = `${name}\n${subject}`
  const hash =
    ready.known.get(text) ?? createHmac('sha256', ready.key).update(text).digest('base64url').slice(0, 22)
  if (text.length <= MOST_REMEMBERED_LENGTH && !ready.known.has(text)) ready.known.set(text, hash)
  return hash
}

/** The day, and the day before where a window that ends now began then. */
function daysOf({ windowSeconds }: LimitPolicy, at: Date): [string, string?] {
  const today = dayOf(at.getTime())
  const before = dayOf(at.getTime() - windowSeconds * 1000)
  return before === today ? [today] : [today, before]
}

/** The day, where the windows of all policies that end now began on it, too. */
function dayOfAll(at: Date, ...policies: (readonly LimitPolicy[] | undefined)[]): string | undefined {
  const now = at.getTime()
  const beganToday = ({ windowSeconds }: LimitPolicy) => now - windowSeconds * 1000 >= midnightBefore(now)
  return policies.every((each) => each?.every(beganToday) ?? true) ? dayOf(now) : undefined
}

const midnightBefore = (ms: number) => Math.floor(ms / DAY_MS) * DAY_MS

let lastDay = { number: Number.NaN, written: '' }

/** Such as `2026-11-21`; made once a day, since making it takes longer than all else here. */
function dayOf(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (lastDay.number !== number) lastDay = { number, written: new Date(ms).toISOString().slice(0, 10) }
  return lastDay.written
}

/**
 * Announces the states in `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), beside
 * those announced earlier in the request.
 *
 * @throws {Problem} `rate-limited` when one of them refuses
 */
export function spendLimits(ctx: Context, ...states: readonly LimitState[]): void {
  const spent: LimitState[] = [...((ctx.state['limits'] as LimitState[] | undefined) ?? []), ...states]
  ctx.state['limits'] = spent
  if (spent.length === 0) return
  ctx.set(limitFields(spent))
  const refusing = states.find((state) => !state.allowed)
  if (!refusing) return
  throw rateLimited(refusing)
}

/** @param detail what else the caller has to know */
export function rateLimited({ policy, resetSeconds }: LimitState, detail = ''): Problem {
  const limit = `The limit "${policy.name}" allows ${policy.quota} in ${policy.windowSeconds} seconds.`
  return new Problem('rate-limited', {
    detail: [limit, `Try again in ${resetSeconds} seconds.`, detail].filter(Boolean).join(' '),
    headers: { 'retry-after': String(resetSeconds) },
    extensions: { policy: policy.name },
  })
}

/** The fields that announce them. */
export function limitFields(spent: readonly LimitState[]) {
  let policies = ''
  let left = ''
  for (const { policy, remaining, resetSeconds } of spent) {
    const before = policies === '' ? '' : ', '
    policies += `${before}"${policy.name}";q=${policy.quota};w=${policy.windowSeconds}`
    left += `${before}"${policy.name}";r=${remaining};t=${resetSeconds}`
  }
  return { 'ratelimit-policy': policies, ratelimit: left }
}
