/*
 * Publishes revocations to every API that caches introspection responses, and waits until no API uses a cached response for a
 * revoked token (docs/revocation). The publisher does not revoke anything itself: its callers first delete the token or commit
 * the change, and then publish. `revocation-wait.ts` decides when the wait ends. `@plainpath/revocation` has the Redis scripts.
 *
 * The store is the Redis hash with the number of the last revocation, the last number that each subscribed API process has
 * acknowledged, and the mark. The mark is the random id of this state: it changes whenever the store may have lost data.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRepeatedWork } from '@plainpath/http'
import {
  COUNT_PENDING_SCRIPT,
  ENSURE_MARK_SCRIPT,
  formatRevocation,
  getRevocationChannel,
  getRevocationKey,
  PUBLISH_SCRIPT,
  REMOVE_PENDING_SCRIPT,
  type Revocation,
  type RevocationOptions,
  type Script,
} from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import type { AuthEvents } from '../events.ts'
import { decideNextStep, type KnownMark, type PollResult, updateKnownMark } from './revocation-wait.ts'

/** Publishes revocations to APIs, and tracks the store's mark. */
export interface RevocationPublisher {
  /**
   * Publishes a revocation to every API, and returns once no API uses a cached response for a revoked token. Call this after the
   * deletion or the commit, and before the response to the revocation. R-LIN depends on it: no request that begins after that
   * response succeeds with what was revoked.
   *
   * @throws if the store is unavailable; the outcome is then unknown, and the caller must publish again
   */
  publish(revocation: Revocation): Promise<void>
  /** The mark that was last read; undefined without Redis, and before the first read. */
  readonly storeMark: string | undefined
  /**
   * Reads the mark now, and then twice per lease until the result is disposed. Introspection responses contain the mark, and
   * `publish` is fast only once the mark has been known for a lease and the margin: until then, it does not trust the list of
   * subscribers.
   *
   * @throws if the store is unavailable now
   */
  trackStoreMark(): Promise<AsyncDisposable>
}

/** The publisher of a server without Redis, whose introspection responses no API caches. */
export const noOpRevocationPublisher: RevocationPublisher = {
  publish: async () => undefined,
  storeMark: undefined,
  trackStoreMark: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
}

/** Creates a publisher that uses Redis. Each script is one atomic step. */
export function createRedisRevocationPublisher(
  redis: Redis,
  { name, intervals }: RevocationOptions,
  events: AuthEvents,
): RevocationPublisher {
  const runScript = async <Reply>(
    { lua, reply }: Script<Reply>,
    ...args: (string | number)[]
  ): Promise<Reply> => reply.parse(await redis.eval(lua, 1, getRevocationKey(name), ...args))
  let knownMark: KnownMark | undefined

  async function readMark(): Promise<void> {
    // The UUID becomes the mark if Redis has no valid one.
    const mark = await runScript(ENSURE_MARK_SCRIPT, randomUUID())
    knownMark = updateKnownMark(knownMark, mark, performance.now())
  }

  return {
    async publish(revocation) {
      const [mark, sequenceNumber] = await runScript(
        PUBLISH_SCRIPT,
        randomUUID(),
        getRevocationChannel(name),
        formatRevocation(revocation),
      )
      const published = { mark, sequenceNumber, publishedAt: performance.now() }
      knownMark = updateKnownMark(knownMark, mark, published.publishedAt)
      let lastPoll: PollResult | undefined
      for (let pollCount = 0; ; pollCount += 1) {
        const step = decideNextStep(
          published,
          { knownMark, pollCount, lastPoll },
          performance.now(),
          intervals,
        )
        if (step.kind !== 'poll') {
          const removedCount =
            step.kind === 'respond' ? 0 : await runScript(REMOVE_PENDING_SCRIPT, mark, sequenceNumber)
          events.emit('revocation-published', {
            seconds: (performance.now() - published.publishedAt) / 1000,
            removedCount,
          })
          return
        }
        await sleep(Math.max(1, Math.ceil(step.at - performance.now())))
        const [currentMark, pending] = await runScript(COUNT_PENDING_SCRIPT, sequenceNumber)
        lastPoll = { mark: currentMark, pending }
      }
    },
    get storeMark() {
      return knownMark?.mark
    },
    async trackStoreMark() {
      await readMark()
      // The connection logs outages. An outdated mark does no harm, since APIs cache only responses with their subscription's
      // mark.
      const polling = createRepeatedWork(() => readMark().catch(() => undefined))
      polling.start(intervals.leaseMs / 2)
      return polling
    },
  }
}
