import { setTimeout as sleep } from 'node:timers/promises'
import { type TracedCall, traced } from '@plainpath/tracing'
import pg from 'pg'
import { CONNECT_TIMEOUT_MS, type ErrorLog, ignoreErrorEvents, rowTypes } from './connection.ts'
import { connectionQueue } from './connection-queue.ts'
import { endsSession, isUnavailable, withoutValues } from './database-error.ts'

/** What stores ask for; a pool is one, and an open transaction is one. */
export interface Database {
  /**
   * Rows come as the server gave them: the caller parses them.
   *
   * @param name under which each connection prepares the statement, once: for one that runs often and returns no rows,
   *   since a migration may change what a prepared one returns
   */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<{ rows: Row[]; rowCount: number }>
}

export interface Pool extends Database, AsyncDisposable {
  /**
   * Runs `work` in one transaction on one connection: kept when it returns, undone when it throws. `tx` is good
   * until then. A transaction that the server undid in favour of another (40001, 40P01) runs again, twice at most, so what
   * `work` does elsewhere must bear that.
   *
   * @throws what `work` throws; and an Error when `work` swallowed a failed statement, since the server then keeps
   *   nothing although it was asked to.
   */
  transaction<T>(work: (tx: Database) => Promise<T>): Promise<T>
  /**
   * How many connections there are now, and how many wait for one; how many were turned away, and for how many the server
   * was unavailable, since the pool was opened.
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
 * Opens a pool of at most `max` (10) connections, made when needed. Idle ones are closed after 10 s, unless they `stay`.
 * Disposing waits 5 s for those in use.
 *
 * Bounds: 1 s for a connection from the pool, and for one from the server; two waiting for each connection while the server
 * serves nobody, others are refused at once; 2 s for a statement, 0.5 s for a lock; 5 s between
 * two statements of a transaction; 2.5 s until a server that says nothing is given up and its connection dropped.
 * Errors thrown carry no row or parameter values. An idle connection that is lost is told to `log`.
 */
export function openPool(
  url: string,
  options: {
    max?: number
    stay?: boolean
    applicationName?: string
    log?: ErrorLog
    /** How many times longer than in production everything may take: for tests on a busy machine. */
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
  const line = connectionQueue(max, {
    waitMs: CONNECT_TIMEOUT_MS * patience,
    isServed: (error) => !isUnavailable(error),
  })
  const inSession = <T>(use: (session: Session) => Promise<T>): Promise<T> =>
    line.pass(async () =>
      withSession(await pool.connect(), (session) => repeatRolledBack(() => use(session))),
    )
  return {
    query: (...asked) => inSession((session) => session.query(...asked)),
    transaction: (work) => inSession((session) => inTransaction(session, work)),
    usage: () => ({ ...line.counts(), idle: pool.idleCount, max, open: pool.totalCount }),
    async [Symbol.asyncDispose]() {
      const ended = pool.end().then(() => true)
      if (!(await Promise.race([ended, sleep(CLOSE_TIMEOUT_MS, false, { ref: false })])))
        options.log?.error('closed a pool while its connections were in use')
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
    async query(...asked) {
      if (!open) throw new Error('the transaction has ended')
      return session.query(...asked)
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

/** Serialization failure and deadlock (PostgreSQL manual, appendix A): all of it is undone, and the same may succeed now. */
const ROLLED_BACK: ReadonlySet<unknown> = new Set(['40001', '40P01'])
const MOST_REPEATS = 2
const LONGEST_PAUSE_MS = 20

/**
 * Runs `work`, and again, twice at most, when the server undid all of it in favour of another transaction. Those two
 * would meet again, so it pauses before, for a random time below 20 ms, then 40 ms.
 *
 * @throws what `work` throws at last, and every other failure at once
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

/** A statement as traces tell it: its text, in which values are placeholders, and never the values. */
const statementCall = (text: string): TracedCall => ({
  name: /\w+/.exec(text)?.[0].toLowerCase() ?? 'statement',
  attributes: { 'db.system.name': 'postgresql', 'db.query.text': text },
})

/** The server's clock, not the beginning of a transaction. */
export async function databaseTime(db: Database): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('select clock_timestamp() as at')
  const [row] = rows
  if (!row) throw new Error('the database did not tell the time')
  return row.at
}

const MOST_APART_MS = 30_000

/**
 * False when the clock of this machine and the server's are more than half a minute apart: by it nothing is to be erased.
 *
 * @param wall milliseconds, as `Date.now` gives them
 */
// oxlint-disable-next-line no-restricted-properties -- the clock that is checked
export async function clockAgrees(db: Database, wall: () => number = Date.now): Promise<boolean> {
  const there = await databaseTime(db)
  return Math.abs(wall() - there.getTime()) <= MOST_APART_MS
}
