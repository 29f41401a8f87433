import pg from 'pg'

/** What this package says of failures that nobody waits for. */
export interface ErrorLog {
  error(message: string, fields?: Record<string, unknown>): void
}

export const CONNECT_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Opens one connection outside any pool. A statement on it may take `statementMs` (2 s). Disposing is `disconnect`.
 *
 * @throws what `isUnavailable` knows, and the server's refusal, such as a wrong password.
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

/** Closes a connection and waits until the server let go of it, at most 1 s; then the socket is cut. */
export async function disconnect(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), CLOSE_TIMEOUT_MS)
  try {
    await client.end()
  } finally {
    clearTimeout(cut)
  }
}

/** A lost connection also fails the statement in flight, or the next one; unheard, its event would end the process. */
export function ignoreErrorEvents(client: pg.ClientBase): void {
  client.on('error', () => undefined)
}

type Parse = (value: string) => unknown

/** Object identifiers of types, as pg_type has them. */
const BYTEA = 17
const BYTEA_ARRAY = 1001
const INT8 = 20
const DATE = 1082
const DATE_ARRAY = 1182
const TEXT_ARRAY = 1009

const builtIn = pg.types.getTypeParser as (oid: number, format: 'text' | 'binary') => Parse

/**
 * How columns become values, for the connections that are given it (pg's own table stays as it is): `date` is its
 * `YYYY-MM-DD` text, since a Date would move it by the process's time zone; `bigint` is a number, and one past
 * 2^53-1 fails the statement instead of being rounded; `bytea` is a Buffer with memory of its own, since what pg makes of
 * a hash is a slice of 8 KiB, all of which stays for as long as the hash is kept. The rest is pg's: `timestamptz` a Date.
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

/** `Buffer.alloc` takes none of the memory that small buffers share. */
function copied(bytes: Buffer): Buffer {
  const own = Buffer.alloc(bytes.length)
  bytes.copy(own)
  return own
}
