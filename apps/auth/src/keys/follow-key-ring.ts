import { isDeepStrictEqual } from 'node:util'
import type { LogFields } from '@plainpath/http'
import { isUnavailable } from '@plainpath/postgres'
import { type AuditRow, headOf } from '../audit/audit-chain.ts'
import { UnreadableKey } from './key-store.ts'
import type { InstanceKeys } from './signing-key.ts'

/** The key ring as an instance read it. */
export interface ReadRing {
  readonly version: number
  readonly keys: InstanceKeys
  /** Since when its key signs, by the database's clock. */
  readonly since: Date | undefined
}

/** What an instance knows of the key ring and of itself. Times are milliseconds that only rise. */
export interface FollowerState {
  /** The ring in use, with a signature that proves it; undefined until the first is adopted. */
  readonly ring: (ReadRing & { readonly proof: string }) | undefined
  /** The ring may be relied on before this time. */
  readonly validUntil: number
  /** Why the ring, as it is now, cannot be read. */
  readonly problem: string | undefined
  /** The last end of the audit that was read. */
  readonly audit: { readonly head: string; readonly number: number } | undefined
  /** Version of the ring for which the end of the audit was read. */
  readonly auditedVersion: number | undefined
  /** The last reading: when it began, and whether the report before it said that this instance signs. */
  readonly reading: { readonly startedAt: number; readonly isAnnounced: boolean }
  /** The next report says that this instance signs, although it may not yet: the reading after that decides. */
  readonly announces: boolean
}

export const INITIAL_STATE: FollowerState = {
  ring: undefined,
  validUntil: Number.NEGATIVE_INFINITY,
  problem: undefined,
  audit: undefined,
  auditedVersion: undefined,
  reading: { startedAt: Number.NEGATIVE_INFINITY, isAnnounced: false },
  announces: false,
}

export type FollowerEvent =
  | { readonly type: 'poll'; readonly now: number }
  | { readonly type: 'ring-read'; readonly ring: ReadRing }
  | { readonly type: 'ring-adopted'; readonly ring: ReadRing; readonly proof: string }
  | { readonly type: 'audit-read'; readonly ringVersion: number; readonly end: AuditRow | undefined }
  | { readonly type: 'audit-failed'; readonly error: unknown }
  /** A step of a reading threw. */
  | { readonly type: 'reading-failed'; readonly error: unknown }

/** To be performed in their order; those of an event that follows from one come before the next. */
export type FollowerEffect =
  /** Say in the database what this instance signs with. */
  | { readonly do: 'report'; readonly report: ReturnType<typeof reportOf> }
  /** Followed by `ring-read`. */
  | { readonly do: 'read' }
  /** Sign with the keys of this ring from now on. Followed by `ring-adopted`. */
  | { readonly do: 'adopt'; readonly ring: ReadRing }
  /** Followed by `audit-read` or `audit-failed`. */
  | { readonly do: 'read-audit'; readonly ringVersion: number }
  /** Followed by `poll`. */
  | { readonly do: 'poll-again' }
  | {
      readonly do: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields: LogFields
    }

interface FollowerStep {
  readonly state: FollowerState
  readonly effects: readonly FollowerEffect[]
}

/** The state after an event, and what has to be done about it. */
export function followKeyRing(state: FollowerState, event: FollowerEvent, leaseMs: number): FollowerStep {
  switch (event.type) {
    case 'poll': {
      const isAnnounced = isCurrent(state, event.now) || state.announces
      return {
        state: { ...state, reading: { startedAt: event.now, isAnnounced }, announces: false },
        effects: [{ do: 'report', report: reportOf(state, isAnnounced) }, { do: 'read' }],
      }
    }
    case 'ring-read': {
      const { ring } = event
      const isKnown = state.ring?.version === ring.version && isDeepStrictEqual(state.ring.keys, ring.keys)
      if (!isKnown) return { state, effects: [{ do: 'adopt', ring }] }
      return afterReading(state, { isNews: state.problem !== undefined, leaseMs })
    }
    case 'ring-adopted':
      return afterReading(
        { ...state, ring: { ...event.ring, proof: event.proof } },
        { isNews: true, leaseMs },
      )
    case 'audit-read': {
      const audited = { ...state, auditedVersion: event.ringVersion }
      if (!event.end) return { state: audited, effects: [] }
      const audit = { head: headOf(event.end), number: event.end.number }
      return { state: { ...audited, audit }, effects: [log('info', 'key audit head', audit)] }
    }
    case 'audit-failed':
      return {
        state,
        effects: [log('warn', 'the end of the key audit could not be read', { error: event.error })],
      }
    case 'reading-failed':
      return afterFailure(state, event.error, leaseMs)
  }
}

