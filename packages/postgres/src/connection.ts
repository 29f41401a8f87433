import pg from 'pg'
import { rowTypes } from './row-types.ts'

/** What this package says of failures that nobody waits for. */
export interface ErrorLog {
  error(message: string, fields?: Record<string, unknown>): void
}

export const CONNECT_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Opens one connection outside any pool. A statement on it may take `statementMs` (2 s).
 *
 * @throws what `isUnavailable` knows, and the server's refusal, such as a wrong password.
 */
export async function connect(
  url: string,
  options: { applicationName: string; statementMs?: number },
): Promise<pg.Client> {
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
    return await client.connect()
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
