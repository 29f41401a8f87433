import { setTimeout as sleep } from 'node:timers/promises'
import { type TracedCall, traceCall } from '@plainpath/tracing'
import pg from 'pg'
import { type CheckOut, createCheckOut } from './check-out.ts'
import { CONNECT_TIMEOUT_MS, columnParsers, type ErrorLog, ignoreErrorEvents } from './connection.ts'
import { createConnectionQueue } from './connection-queue.ts'
import { isConnectionUnusable, isUnavailable, redactDatabaseError } from './database-error.ts'

/*
 * The PostgreSQL connection pool, with its limits and transactions. Queries belong to the stores, `connection-queue.ts`
 * decides which requests wait, and `database-error.ts` classifies failures.
 */

/** A pool or an open transaction, which runs queries. */
export interface Database {
  /**
   * Runs a statement. It does not validate rows: the caller parses them. A pool runs a statement that the server rolled back
   * (40001, 40P01) again, at most twice.
   *
   * @param name if set, the statement is prepared under this name, once per connection. Use it only for a frequent
   *   statement that returns no rows, because a migration may change the columns that a prepared statement returns
   */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ rows: Row[]; rowCount: number }>
}

export interface Pool extends Database, AsyncDisposable {
  /**
   * Runs `work` in a transaction. Commits when `work` returns, and rolls back when it throws. `tx` must not be used
   * afterwards. After a serialization failure or a deadlock (40001, 40P01), `work` runs again, at most twice, so its
   * other effects must be idempotent.
   *
   * @throws the error of `work`; an Error if `work` ignored a failed statement, because the server then rolls back
   *   instead of committing
   */
  transaction<T>(work: (tx: Database) => Promise<T>): Promise<T>
  /**
   * Returns the current numbers of connections that are in use, idle and open, and of waiting requests. `shed` and `failed`
   * count requests since the pool was opened: `shed` those that were refused, and `failed` those that got no connection in
   * time, or whose server was unavailable.
   */
  getUsage(): {
    inUse: number
    idle: number
    waiting: number
    shed: number
    failed: number
    max: number
    open: number
  }
}

const CLOSE_TIMEOUT_MS = 5_000

/**
 * Creates a pool that opens at most `max` (10) connections on demand, two at a time. It closes idle connections after 10 s, unless
 * `keepIdleConnections` is set. Disposing waits at most 5 s for connections in use.
 *
 * Time limits:
 * - 1 s to get a connection from the pool, and 1 s to open one to the server
 * - 2 s for a statement, and 0.5 s for a lock
 * - 5 s between two statements of a transaction
 * - 2.5 s without a response from the server, after which the connection is dropped
 *
 * Once no query has completed for 0.2 s, at most two requests wait for each connection, and others are refused
 * immediately. Errors contain no row or parameter values. The loss of an idle connection is logged.
 */
export function openPool(
  url: string,
  options: {
    max?: number
    keepIdleConnections?: boolean
    applicationName?: string
    log?: ErrorLog
    /** Multiplies the time limits, except the 5 s between two statements. For tests on a busy machine. */
    patience?: number | undefined
    /**
     * True if `url` names a pooler in transaction mode. Statements are then not prepared, because each transaction may
     * run in another session. The pooler ignores the connection's time limits, so they are set on the role
     * (docs/scaling.md).
     */
    isPooled?: boolean
  } = {},
): Pool {
  const { patience = 1, isPooled = false } = options
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName ?? 'plainpath',
    max: options.max ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS * patience,
    ...(options.keepIdleConnections && { idleTimeoutMillis: 0 }),
    statement_timeout: 2_000 * patience,
    query_timeout: 2_500 * patience,
    lock_timeout: 500 * patience,
    idle_in_transaction_session_timeout: 5_000,
    keepAlive: true,
    types: columnParsers,
  })
  pool.on('connect', ignoreErrorEvents)
  pool.on('error', (error) =>
    options.log?.error('an idle database connection was lost', { reason: error.message }),
  )
  const { max } = pool.options
  const queue = createConnectionQueue(max, {
    waitMs: CONNECT_TIMEOUT_MS * patience,
    stallMs: 200 * patience,
    countsAsServed: (error) => !isUnavailable(error),
  })
  const checkOut = createCheckOut<pg.PoolClient>(pool)
  const runInSession = <T>(use: (session: Session) => Promise<T>): Promise<T> => {
    const deadline = performance.now() + CONNECT_TIMEOUT_MS * patience
    return queue.run(() =>
      withSession(checkOut, { deadline, isPooled }, (session) => retryIfRolledBack(() => use(session))),
    )
  }
  return {
    query: (...statement) => runInSession((session) => session.query(...statement)),
    transaction: (work) => runInSession((session) => runInTransaction(session, work)),
    getUsage: () => ({ ...queue.getCounts(), idle: pool.idleCount, max, open: pool.totalCount }),
    async [Symbol.asyncDispose]() {
      const poolEnd = pool.end().then(() => true)
      if (!(await Promise.race([poolEnd, sleep(CLOSE_TIMEOUT_MS, false, { ref: false })])))
        options.log?.error('the pool was closed while connections were in use')
    },
  }
}