/**
 * A lease is for what was read after a report that this instance signs: whoever changes the ring waits for an instance that
 * said so, or it reads the change. One that did not say so, at its start and after a lease was over, says it and reads again.
 *
 * The audit is read once for each change, so that its head is also where the owner of the database cannot write; and
 * before the report, since an operator who waits for that may look for the head next.
 */
function afterReading(
  state: FollowerState,
  { isNews, leaseMs }: { isNews: boolean; leaseMs: number },
): FollowerStep {
  const effects: FollowerEffect[] = []
  const after = { ...state, ...renewed(state, leaseMs), problem: undefined }
  const { ring, auditedVersion } = after
  if (ring && auditedVersion !== ring.version) effects.push({ do: 'read-audit', ringVersion: ring.version })
  if (ring && isNews) {
    const fields = { ring_version: ring.version, signing_kid: ring.keys.signing.kid }
    effects.push(log('info', 'follows the key ring', fields))
  }
  if (after.announces) effects.push({ do: 'poll-again' })
  else if (isNews) effects.push({ do: 'report', report: reportOf(after, true) })
  return { state: after, effects }
}

const renewed = ({ reading, validUntil }: FollowerState, leaseMs: number) => ({
  validUntil: reading.isAnnounced ? reading.startedAt + leaseMs : validUntil,
  announces: !reading.isAnnounced,
})

function afterFailure(state: FollowerState, error: unknown, leaseMs: number): FollowerStep {
  if (isUnavailable(error))
    return { state, effects: [log('warn', 'the key ring could not be read', { error })] }
  const isUnreadable = error instanceof UnreadableKey
  const problem = isUnreadable ? error.message : 'the key ring cannot be used'
  // What this instance has is still what the ring says; it is another row, or this instance's own file, that is bad.
  const isUnchanged = isUnreadable && error.ringVersion === state.ring?.version
  return {
    state: { ...state, ...(isUnchanged && renewed(state, leaseMs)), problem },
    effects:
      problem === state.problem
        ? []
        : [log('error', 'signing keys cannot be read: this instance is not ready', { error })],
  }
}

const log = (level: 'info' | 'warn' | 'error', message: string, fields: LogFields): FollowerEffect => ({
  do: 'log',
  level,
  message,
  fields,
})

/** False when the instance may have missed a change for longer than the lease. */
export const isCurrent = (state: FollowerState, now: number) => now < state.validUntil

/** What the instance says of itself. One that may not sign says so, since nobody need wait for it. */
function reportOf({ ring, problem }: FollowerState, signs: boolean) {
  return {
    ringVersion: signs ? (ring?.version ?? 0) : 0,
    signingKid: signs ? ring?.keys.signing.kid : undefined,
    proof: signs ? ring?.proof : undefined,
    problem,
  }
}

/** What this instance signs with, for people and for metrics. */
export function statusOf({ ring, problem, audit, auditedVersion }: FollowerState) {
  return {
    ring_version: ring?.version ?? 0,
    signing_kid: ring?.keys.signing.kid ?? '',
    /** RFC 3339, by the database's clock. */
    ...(ring?.since && { signing_since: ring.since.toISOString() }),
    ...(problem !== undefined && { problem }),
    /** Where the audit of the keys ended when this instance followed its last change. */
    ...(audit && { audit }),
    /** That the end of the audit could not be read after the last change. */
    ...(ring && auditedVersion !== ring.version && { audit_unread: true as const }),
  }
}
export type FollowerStatus = ReturnType<typeof statusOf>
