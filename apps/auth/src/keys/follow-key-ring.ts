/*
 * How an instance keeps its signing keys current, as a pure state machine: events in, a new state and effects out.
 * `key-follower.ts` performs the effects. An instance may sign only while its lease lasts.
 */
import { isDeepStrictEqual } from 'node:util'
import type { LogFields } from '@plainpath/http'
import { isUnavailable } from '@plainpath/postgres'
import { type AuditRow, encodeHead } from '../audit/audit-chain.ts'
import { UnreadableKey } from './key-store.ts'
import type { InstanceKeys } from './signing-key.ts'

/** The key ring as an instance has read it. */
export interface ReadRing {
  readonly version: number
  readonly keys: InstanceKeys
  /** Since when its signing key has been signing, by the database's clock. */
  readonly since: Date | undefined
}

/** What an instance knows about the key ring and itself. Times are milliseconds of a monotonic clock. */
export interface FollowerState {
  /** The ring in use, with a signature that proves it; undefined until the first one is adopted. */
  readonly ring: (ReadRing & { readonly proof: string }) | undefined
  /** The lease: the ring may be used before this time. */
  readonly validUntil: number
  /** Why the current ring cannot be read. */
  readonly problem: string | undefined
  /** The last row of the audit that was read. */
  readonly audit: { readonly head: string; readonly number: number } | undefined
  /** The ring version for which the end of the audit was read. */
  readonly auditedVersion: number | undefined
  /** The last reading: when it began, and whether the preceding report said that this instance signs. */
  readonly reading: { readonly startedAt: number; readonly isAnnounced: boolean }
  /** The next report says that this instance signs although it may not yet; the reading after it grants the lease. */
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

/** To be performed in order. If an effect causes an event, the effects of that event come before the next one here. */
export type FollowerEffect =
  /** Write to the database what this instance signs with. */
  | { readonly do: 'report'; readonly report: ReturnType<typeof buildReport> }
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

/** Computes the state after an event, and the effects to perform. */
export function followKeyRing(state: FollowerState, event: FollowerEvent, leaseMs: number): FollowerStep {
  switch (event.type) {
    case 'poll': {
      const isAnnounced = isCurrent(state, event.now) || state.announces
      return {
        state: { ...state, reading: { startedAt: event.now, isAnnounced }, announces: false },
        effects: [{ do: 'report', report: buildReport(state, isAnnounced) }, { do: 'read' }],
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
      const audit = { head: encodeHead(event.end), number: event.end.number }
      return { state: { ...audited, audit }, effects: [log('info', 'read the head of the key audit', audit)] }
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
 * Renews the lease, if this reading came after a report that the instance signs: then a command that changes the ring
 * either waits for this instance, or this instance has read the change. Without such a report, at the start and after a
 * lease has expired, it reports and reads again.
 *
 * Reads the audit once per change, so that its head is also in the log, where the owner of the database cannot alter it;
 * and before the report, since an operator may look for the head as soon as all instances have reported.
 */
function afterReading(
  state: FollowerState,
  { isNews, leaseMs }: { isNews: boolean; leaseMs: number },
): FollowerStep {
  const effects: FollowerEffect[] = []
  const after = { ...state, ...renewLease(state, leaseMs), problem: undefined }
  const { ring, auditedVersion } = after
  if (ring && auditedVersion !== ring.version) effects.push({ do: 'read-audit', ringVersion: ring.version })
  if (ring && isNews) {
    const fields = { ring_version: ring.version, signing_kid: ring.keys.signing.kid }
    effects.push(log('info', 'adopted the key ring', fields))
  }
  if (after.announces) effects.push({ do: 'poll-again' })
  else if (isNews) effects.push({ do: 'report', report: buildReport(after, true) })
  return { state: after, effects }
}

const renewLease = ({ reading, validUntil }: FollowerState, leaseMs: number) => ({
  validUntil: reading.isAnnounced ? reading.startedAt + leaseMs : validUntil,
  announces: !reading.isAnnounced,
})

function afterFailure(state: FollowerState, error: unknown, leaseMs: number): FollowerStep {
  if (isUnavailable(error))
    return { state, effects: [log('warn', 'the key ring could not be read', { error })] }
  const isUnreadable = error instanceof UnreadableKey
  const problem = isUnreadable ? error.message : 'the key ring cannot be used'
  // The ring has not changed, so the keys in use are still right: another row is damaged, or this instance's KEK file.
  const isUnchanged = isUnreadable && error.ringVersion === state.ring?.version
  return {
    state: { ...state, ...(isUnchanged && renewLease(state, leaseMs)), problem },
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

/** True while the lease lasts. After it, the instance may have missed a change. */
export const isCurrent = (state: FollowerState, now: number) => now < state.validUntil

/** Builds the report of this instance. One that may not sign reports no key, so that no command waits for it. */
function buildReport({ ring, problem }: FollowerState, signs: boolean) {
  return {
    ringVersion: signs ? (ring?.version ?? 0) : 0,
    signingKid: signs ? ring?.keys.signing.kid : undefined,
    proof: signs ? ring?.proof : undefined,
    problem,
  }
}

/** Describes what this instance signs with, for `/ready` and the metrics. */
export function describeStatus({ ring, problem, audit, auditedVersion }: FollowerState) {
  return {
    ring_version: ring?.version ?? 0,
    signing_kid: ring?.keys.signing.kid ?? '',
    /** RFC 3339, by the database's clock. */
    ...(ring?.since && { signing_since: ring.since.toISOString() }),
    ...(problem !== undefined && { problem }),
    /** The last row of the key audit when this instance adopted its last change. */
    ...(audit && { audit }),
    /** Set when the end of the audit could not be read after the last change. */
    ...(ring && auditedVersion !== ring.version && { audit_unread: true as const }),
  }
}
export type FollowerStatus = ReturnType<typeof describeStatus>
