import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connect, disconnect, type ErrorLog } from './connection.ts'

const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 2_000

interface PersistentOptions {
  url: string
  applicationName: string
  /** Prepares a new connection, for example with LISTEN. If that fails on a reconnect, the connection is reopened. */
  prepare(client: pg.Client): Promise<void>
  log?: ErrorLog | undefined
  /** How often a query checks the connection; by default every 5 s. Without a response within 2.5 s, it counts as lost. */
  heartbeatMs?: number | undefined
}

/**
 * Keeps a connection open until the result is disposed of. If the connection is lost, reconnects at once. If that fails,
 * tries again after 50 ms, and then after pauses that double up to 2 s.
 *
 * @throws an error of the first connection or of its `prepare`; later errors are logged
 */
export async function keepConnected(options: PersistentOptions): Promise<AsyncDisposable> {
  const stop = new AbortController()
  let client = await open(options)
  const reconnectLoop = (async () => {
    for (;;) {
      await waitUntilLost(client, options.heartbeatMs ?? 5_000, stop.signal)
      if (stop.signal.aborted) return disconnect(client)
      options.log?.error('a persistent database connection was lost', { for: options.applicationName })
      const newClient = await reopen(options, stop.signal)
      if (!newClient) return
      client = newClient
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await reconnectLoop
    },
  }
}

/** Opens and prepares a connection. Closes it if `prepare` fails. */
async function open(options: PersistentOptions): Promise<pg.Client> {
  const client = await connect(options.url, options)
  try {
    await options.prepare(client)
    return client
  } catch (error) {
    await disconnect(client)
    throw error
  }
}

/** Tries to open the connection until that succeeds. Returns undefined once `stop` aborts. */
async function reopen(options: PersistentOptions, stop: AbortSignal): Promise<pg.Client | undefined> {
  for (let waitMs = FIRST_RETRY_MS; !stop.aborted; waitMs = Math.min(waitMs * 2, MAX_RETRY_MS)) {
    try {
      return await open(options)
    } catch (error) {
      options.log?.error('a persistent database connection could not be opened', {
        for: options.applicationName,
        reason: error instanceof Error ? error.message : String(error),
      })
      await pause(waitMs, stop)
    }
  }
  return undefined
}

/** Resolves when the connection is lost or `stop` aborts. A connection that fails a heartbeat is closed, and counts as lost. */
async function waitUntilLost(client: pg.Client, heartbeatMs: number, stop: AbortSignal): Promise<void> {
  const lostConnection = new AbortController()
  client.once('end', () => lostConnection.abort())
  const stopOrLost = AbortSignal.any([stop, lostConnection.signal])
  for (;;) {
    await pause(heartbeatMs, stopOrLost)
    if (stopOrLost.aborted) return
    try {
      await client.query('select 1')
    } catch {
      return disconnect(client)
    }
  }
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined)

interface ListenOptions {
  /**
   * Called each time the connection has been opened; for the first time before `listen` returns. Notifications that were sent
   * before the call may be lost.
   */
  onConnected(): void
  log: ErrorLog
  /** How often the connection is checked; by default every 5 s. */
  heartbeatMs?: number
}

/**
 * Receives notifications on `channels`, over a separate connection, until the result is disposed of. Reconnects if the
 * connection is lost. Detects a silent connection within the heartbeat interval plus 2.5 s. Logs errors of handlers.
 *
 * @param channels a handler for each channel, called with the payload; `''` for a notification without a payload
 * @throws an error of the first connection
 */
export function listen(
  url: string,
  channels: { readonly [channel: string]: (payload: string) => void },
  options: ListenOptions,
): Promise<AsyncDisposable> {
  const { log, heartbeatMs } = options
  const receive = ({ channel, payload }: pg.Notification) => {
    try {
      channels[channel]?.(payload ?? '')
    } catch (error) {
      log.error('a notification could not be handled', { channel, cause: error })
    }
  }
  return keepConnected({
    url,
    applicationName: 'plainpath listen',
    log,
    heartbeatMs,
    async prepare(client) {
      client.on('notification', receive)
      for (const channel of Object.keys(channels))
        await client.query(`listen ${pg.escapeIdentifier(channel)}`)
      options.onConnected()
    },
  })
}
