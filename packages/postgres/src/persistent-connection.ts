import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connect, disconnect, type ErrorLog } from './connection.ts'

const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 2_000

interface StandingOptions {
  url: string
  applicationName: string
  /** Makes a new connection ready: takes its lock, listens. When it fails the connection is made anew. */
  prepare(client: pg.Client): Promise<void>
  log?: ErrorLog | undefined
  /** How often a silent connection is asked whether it lives; default 5 s. No answer in 2.5 s counts as lost. */
  heartbeatMs?: number | undefined
}

/**
 * Keeps one connection open until disposed: a lost one is made anew at once, then after 50 ms, doubling to 2 s.
 *
 * @throws what the first connection or its `prepare` throws; later failures go to `log`.
 */
export async function keepConnected(options: StandingOptions): Promise<AsyncDisposable> {
  const stop = new AbortController()
  let client = await open(options)
  const standing = (async () => {
    for (;;) {
      await untilLost(client, options.heartbeatMs ?? 5_000, stop.signal)
      if (stop.signal.aborted) return disconnect(client)
      options.log?.error('lost a standing database connection', { for: options.applicationName })
      const again = await reopen(options, stop.signal)
      if (!again) return
      client = again
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await standing
    },
  }
}

async function open(options: StandingOptions): Promise<pg.Client> {
  const client = await connect(options.url, options)
  try {
    await options.prepare(client)
    return client
  } catch (error) {
    await disconnect(client)
    throw error
  }
}

async function reopen(options: StandingOptions, stop: AbortSignal): Promise<pg.Client | undefined> {
  for (let waitMs = FIRST_RETRY_MS; !stop.aborted; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
    try {
      return await open(options)
    } catch (error) {
      options.log?.error('no standing database connection yet', {
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
  const over = AbortSignal.any([stop, lost.signal])
  for (;;) {
    await pause(heartbeatMs, over)
    if (over.aborted) return
    try {
      await client.query('select 1')
    } catch {
      return disconnect(client)
    }
  }
}

/** Resolves after `ms`, or as soon as `signal` says so. */
const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined)

interface ListenOptions {
  /** Called after every connection, the first one too, before `listen` returns: notices sent earlier may be lost. */
  onReconnected(): void
  log: ErrorLog
  /** How often the connection is asked whether it lives; default 5 s. */
  heartbeatMs?: number
}

/**
 * Hears NOTIFY on `channels` over one connection of its own until disposed. A lost connection is made anew; one that
 * fell silent is found out within the heartbeat and 2.5 s. A handler that throws is logged and hears the next notice.
 *
 * @param channels a handler for each channel, called with the payload, which is '' for a NOTIFY without one.
 * @throws what the first connection throws.
 */
export function listen(
  url: string,
  channels: { readonly [channel: string]: (payload: string) => void },
  options: ListenOptions,
): Promise<AsyncDisposable> {
  const { log, heartbeatMs } = options
  const hear = ({ channel, payload }: pg.Notification) => {
    try {
      channels[channel]?.(payload ?? '')
    } catch (error) {
      log.error('a notice could not be handled', { channel, cause: error })
    }
  }
  return keepConnected({
    url,
    applicationName: 'plainpath listen',
    log,
    heartbeatMs,
    async prepare(client) {
      client.on('notification', hear)
      for (const channel of Object.keys(channels))
        await client.query(`listen ${pg.escapeIdentifier(channel)}`)
      options.onReconnected()
    },
  })
}
