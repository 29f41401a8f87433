/*
 * The state machine that keeps the signing keys of an instance current, as pure functions. From a state and an event, it computes
 * the next state and the effects to perform. `key-follower.ts` performs the effects. An instance may sign only while its lease
 * lasts.
 */
import { isDeepStrictEqual } from 'node:util'
import type { LogFields } from '@plainpath/http'
import { isUnavailable } from '@plainpath/postgres'
import { type AuditRow, formatHead } from '../audit/audit-chain.ts'
import { UnreadableKey } from './key-store.ts'
import type { InstanceKeys } from './signing-key.ts'

/** The key ring as an instance has read it from the database. */
export interface LoadedRing {
  readonly version: number
  readonly keys: InstanceKeys
  /** When its signing key began to sign, by the database clock. */
  readonly signingSince: Date | undefined
}

/** The knowledge of an instance about the key ring and about itself. Times are milliseconds of a monotonic clock. */
export interface KeyFollowerState {
  /**
   * The adopted ring, and a proof, signed with its signing key, that this instance uses it. Undefined before the first
   * adoption.
   */
  readonly ring: (LoadedRing & { readonly proof: string }) | undefined
  /** When the lease expires. The instance may sign with the adopted ring only before then. */
  readonly leaseExpiresAt: number
  /** Why a poll failed; undefined after a successful read. That PostgreSQL is unavailable does not count as a problem. */
  readonly problem: string | undefined
  /** The last row of the key audit when this instance last read it: the row's number, and its hash as the audit head. */
  readonly audit: { readonly head: string; readonly number: number } | undefined
  /** The ring version for which the last row of the audit log was read. */
  readonly auditedRingVersion: number | undefined
  /** The last poll: when it began, and whether its report said that this instance signs. */
  readonly lastPoll: { readonly startedAt: number; readonly wasSigningReported: boolean }
  /** True if the next report must announce that this instance signs. The read after that report then grants the lease. */
  readonly mustAnnounceSigning: boolean
}

/** The report of an instance on its signing keys. */
interface SigningReport {
  /** 0 if the instance reports that it does not sign. */
  readonly ringVersion: number
  readonly signingKid: string | undefined
  readonly proof: string | undefined
  readonly problem: string | undefined
}

export const INITIAL_STATE: KeyFollowerState = {
  ring: undefined,
  leaseExpiresAt: Number.NEGATIVE_INFINITY,
  problem: undefined,
  audit: undefined,
  auditedRingVersion: undefined,
  lastPoll: { startedAt: Number.NEGATIVE_INFINITY, wasSigningReported: false },
  mustAnnounceSigning: false,
}

export type KeyFollowerEvent =
  | { readonly kind: 'poll-started'; readonly now: number }
  | { readonly kind: 'ring-read'; readonly ring: LoadedRing }
  | { readonly kind: 'ring-adopted'; readonly ring: LoadedRing; readonly proof: string }
  /** `lastRow` is undefined if the audit log is empty. */
  | { readonly kind: 'audit-read'; readonly ringVersion: number; readonly lastRow: AuditRow | undefined }
  | { readonly kind: 'audit-read-failed'; readonly error: unknown }
  /** An effect of the poll threw an error: the report, the read or the adoption. The poll ends. */
  | { readonly kind: 'poll-failed'; readonly error: unknown }

/**
 * Effects are performed in order. If an effect causes an event, the effects of that event are performed before the next effect in
 * the list.
 */
export type KeyFollowerEffect =
  /** Write the report of this instance to the database. */
  | { readonly kind: 'report'; readonly report: SigningReport }
  /** Read the ring from the database. Causes `ring-read`. */
  | { readonly kind: 'read-ring' }
  /** Sign with the keys of this ring from now on. Causes `ring-adopted`. */
  | { readonly kind: 'adopt-ring'; readonly ring: LoadedRing }
  /** Read the last row of the audit log. Causes `audit-read` or `audit-read-failed`. */
  | { readonly kind: 'read-audit'; readonly ringVersion: number }
  /** Poll again without waiting for the next interval. Causes `poll-started`. */
  | { readonly kind: 'poll-again' }
  | {
      readonly kind: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields: LogFields
    }

interface KeyFollowerStep {
  readonly state: KeyFollowerState
  readonly effects: readonly KeyFollowerEffect[]
}

/** Computes the state after an event, and the effects to perform. */
export function advanceKeyFollower(
  state: KeyFollowerState,
  event: KeyFollowerEvent,
  leaseMs: number,
): KeyFollowerStep {
  switch (event.kind) {
    case 'poll-started': {
      const isSigning = hasLease(state, event.now) || state.mustAnnounceSigning
      const lastPoll = { startedAt: event.now, wasSigningReported: isSigning }
      return {
        state: { ...state, lastPoll, mustAnnounceSigning: false },
        effects: [{ kind: 'report', report: createReport(state, isSigning) }, { kind: 'read-ring' }],
      }
    }
    case 'ring-read': {
      const { ring } = event
      const isUnchanged =
        state.ring?.version === ring.version && isDeepStrictEqual(state.ring.keys, ring.keys)
      if (!isUnchanged) return { state, effects: [{ kind: 'adopt-ring', ring }] }
      const hasRecovered = state.problem !== undefined
      return handleRead(state, hasRecovered ? 'the key ring can be read again' : undefined, leaseMs)
    }
    case 'ring-adopted': {
      const adoptedState = { ...state, ring: { ...event.ring, proof: event.proof } }
      return handleRead(adoptedState, 'adopted the key ring', leaseMs)
    }
    case 'audit-read': {
      const auditedState = { ...state, auditedRingVersion: event.ringVersion }
      if (!event.lastRow) return { state: auditedState, effects: [] }
      const audit = { head: formatHead(event.lastRow), number: event.lastRow.number }
      return {
        state: { ...auditedState, audit },
        effects: [log('info', 'read the head of the key audit', audit)],
      }
    }
    case 'audit-read-failed':
      return {
        state,
        effects: [log('warn', 'the end of the key audit could not be read', { error: event.error })],
      }
    case 'poll-failed':
      return handleFailure(state, event.error, leaseMs)
  }
}

