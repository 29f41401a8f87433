import {
  HEAR,
  Heard,
  JOIN,
  Joined,
  LEAVE,
  type Notice,
  readNotice,
  revocationKey,
  revocationNotices,
} from '@plainpath/revocation'
import { createClient } from 'redis'
import type { Hear, Join } from './revocation-member.ts'

const CONNECT_TIMEOUT_MS = 1_000

/** One connection to the store of revocations, which is not made anew when it fails. */
export interface RevocationConnection {
  /** Connects and listens. @param onNotice told of each notice; undefined for one that cannot be read */
  open(onNotice: (notice: Notice | undefined) => void): Promise<void>
  /** Told once or more when the connection has failed. */
  onLost(listener: (error: Error) => void): void
  /** @returns undefined where nobody revokes through this store */
  join(join: Join): Promise<{ mark: string; number: number } | undefined>
  /** @returns the store's number; undefined for one who is no member */
  hear(hear: Hear): Promise<number | undefined>
  /** Takes the membership off the list, if that can be done. */
  leave(id: string): Promise<void>
  close(): void
}

/** @param name of the hash and the channel, such as `revocation` */
export function revocationConnection(url: string, name: string): RevocationConnection {
  const client = createClient({
    url,
    RESP: 3,
    name: 'plainpath-revocations',
    disableOfflineQueue: true,
    commandsQueueMaxLength: 1_000,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
  })
  const run = (script: string, ...args: string[]) =>
    client.eval(script, { keys: [revocationKey(name)], arguments: args })
  return {
    async open(onNotice) {
      await client.connect()
      await client.subscribe(revocationNotices(name), (text: string) => onNotice(readNotice(text)))
    },
    onLost(listener) {
      client.on('error', listener)
      client.on('end', () => listener(new Error('the connection was closed')))
    },
    async join({ id, previous }) {
      const joined = Joined.parse(await run(JOIN, id, previous))
      return joined ? { mark: joined[0], number: joined[1] } : undefined
    },
    hear: async ({ mark, id, seen }) => Heard.parse(await run(HEAR, mark, id, String(seen))) ?? undefined,
    async leave(id) {
      if (client.isReady) await run(LEAVE, id).catch(() => undefined)
    },
    close() {
      if (client.isOpen) client.destroy()
    },
  }
}
