import { randomUUID } from 'node:crypto'
import {
  LOOK,
  Looked,
  PENDING,
  Pending,
  RAISE,
  Raised,
  revocationKey,
  revocationNotices,
  STRIKE_OFF,
  writeEnded,
} from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { RevocationStore } from './revocation-store.ts'

/** @param name of the hash and the channel, such as `revocation` */
export function redisRevocationStore(redis: Redis, name: string): RevocationStore {
  const run = (script: string, ...args: (string | number)[]) =>
    redis.eval(script, 1, revocationKey(name), ...args)
  return {
    look: async () => Looked.parse(await run(LOOK, randomUUID())),
    async raise(ended) {
      const reply = await run(RAISE, randomUUID(), revocationNotices(name), writeEnded(ended))
      const [mark, number] = Raised.parse(reply)
      return { mark, number }
    },
    async pending(number) {
      const [mark, pending] = Pending.parse(await run(PENDING, number))
      return { mark, pending }
    },
    strikeOff: async (mark, number) => z.int().parse(await run(STRIKE_OFF, mark, number)),
  }
}
