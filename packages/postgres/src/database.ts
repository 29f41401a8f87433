import { traced } from '@plainpath/tracing'
import pg from 'pg'
import { CONNECT_TIMEOUT_MS, type ErrorLog, ignoreErrorEvents } from './connection.ts'
import { endsSession, withoutValues } from './database-error.ts'
import { rowTypes } from './row-types.ts'
import { statementCall } from './statement-call.ts'

/** What stores ask for; a pool is one, and an open transaction is one. */
export interface Database {
  /** Rows come as the server gave them: the caller parses them. */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>
}

export interface Pool extends Database, AsyncDisposable {
  /**
   * Runs `work` in one transaction on one connection: kept when it returns, undone when it throws. `tx` is good
   * until then.
   *
   * @throws what `work` throws; and an Error when `work` swallowed a failed statement, since the server then keeps
   *   nothing although it was asked to.
   */
  transaction<T>(work: (tx: Database) => Promise<T>): Promise<T>
  /** How many connections there are now, and how many wait for one. */
  usage(): { inUse: number; idle: number; waiting: number; max: number }
}

const CLOSE_TIMEOUT_MS = 5_000

/**
 * Opens a pool of at most `max` (10) connections, made when needed. Disposing waits 5 s for those in use.
 *
 * Bounds: 1 s for a connection, from the server or from the pool; 2 s for a statement, 0.5 s for a lock; 5 s between
 * two statements of a transaction; 2.5 s until a server that says nothing is given up and its connection dropped.
 * Errors thrown carry no row or parameter values. An idle connection that is lost is told to `log`.
 */
export function openPool(
  url: string,
  options: { max?: number; applicationName?: string; log?: ErrorLog } = {},
): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName ?? 'plainpath',
    max: options.max ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 2_000,
    query_timeout: 2_500,
    lock_timeout: 500,
    idle_in_transaction_session_timeout: 5_000,
    keepAlive: true,
    types: rowTypes,
  })
  pool.on('connect', ignoreErrorEvents)
  pool.on('error', (error) =>
    options.log?.error('lost an idle database connection', { reason: error.message }),
  )
  return {
    query: (text, values) => withSession(pool, (session) => session.query(text, values)),
    transaction: (work) => withSession(pool, (session) => inTransaction(session, work)),
    usage: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      max: pool.options.max,
    }),
    async [Symbol.asyncDispose]() {
      if (!(await endWithin(pool, CLOSE_TIMEOUT_MS))) {
        options.log?.error('closed a pool while its connections were in use')
      }
    },
  }
}

async function endWithin(pool: pg.Pool, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, ms, false)
  const ended = await Promise.race([pool.end().then(() => true), late])
  clearTimeout(timer)
  return ended
}

interface Session {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Answer<Row>>
  readonly lost: boolean
}
interface Answer<Row> {
  rows: Row[]
  rowCount: number
  command: string
}

async function withSession<T>(pool: pg.Pool, use: (session: Session) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let lost = false
  const session: Session = {
    async query<Row extends object>(text: string, values?: readonly unknown[]) {
      try {
        const run = () => client.query<Row>(text, values as unknown[] | undefined)
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
    async query(text, values) {
      if (!open) throw new Error('the transaction has ended')
      return session.query(text, values)
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
    // A connection that is lost, and so dropped from the pool, is rolled back by the server.
    if (!session.lost) throw error
  }
}
