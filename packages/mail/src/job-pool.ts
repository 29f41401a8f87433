import pg from 'pg'
import { SECOND_MS } from './times.ts'

/** To hear of new jobs, to take them and to settle them. */
const CONNECTIONS = 4

/**
 * The connections of graphile-worker.
 *
 * The library does not wait for the statements that settle a job, so that one that fails would end the process. Here
 * they never fail: a job that could not be settled stays locked, its mail is settled or overdue by itself, and the
 * library lets go of the job after four hours.
 */
export function jobPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    application_name: 'plainpath mail',
    max: CONNECTIONS,
    connectionTimeoutMillis: 5 * SECOND_MS,
    statement_timeout: 5 * SECOND_MS,
    query_timeout: 6 * SECOND_MS,
    keepAlive: true,
  })
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    settleQuietly(client)
  })
  pool.on('error', () => undefined)
  const connect = pool.connect.bind(pool)
  return Object.assign(pool, {
    connect: (callback?: Parameters<typeof connect>[0]) =>
      callback ? connect(callback) : connect().catch((error: unknown) => unreachable(error)),
  })
}

const SETTLED = { rows: [], rowCount: 0, command: '', oid: 0, fields: [] }

/** By the names that the library gives its prepared statements. */
const settles = (query: unknown) =>
  typeof query === 'object' &&
  query !== null &&
  'name' in query &&
  /^(complete|fail)_jobs?(_q)?\//.test(String(query.name))

function settleQuietly(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const quiet = (...args: unknown[]) => {
    const answer = query(...args)
    return settles(args[0]) && answer instanceof Promise ? answer.catch(() => SETTLED) : answer
  }
  Object.assign(client, { query: quiet })
}

/** Stands for a connection that could not be made. */
const unreachable = (error: unknown) => ({
  async query(query: unknown) {
    if (settles(query)) return SETTLED
    throw error
  },
  release: () => undefined,
})