/**
 * Renews the lease after a successful read, if this instance had reported before the read that it signs. A command that changes
 * the ring then waits for this instance, unless this instance has already read the change. If the poll made no such report, as
 * at startup and after a lease has expired, the instance announces that it signs, and polls again.
 *
 * Reads the last row of the audit log after each change of the ring, and again at later polls until a read succeeds. The audit
 * head is then in the log of the instance, where the owner of the database cannot alter it. The read comes before the report,
 * because an operator may look for the head as soon as all instances have reported.
 *
 * @param change the change since the last poll, as a log message; undefined if nothing has changed. Every change is also
 *   reported
 */
function handleRead(
  state: KeyFollowerState,
  change: 'adopted the key ring' | 'the key ring can be read again' | undefined,
  leaseMs: number,
): KeyFollowerStep {
  const effects: KeyFollowerEffect[] = []
  const renewedState = { ...state, ...renewLease(state, leaseMs), problem: undefined }
  const { ring, auditedRingVersion } = renewedState
  if (ring && auditedRingVersion !== ring.version)
    effects.push({ kind: 'read-audit', ringVersion: ring.version })
  if (ring && change !== undefined) {
    const fields = { ring_version: ring.version, signing_kid: ring.keys.signingKey.kid }
    effects.push(log('info', change, fields))
  }
  if (renewedState.mustAnnounceSigning) effects.push({ kind: 'poll-again' })
  else if (change !== undefined) effects.push({ kind: 'report', report: createReport(renewedState, true) })
  return { state: renewedState, effects }
}

/** Renews the lease, which begins with the poll. If the poll did not report that this instance signs, the next one must. */
const renewLease = ({ lastPoll, leaseExpiresAt }: KeyFollowerState, leaseMs: number) => ({
  leaseExpiresAt: lastPoll.wasSigningReported ? lastPoll.startedAt + leaseMs : leaseExpiresAt,
  mustAnnounceSigning: !lastPoll.wasSigningReported,
})

function handleFailure(state: KeyFollowerState, error: unknown, leaseMs: number): KeyFollowerStep {
  if (isUnavailable(error))
    return { state, effects: [log('warn', 'the key ring could not be read', { error })] }
  const isUnreadable = error instanceof UnreadableKey
  const problem = isUnreadable ? error.message : 'the key ring cannot be used'
  // The ring has not changed, so the adopted keys are still valid. A stored key or the KEK file of this instance is damaged.
  const isUnchanged = isUnreadable && error.ringVersion === state.ring?.version
  const message = isUnreadable ? 'signing keys cannot be read' : 'the key ring cannot be used'
  return {
    state: { ...state, ...(isUnchanged && renewLease(state, leaseMs)), problem },
    effects:
      problem === state.problem ? [] : [log('error', `${message}: this instance is not ready`, { error })],
  }
}

const log = (level: 'info' | 'warn' | 'error', message: string, fields: LogFields): KeyFollowerEffect => ({
  kind: 'log',
  level,
  message,
  fields,
})

/** Returns whether the lease is valid. Once it has expired, commands that change the ring no longer wait for the instance. */
export const hasLease = (state: KeyFollowerState, now: number) => now < state.leaseExpiresAt

/** Creates the report of this instance. An instance that may not sign reports no key, so no command waits for it. */
function createReport({ ring, problem }: KeyFollowerState, isSigning: boolean): SigningReport {
  return {
    ringVersion: isSigning ? (ring?.version ?? 0) : 0,
    signingKid: isSigning ? ring?.keys.signingKey.kid : undefined,
    proof: isSigning ? ring?.proof : undefined,
    problem,
  }
}

/** The keys that this instance uses, for `/ready` and the metrics. */
export interface KeyFollowerStatus {
  /** 0 before the first ring was adopted. */
  readonly ring_version: number
  /** Empty before the first ring was adopted. */
  readonly signing_kid: string
  /** When that key began to sign: a time in RFC 3339, by the database clock. */
  readonly signing_since?: string
  readonly problem?: string
  /** The last row of the key audit when this instance last read it, after a change of the ring. */
  readonly audit?: { readonly head: string; readonly number: number }
  /** Set while the last row of the audit log has not been read since the last change of the ring. */
  readonly audit_unread?: true
}

export function toStatus(state: KeyFollowerState): KeyFollowerStatus {
  const { ring, problem, audit, auditedRingVersion } = state
  return {
    ring_version: ring?.version ?? 0,
    signing_kid: ring?.keys.signingKey.kid ?? '',
    ...(ring?.signingSince && { signing_since: ring.signingSince.toISOString() }),
    ...(problem !== undefined && { problem }),
    ...(audit && { audit }),
    ...(ring && auditedRingVersion !== ring.version && { audit_unread: true }),
  }
}
