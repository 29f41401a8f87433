/*
 * Publishes revocations to every API that caches introspection responses, and waits until none uses a revoked one
 * (docs/revocation). It does not revoke anything itself: the stores delete or commit first, then publish. When to stop
 * waiting is decided in `revocation-wait.ts`; the Redis scripts are in `@plainpath/revocation`.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { runRepeatedly } from '@plainpath/http'
import {
  COUNT_PENDING,
  ENSURE_MARK,
  formatRevocation,
  PUBLISH,
  REMOVE_PENDING,
  type Revocation,
  type RevocationOptions,
  revocationChannel,
  revocationKey,
  type Script,
} from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import type { AuthEvents } from '../events.ts'
import { type KnownMark, knowMark, nextStep, type PollResult } from './revocation-wait.ts'

/** Publishes revocations, and tracks the store's mark, which changes whenever the store may have lost data. */
export interface Revoker {
  /**
   * Publishes a revocation to every API, and returns when none uses a cached response about it any more (R-LIN). Call it
   * after the revocation itself is deleted or committed.
   *
   * @throws when the store is unavailable; the outcome is then unknown, and the caller must publish again
   */
  publishRevocation(ended: Revocation): Promise<void>
  /** The mark that was last read. */
  readonly mark: string | undefined
  /**
   * Reads the mark now, and twice per lease until disposed: a revocation is fast only if the mark has been known for a
   * lease, and introspection responses name it.
   *
   * @throws when the store is unavailable now
   */
  followMark(): Promise<AsyncDisposable>
}

/** For a server without Redis, whose introspection responses no API caches. */
export const noOpRevoker: Revoker = {
  publishRevocation: async () => undefined,
  mark: undefined,
  followMark: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
}

/**
 * Publishes through Redis, which holds a number that rises with each revocation, the subscribed API processes with the
 * number that each has acknowledged, and the mark. Each script is one atomic step.
 */
export function redisRevoker(
  redis: Redis,
  { name, intervals }: RevocationOptions,
  events: AuthEvents,
): Revoker {
  const run = async <Reply>({ lua, reply }: Script<Reply>, ...args: (string | number)[]): Promise<Reply> =>
    reply.parse(await redis.eval(lua, 1, revocationKey(name), ...args))
  let knownMark: KnownMark | undefined

  async function readMark(): Promise<void> {
    const mark = await run(ENSURE_MARK, randomUUID())
    knownMark = knowMark(knownMark, mark, performance.now())
  }

  return {
    async publishRevocation(revoked) {
      const [mark, number] = await run(
        PUBLISH,
        randomUUID(),
        revocationChannel(name),
        formatRevocation(revoked),
      )
      const raised = { mark, number, at: performance.now() }
      knownMark = knowMark(knownMark, mark, raised.at)
      let lastPoll: PollResult | undefined
      for (let polls = 0; ; polls += 1) {
        const step = nextStep(raised, { knownMark, polls, lastPoll }, performance.now(), intervals)
        if (step.do !== 'poll') {
          const removed = step.do === 'respond' ? 0 : await run(REMOVE_PENDING, mark, number)
          events.emit('revocation-published', { seconds: (performance.now() - raised.at) / 1000, removed })
          return
        }
        await sleep(Math.max(1, Math.ceil(step.at - performance.now())))
        const [markNow, pending] = await run(COUNT_PENDING, number)
        lastPoll = { mark: markNow, pending }
      }
    },
    get mark() {
      return knownMark?.mark
    },
    async followMark() {
      await readMark()
      // The connection logs an outage. Until it is over, the last mark is either still right or rejected by the APIs.
      const polling = runRepeatedly(() => readMark().catch(() => undefined))
      polling.start(intervals.leaseMs / 2)
      return polling
    },
  }
}
