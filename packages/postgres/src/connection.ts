import pg from 'pg'

/** The log for failures that are not reported to a caller. */
export interface ErrorLog {
  error(message: string, fields?: Record<string, unknown>): void
}

/** The time limit for connecting, here and in the pool. */
export const CONNECT_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Opens a connection outside any pool. Each statement on it may take `statementMs`, by default 2 s. Disposing the client calls
 * `disconnect`.
 *
 * @throws an error for which `isUnavailable` returns true if the server cannot be reached; otherwise the server's error, for
 *   example for a wrong password
 */
export async function connect(
  url: string,
  options: {
    applicationName: string
    statementMs?: number
    /** Multiplies the time limits for connecting and for statements. For tests on a busy machine. */
    patience?: number
  },
): Promise<pg.Client & AsyncDisposable> {
  const { patience = 1 } = options
  const statementMs = (options.statementMs ?? 2_000) * patience
  const client = new pg.Client({
    connectionString: url,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS * patience,
    statement_timeout: statementMs,
    // Applies only if the server does not respond, because the server's own limit is 0.5 s shorter.
    query_timeout: statementMs + 500,
    keepAlive: true,
    types: columnParsers,
  })
  ignoreErrorEvents(client)
  try {
    await client.connect()
    return Object.assign(client, { [Symbol.asyncDispose]: () => disconnect(client) })
  } catch (error) {
    await disconnect(client)
    throw error
  }
}

/** Closes a connection. Destroys the socket if the server does not close its side within 1 s. */
export async function disconnect(client: pg.Client): Promise<void> {
  // `connection.stream` is not part of pg's documented API.
  const destroyTimer = setTimeout(() => client.connection.stream.destroy(), CLOSE_TIMEOUT_MS)
  try {
    await client.end()
  } finally {
    clearTimeout(destroyTimer)
  }
}

/** Ignores error events, which would otherwise end the process. A lost connection also fails the current or next statement. */
export function ignoreErrorEvents(client: pg.ClientBase): void {
  client.on('error', () => undefined)
}

type ColumnParser = (value: string) => unknown

/** Object identifiers of types, from pg_type. */
const BYTEA = 17
const BYTEA_ARRAY = 1001
const INT8 = 20
const DATE = 1082
const DATE_ARRAY = 1182
const TEXT_ARRAY = 1009

const getBuiltInParser = pg.types.getTypeParser as (oid: number, format: 'text' | 'binary') => ColumnParser

/**
 * The parsers for the columns that our connections read. pg's global parsers stay unchanged.
 * - `date`, also in an array, remains `YYYY-MM-DD` text, because a Date would shift it by the process's time zone.
 * - `bigint` becomes a number. A value beyond ±(2^53-1) fails the statement instead of being rounded.
 * - `bytea`, also in an array, becomes a Buffer with its own memory. pg may return a slice of Node's shared 8 KiB pool, which
 *   would stay in memory as a whole.
 *
 * pg parses the other types: `timestamptz` becomes a Date.
 */
export const columnParsers = {
  getTypeParser(oid: number, format: 'text' | 'binary' = 'text'): ColumnParser {
    if (format === 'binary') return getBuiltInParser(oid, format)
    if (oid === INT8) return parseExactNumber
    if (oid === DATE) return String
    if (oid === BYTEA) return parseBytes
    if (oid === BYTEA_ARRAY) return parseBytesList
    return getBuiltInParser(oid === DATE_ARRAY ? TEXT_ARRAY : oid, format)
  },
}

function parseExactNumber(digits: string): number {
  const value = Number(digits)
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint column has a value beyond ±(2^53-1)')
  return value
}

const parseBytes = (value: string) => copyBytes(getBuiltInParser(BYTEA, 'text')(value) as Buffer)

const parseBytesList = (value: string) =>
  (getBuiltInParser(BYTEA_ARRAY, 'text')(value) as (Buffer | null)[]).map(
    (bytes) => bytes && copyBytes(bytes),
  )

/** Copies into `Buffer.alloc`, which does not use the shared pool of small buffers. */
function copyBytes(bytes: Buffer): Buffer {
  const copy = Buffer.alloc(bytes.length)
  bytes.copy(copy)
  return copy
}
