import pg from 'pg'
import { ConnectionQueueFullError } from './connection-queue.ts'

/** SQLSTATE classes and codes (PostgreSQL manual, appendix A) that say "not now", whatever was asked. */
const UNAVAILABLE_STATES = /^(?:08...|53...|57P0[1-5]|57014|55P03|40001|40P01|25006|25P03)$/
const UNAVAILABLE_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
/** However these fail, no connection came of it: a name that is not resolved, a machine that can open nothing more. */
const REACHING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])
/** What pg and pg-pool say in errors that carry no code. */
const UNAVAILABLE_MESSAGES: ReadonlySet<string> = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
])

/**
 * True when the store did not answer, or not in time: refused or lost connections, every timeout, too many who wait, a
 * server that starts, stops, is full or read-only, or that gave another transaction precedence (a deadlock). Such a failure is answered with 503; it is no bug of ours.
 * A statement cut off by it may or may not have been kept.
 */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof pg.DatabaseError ? UNAVAILABLE_STATES.test(cause.code ?? '') : failedToReach(cause))
      return true
  }
  return false
}

const failedToReach = (error: Error) =>
  error instanceof ConnectionQueueFullError ||
  ('code' in error && UNAVAILABLE_CODES.has(error.code)) ||
  ('syscall' in error && REACHING.has(error.syscall)) ||
  UNAVAILABLE_MESSAGES.has(error.message)

/** True when the connection must not be used again: it is lost, or a statement on it may still be running. */
export function endsSession(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(?:08|57P|25P03)/.test(error.code ?? '')
}

/** Takes out of a server's error what it quotes of rows and parameters, so that it may be logged. */
export function withoutValues(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  error.detail = undefined
  error.where = undefined
  error.internalQuery = undefined
  if (!error.code?.startsWith('22')) return error
  const quoted = error.message
  error.message = quoted.replace(/".*"/s, '"…"')
  error.stack = error.stack?.replace(quoted, error.message) ?? ''
  return error
}
