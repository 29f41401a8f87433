import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { runRepeatedly } from '@plainpath/http'
import {
  type Ended,
  LOOK,
  PENDING,
  RAISE,
  type RevocationOptions,
  revocationKey,
  revocationNotices,
  type Script,
  STRIKE_OFF,
  writeEnded,
} from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import type { AuthEvents } from '../events.ts'
import { type KnownMark, knowMark, nextStep, type Seen } from './revocation-wait.ts'

/** Announces ends, and knows the store's birth mark, which is another one after the store lost anything. */
export interface Revoker {
  /**
   * Tells every API that something ended, and returns when none uses an answer about it from memory any more (R-LIN). It
   * runs after the end itself is done: deleted, or committed.
   *
   * @throws when the store does not answer; then nobody knows, and it must be announced again
   */
  announceEnd(ended: Ended): Promise<void>
  /** The mark that was seen last. */
  readonly mark: string | undefined
  /**
   * Looks at the mark now and twice per lease until disposed, so that it is known long before a revocation, and
   * introspection responses name the right one.
   *
   * @throws when the store does not answer now
   */
  followMark(): Promise<AsyncDisposable>
}

/** Where no API keeps answers that this authorization server gave. */
export const nobodyToTell: Revoker = {
  announceEnd: async () => undefined,
  mark: undefined,
  followMark: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
}

/**
 * Revokes through Redis: what revokers and the memories of APIs share is a number that rises with each revocation, the
 * members and what each acknowledged, and the mark. Each script is one atomic step.
 */
export function redisRevoker(
  redis: Redis,
  { name, intervals }: RevocationOptions,
  events: AuthEvents,
): Revoker {
  const run = async <Reply>({ lua, reply }: Script<Reply>, ...args: (string | number)[]): Promise<Reply> =>
    reply.parse(await redis.eval(lua, 1, revocationKey(name), ...args))
  let known: KnownMark | undefined

  async function look(): Promise<void> {
    const mark = await run(LOOK, randomUUID())
    known = knowMark(known, mark, performance.now())
  }

  return {
    async announceEnd(ended) {
      const [mark, number] = await run(RAISE, randomUUID(), revocationNotices(name), writeEnded(ended))
      const raised = { mark, number, at: performance.now() }
      known = knowMark(known, mark, raised.at)
      let seen: Seen | undefined
      for (let looks = 0; ; looks += 1) {
        const step = nextStep(raised, { known, looks, seen }, performance.now(), intervals)
        if (step.do !== 'look') {
          const struckOff = step.do === 'answer' ? 0 : await run(STRIKE_OFF, mark, number)
          events.emit('end-announced', { seconds: (performance.now() - raised.at) / 1000, struckOff })
          return
        }
        await sleep(Math.max(1, Math.ceil(step.at - performance.now())))
        const [markNow, pending] = await run(PENDING, number)
        seen = { mark: markNow, pending }
      }
    },
    get mark() {
      return known?.mark
    },
    async followMark() {
      await look()
      // An outage is reported by the connection; until it is over, what was known stays true or is refused by APIs.
      const looking = runRepeatedly(() => look().catch(() => undefined))
      looking.start(intervals.leaseMs / 2)
      return looking
    },
  }
}
