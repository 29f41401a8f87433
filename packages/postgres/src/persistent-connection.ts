import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connect, disconnect, type ErrorLog } from './connection.ts'

const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 2_000

interface PersistentOptions {
  url: string
  applicationName: string
  /** Prepares a new connection, for example with LISTEN. If it fails, the connection is opened again. */
  prepare(client: pg.Client): Promise<void>
  log?: ErrorLog | undefined
  /** How often the connection is checked with a query; default 5 s. No response in 2.5 s counts as a lost connection. */
  heartbeatMs?: number | undefined
}

/**
 * Keeps one connection open until disposed. It reconnects at once, then after 50 ms, doubling to 2 s.
 *
 * @throws an error of the first connection or its `prepare`; later ones are logged
 */
export async function keepConnected(options: PersistentOptions): Promise<AsyncDisposable> {
  const stop = new AbortController()
  let client = await open(options)
  const running = (async () => {
    for (;;) {
      await untilLost(client, options.heartbeatMs ?? 5_000, stop.signal)
      if (stop.signal.aborted) return disconnect(client)
      options.log?.error('a persistent database connection was lost', { for: options.applicationName })
      const reopened = await reopen(options, stop.signal)
      if (!reopened) return
      client = reopened
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

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

async function reopen(options: PersistentOptions, stop: AbortSignal): Promise<pg.Client | undefined> {
  for (let waitMs = FIRST_RETRY_MS; !stop.aborted; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
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

async function untilLost(client: pg.Client, heartbeatMs: number, stop: AbortSignal): Promise<void> {
  const lost = new AbortController()
  client.once('end', () => lost.abort())
  const ended = AbortSignal.any([stop, lost.signal])
  for (;;) {
    await pause(heartbeatMs, ended)
    if (ended.aborted) return
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
  /** Called after every connection, and for the first before `listen` returns: earlier notifications may be lost. */
  onReconnected(): void
  log: ErrorLog
  /** How often the connection is checked; default 5 s. */
  heartbeatMs?: number
}

/**
 * Receives NOTIFY on `channels` over a connection of its own until disposed, and reconnects when that is lost. A connection
 * that fell silent is noticed after the heartbeat plus 2.5 s. An error of a handler is logged, and the handler stays.
 *
 * @param channels a handler for each channel, called with the payload, which is '' for a NOTIFY without one
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
      options.onReconnected()
    },
  })
}
