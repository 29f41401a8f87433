import pg from 'pg'
import type { ErrorLog } from './connection.ts'
import { keepConnected } from './standing-connection.ts'

export interface ListenOptions {
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