/** A connection from the pool while one request uses it. */
interface Session {
  /** Runs a statement. `command` is its command tag, such as `COMMIT`; `ROLLBACK` for the commit of a failed transaction. */
  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ rows: Row[]; rowCount: number; command: string }>
  /** True after an error that makes the connection unusable (`isConnectionUnusable`). */
  readonly isLost: boolean
}

/** Runs `use` with a connection, and returns the connection to the pool, or closes it if it is lost. */
async function withSession<T>(
  checkOut: CheckOut<pg.PoolClient>,
  { deadline, isPooled }: { deadline: number; isPooled: boolean },
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const client = await checkOut.get(deadline)
  let isLost = false
  const session: Session = {
    async query<Row extends object>(text: string, values: readonly unknown[] = [], name?: string) {
      try {
        const run = () =>
          client.query<Row>({ text, values: values as unknown[], ...(name && !isPooled && { name }) })
        const { rows, rowCount, command } = await traceCall(() => describeStatement(text), run)
        return { rows, rowCount: rowCount ?? 0, command }
      } catch (error) {
        isLost ||= isConnectionUnusable(error)
        throw redactDatabaseError(error)
      }
    },
    get isLost() {
      return isLost
    },
  }
  try {
    return await use(session)
  } finally {
    client.release(isLost)
    checkOut.notifyReturned()
  }
}

async function runInTransaction<T>(session: Session, work: (tx: Database) => Promise<T>): Promise<T> {
  let isOpen = true
  const tx: Database = {
    async query(...statement) {
      if (!isOpen) throw new Error('the transaction has ended')
      return session.query(...statement)
    },
  }
  await session.query('begin')
  try {
    const result = await work(tx)
    isOpen = false
    const { command } = await session.query('commit')
    if (command !== 'COMMIT') throw new Error('nothing was committed: a statement of the transaction failed')
    return result
  } catch (error) {
    isOpen = false
    if (!session.isLost) await rollBack(session)
    throw error
  }
}

async function rollBack(session: Session): Promise<void> {
  try {
    await session.query('rollback')
  } catch (error) {
    // If the connection is lost, the server rolls back its transaction.
    if (!session.isLost) throw error
  }
}

/** The codes of a serialization failure and a deadlock (PostgreSQL manual, appendix A). A retry may succeed. */
const ROLLED_BACK_CODES: ReadonlySet<unknown> = new Set(['40001', '40P01'])
const MAX_RETRIES = 2
const BASE_PAUSE_MS = 20

/**
 * Runs `work`, and retries it at most twice if the server rolled it back in favour of another transaction. A random
 * pause before each retry, up to 20 ms and then up to 40 ms, makes another collision less likely.
 *
 * @throws the error of the last try, or any other error immediately
 */
async function retryIfRolledBack<T>(work: () => Promise<T>): Promise<T> {
  for (let retryCount = 0; ; retryCount += 1) {
    try {
      return await work()
    } catch (error) {
      if (retryCount === MAX_RETRIES || !wasRolledBack(error)) throw error
      await sleep(Math.random() * BASE_PAUSE_MS * (retryCount + 1))
    }
  }
}

const wasRolledBack = (error: unknown) =>
  error instanceof pg.DatabaseError && ROLLED_BACK_CODES.has(error.code)

/** Describes a statement for traces by its text, which contains placeholders instead of values. */
const describeStatement = (text: string): TracedCall => ({
  name: /\w+/.exec(text)?.[0].toLowerCase() ?? 'statement',
  attributes: { 'db.system.name': 'postgresql', 'db.query.text': text },
})

/** Reads the server's current time, not the start time of the transaction. */
export async function readDatabaseTime(db: Database): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('select clock_timestamp() as at')
  const [row] = rows
  if (!row) throw new Error('the database returned no time')
  return row.at
}

export const MAX_CLOCK_DIFFERENCE_MS = 30_000

/**
 * Returns false if this machine's clock and the server's differ by more than 30 s. The caller must then erase nothing
 * by age.
 *
 * @param readWallMs reads this machine's clock in milliseconds, like `Date.now`
 */
export async function isClockSynchronised(
  db: Database,
  // oxlint-disable-next-line no-restricted-properties -- the clock that is checked
  readWallMs: () => number = Date.now,
): Promise<boolean> {
  const serverTime = await readDatabaseTime(db)
  return Math.abs(readWallMs() - serverTime.getTime()) <= MAX_CLOCK_DIFFERENCE_MS
}
