import pg from 'pg'
import { ConnectionQueueFullError } from './connection-queue.ts'

/**
 * The SQLSTATEs (PostgreSQL manual, appendix A) of failures that may be transient, for any statement: a lost connection
 * (08), missing resources (53), a server that starts, stops or ends the session (57P0), a cancelled statement (57014), a lock
 * time-out (55P03), a serialization failure or deadlock (40001, 40P01), a read-only server (25006), and an idle transaction
 * that the server ended (25P03).
 */
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
/** If one of these system calls fails, there is no connection, for example for lack of a DNS entry. */
const CONNECT_CALLS: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])
/** The messages of errors without a code, from pg and pg-pool. */
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
 * Returns true for a database failure, as opposed to a bug of ours: refused or lost connections, time-outs, a full
 * connection queue, a deadlock, and a server that is starting, stopping, full or read-only. The error itself or one of
 * its nearest four causes may be such a failure. The response is then 503. An interrupted statement may or may not have been
 * committed.
 */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const isFailure =
      cause instanceof pg.DatabaseError
        ? UNAVAILABLE_STATES.test(cause.code ?? '')
        : isConnectionFailure(cause)
    if (isFailure) return true
  }
  return false
}

const isConnectionFailure = (error: Error) =>
  error instanceof ConnectionQueueFullError ||
  ('code' in error && UNAVAILABLE_CODES.has(error.code)) ||
  ('syscall' in error && CONNECT_CALLS.has(error.syscall)) ||
  UNAVAILABLE_MESSAGES.has(error.message)

/** Returns true if a connection must not be used again after this error: it is lost, or a statement may still be running on it. */
export function isConnectionUnusable(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(?:08|57P|25P03)/.test(error.code ?? '')
}

/**
 * Removes from a server error the parts that can contain values of rows and parameters, so that it can be logged. Returns
 * the same error.
 */
export function redactDatabaseError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  error.detail = undefined
  error.where = undefined
  error.internalQuery = undefined
  // The message of a data exception (class 22) can quote a value, and its stack repeats the message.
  if (!error.code?.startsWith('22')) return error
  const originalMessage = error.message
  error.message = originalMessage.replace(/".*"/s, '"…"')
  error.stack = error.stack?.replace(originalMessage, error.message) ?? ''
  return error
}
