import { setTimeout as sleep } from 'node:timers/promises'
import { type TracedCall, traced } from '@plainpath/tracing'
import pg from 'pg'
import { CONNECT_TIMEOUT_MS, type ErrorLog, ignoreErrorEvents, rowTypes } from './connection.ts'
import { connectionQueue } from './connection-queue.ts'
import { endsSession, isUnavailable, withoutValues } from './database-error.ts'

/*
 * The connection pool of PostgreSQL: bounds, transactions, and which failures cost a connection. Queries belong to the
 * stores; `connection-queue.ts` decides who waits, `database-error.ts` what a failure means.
 */

/** Runs queries, in a pool or in an open transaction. Stores take this as their database. */
export interface Database {
  /**
   * Runs a statement. Rows are not validated: the caller parses them.
   *
   * @param name prepares the statement once for each connection. Only for a frequent statement that returns no rows, since a
   *   migration may change the columns that a prepared one returns.
   */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ rows: Row[]; rowCount: number }>
}

export interface Pool extends Database, AsyncDisposable {
  /**
   * Runs `work` in one transaction on one connection: commits when it returns, rolls back when it throws. `tx` must not be
   * used afterwards. After a serialization failure or a deadlock (40001, 40P01) `work` runs again, at most twice, so its
   * other effects must be idempotent.
   *
   * @throws what `work` throws; and an Error if `work` swallowed the failure of a statement, since the server then rolls back
   *   in place of the commit
   */
  transaction<T>(work: (tx: Database) => Promise<T>): Promise<T>
  /**
   * Returns the connections in use, idle and open, and the requests that wait now; and since the pool was opened the requests
   * that were refused (`shed`) and those that failed because the server was unavailable.
   */
  usage(): {
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
 * Opens a pool of at most `max` (10) connections, opened on demand. Idle ones are closed after 10 s unless `stay` is set.
 * Disposing waits 5 s for those in use.
 *
 * Bounds: 1 s for a connection from the pool, and for one from the server; two waiting requests for each connection while no
 * query completes, others are refused at once; 2 s for a statement, 0.5 s for a lock; 5 s between two statements of a
 * transaction; 2.5 s for a server that does not respond, after which the connection is dropped.
 *
 * Errors contain no row or parameter values. The loss of an idle connection is logged.
 */
export function openPool(
  url: string,
  options: {
    max?: number
    stay?: boolean
    applicationName?: string
    log?: ErrorLog
    /** Multiplies the time limits, for tests on a busy machine. */
    patience?: number | undefined
  } = {},
): Pool {
  const { patience = 1 } = options
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName ?? 'plainpath',
    max: options.max ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS * patience,
    ...(options.stay && { idleTimeoutMillis: 0 }),
    statement_timeout: 2_000 * patience,
    query_timeout: 2_500 * patience,
    lock_timeout: 500 * patience,
    idle_in_transaction_session_timeout: 5_000,
    keepAlive: true,
    types: rowTypes,
  })
  pool.on('connect', ignoreErrorEvents)
  pool.on('error', (error) =>
    options.log?.error('lost an idle database connection', { reason: error.message }),
  )
  const { max } = pool.options
  const queue = connectionQueue(max, {
    waitMs: CONNECT_TIMEOUT_MS * patience,
    isServed: (error) => !isUnavailable(error),
  })
  const inSession = <T>(use: (session: Session) => Promise<T>): Promise<T> =>
    queue.run(async () =>
      withSession(await pool.connect(), (session) => repeatRolledBack(() => use(session))),
    )
  return {
    query: (...statement) => inSession((session) => session.query(...statement)),
    transaction: (work) => inSession((session) => inTransaction(session, work)),
    usage: () => ({ ...queue.counts(), idle: pool.idleCount, max, open: pool.totalCount }),
    async [Symbol.asyncDispose]() {
      const ended = pool.end().then(() => true)
      if (!(await Promise.race([ended, sleep(CLOSE_TIMEOUT_MS, false, { ref: false })])))
        options.log?.error('the pool was closed while connections were in use')
    },
  }
}

interface Session {
  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ rows: Row[]; rowCount: number; command: string }>
  readonly lost: boolean
}

async function withSession<T>(client: pg.PoolClient, use: (session: Session) => Promise<T>): Promise<T> {
  let lost = false
  const session: Session = {
    async query<Row extends object>(text: string, values: readonly unknown[] = [], name?: string) {
      try {
        const run = () => client.query<Row>({ text, values: values as unknown[], ...(name && { name }) })
        const { rows, rowCount, command } = await traced(() => statementCall(text), run)
        return { rows, rowCount: rowCount ?? 0, command }
      } catch (error) {
        lost ||= endsSession(error)
        throw withoutValues(error)
      }
    },
    get lost() {
      return lost
    },
  }
  try {
    return await use(session)
  } finally {
    client.release(lost)
  }
}

async function inTransaction<T>(session: Session, work: (tx: Database) => Promise<T>): Promise<T> {
  let open = true
  const tx: Database = {
    async query(...statement) {
      if (!open) throw new Error('the transaction has ended')
      return session.query(...statement)
    },
  }
  await session.query('begin')
  try {
    const result = await work(tx)
    open = false
    const { command } = await session.query('commit')
    if (command !== 'COMMIT') throw new Error('nothing was kept: a statement of the transaction failed')
    return result
  } catch (error) {
    open = false
    if (!session.lost) await rollBack(session)
    throw error
  }
}

async function rollBack(session: Session): Promise<void> {
  try {
    await session.query('rollback')
  } catch (error) {
    // The server itself rolls back the transaction of a connection that is lost.
    if (!session.lost) throw error
  }
}

/** Serialization failure and deadlock (PostgreSQL manual, appendix A): all is rolled back, and a retry may succeed. */
const ROLLED_BACK: ReadonlySet<unknown> = new Set(['40001', '40P01'])
const MOST_REPEATS = 2
const LONGEST_PAUSE_MS = 20

/**
 * Runs `work`, and repeats it at most twice if the server rolled it back in favour of another transaction. A random pause
 * before each repetition, below 20 ms and then 40 ms, keeps the two from colliding again.
 *
 * @throws the last failure of `work`, and any failure of another kind at once
 */
async function repeatRolledBack<T>(work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await work()
    } catch (error) {
      if (repeats === MOST_REPEATS || !wasRolledBack(error)) throw error
      await sleep(Math.random() * LONGEST_PAUSE_MS * (repeats + 1))
    }
  }
}

const wasRolledBack = (error: unknown) => error instanceof pg.DatabaseError && ROLLED_BACK.has(error.code)

/** Describes a statement for traces: its text, in which values are placeholders, and never the values. */
const statementCall = (text: string): TracedCall => ({
  name: /\w+/.exec(text)?.[0].toLowerCase() ?? 'statement',
  attributes: { 'db.system.name': 'postgresql', 'db.query.text': text },
})

/** Reads the clock of the server now, not at the start of a transaction. */
export async function databaseTime(db: Database): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('select clock_timestamp() as at')
  const [row] = rows
  if (!row) throw new Error('the database returned no time')
  return row.at
}

const MOST_APART_MS = 30_000

/**
 * Returns false if the clocks of this machine and of the server differ by more than 30 s. Nothing must then be erased by age.
 *
 * @param wall milliseconds, as `Date.now` gives them
 */
// oxlint-disable-next-line no-restricted-properties -- the clock that is checked
export async function clockAgrees(db: Database, wall: () => number = Date.now): Promise<boolean> {
  const serverTime = await databaseTime(db)
  return Math.abs(wall() - serverTime.getTime()) <= MOST_APART_MS
}
