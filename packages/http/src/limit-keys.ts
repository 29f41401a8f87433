import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { LimitPolicy, LimitState } from './limit-store.ts'

const SCALED = new WeakMap<LimitPolicy, Map<number, LimitPolicy>>()

export function scaledPolicy(policy: LimitPolicy, factor: number): LimitPolicy {
  const known = SCALED.get(policy) ?? new Map<number, LimitPolicy>()
  SCALED.set(policy, known)
  const scaled = known.get(factor) ?? { ...policy, quota: Math.max(1, Math.floor(policy.quota * factor)) }
  known.set(factor, scaled)
  return scaled
}

export const tightest = (states: readonly LimitState[]): LimitState =>
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
const MOST_KNOWN = 10_000
/** Past any address, id or name of ours: what a stranger sends in their place may be as long as a body. */
const MOST_REMEMBERED_LENGTH = 500

/** What a subject is counted under. @param bytes the key of the day */
export function hashed(bytes: Buffer, { name }: LimitPolicy, subject: string): string {
  const ready = READY.get(bytes) ?? { key: createSecretKey(bytes), known: new LRUCache({ max: MOST_KNOWN }) }
  READY.set(bytes, ready)
  const text = `${name}\n${subject}`
  const hash =
    ready.known.get(text) ?? createHmac('sha256', ready.key).update(text).digest('base64url').slice(0, 22)
  if (text.length <= MOST_REMEMBERED_LENGTH && !ready.known.has(text)) ready.known.set(text, hash)
  return hash
}

/** The day, and the day before where a window that ends now began then. */
export function daysOf({ windowSeconds }: LimitPolicy, at: Date): [string, string?] {
  const today = dayOf(at.getTime())
  const before = dayOf(at.getTime() - windowSeconds * 1000)
  return before === today ? [today] : [today, before]
}

/** The day, where the windows of all policies that end now began on it, too. */
export function dayOfAll(at: Date, ...policies: (readonly LimitPolicy[] | undefined)[]): string | undefined {
  const now = at.getTime()
  const beganToday = ({ windowSeconds }: LimitPolicy) => now - windowSeconds * 1000 >= midnightBefore(now)
  return policies.every((each) => each?.every(beganToday) ?? true) ? dayOf(now) : undefined
}

const midnightBefore = (ms: number) => Math.floor(ms / DAY_MS) * DAY_MS

const DAY_MS = 24 * 3600 * 1000
let lastDay = { number: Number.NaN, written: '' }

/** Such as `2026-11-21`; made once a day, since making it takes longer than all else here. */
function dayOf(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (lastDay.number !== number) lastDay = { number, written: new Date(ms).toISOString().slice(0, 10) }
  return lastDay.written
}
