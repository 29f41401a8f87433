import pg from 'pg'

/** The log of failures that reach no caller. */
export interface ErrorLog {
  error(message: string, fields?: Record<string, unknown>): void
}

export const CONNECT_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Opens one connection outside any pool. A statement on it may take `statementMs` (2 s). Disposing calls `disconnect`.
 *
 * @throws errors for which `isUnavailable` is true, and refusals of the server, such as a wrong password
 */
export async function connect(
  url: string,
  options: { applicationName: string; statementMs?: number },
): Promise<pg.Client & AsyncDisposable> {
  const statementMs = options.statementMs ?? 2_000
  const client = new pg.Client({
    connectionString: url,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementMs,
    query_timeout: statementMs + 500,
    keepAlive: true,
    types: rowTypes,
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

/** Closes a connection and waits at most 1 s for the server to close it too; then destroys the socket. */
export async function disconnect(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), CLOSE_TIMEOUT_MS)
  try {
    await client.end()
  } finally {
    clearTimeout(cut)
  }
}

/** Ignores error events. A lost connection also fails the current or next statement; an unhandled event would end the process. */
export function ignoreErrorEvents(client: pg.ClientBase): void {
  client.on('error', () => undefined)
}

type Parse = (value: string) => unknown

/** Object identifiers of types, from pg_type. */
const BYTEA = 17
const BYTEA_ARRAY = 1001
const INT8 = 20
const DATE = 1082
const DATE_ARRAY = 1182
const TEXT_ARRAY = 1009

const builtIn = pg.types.getTypeParser as (oid: number, format: 'text' | 'binary') => Parse

/**
 * Parses columns for the connections that use it; pg's global parsers stay unchanged. `date` stays `YYYY-MM-DD` text, since a
 * Date would shift it by the time zone of the process. `bigint` becomes a number, and one beyond 2^53-1 fails the statement
 * instead of being rounded. `bytea` becomes a Buffer with memory of its own, since pg returns a slice of an 8 KiB buffer that
 * stays in memory as long as the slice. Other types are parsed by pg: `timestamptz` is a Date.
 */
export const rowTypes = {
  getTypeParser(oid: number, format: 'text' | 'binary' = 'text'): Parse {
    if (format === 'binary') return builtIn(oid, format)
    if (oid === INT8) return exactNumber
    if (oid === DATE) return String
    if (oid === BYTEA) return ownBytes
    if (oid === BYTEA_ARRAY) return ownBytesList
    return builtIn(oid === DATE_ARRAY ? TEXT_ARRAY : oid, format)
  },
}

function exactNumber(digits: string): number {
  const value = Number(digits)
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint column holds more than 2^53-1')
  return value
}

const ownBytes = (value: string) => copied(builtIn(BYTEA, 'text')(value) as Buffer)

const ownBytesList = (value: string) =>
  (builtIn(BYTEA_ARRAY, 'text')(value) as (Buffer | null)[]).map((bytes) => bytes && copied(bytes))

/** Copies into `Buffer.alloc`, which does not use the shared pool of small buffers. */
function copied(bytes: Buffer): Buffer {
  const own = Buffer.alloc(bytes.length)
  bytes.copy(own)
  return own
}
