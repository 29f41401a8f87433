import { randomBytes } from 'node:crypto'
import {
  ACKNOWLEDGE_SCRIPT,
  COUNT_PENDING_SCRIPT,
  ENSURE_MARK_SCRIPT,
  getRevocationChannel,
  getRevocationKey,
  PUBLISH_SCRIPT,
  parseNotification,
  REMOVE_PENDING_SCRIPT,
  type Script,
  SUBSCRIBE_SCRIPT,
} from '@plainpath/revocation'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createStoreModel } from './store-model.ts'

const name = `plainpath-test-${randomBytes(8).toString('hex')}:revocation`
const key = getRevocationKey(name)
let redis: Redis
let subscriber: Redis
/** The notifications that Redis delivered. */
const receivedMessages: string[] = []
beforeAll(async () => {
  redis = new Redis(inject('redisUrl') ?? '')
  subscriber = new Redis(inject('redisUrl') ?? '')
  subscriber.on('message', (_channel, text: string) => receivedMessages.push(text))
  await subscriber.subscribe(getRevocationChannel(name))
})
afterAll(async () => {
  await redis.del(key)
  redis.disconnect()
  subscriber.disconnect()
})

/** A call of a script, or a fault of the store. Without `usesNewestMark`, the call has the first mark, which may be outdated. */
type Step =
  | { readonly do: 'ensure mark' | 'publish' | 'flush' | 'restart' }
  | { readonly do: 'subscribe'; readonly subscriberId: number; readonly previousId: number }
  | {
      readonly do: 'acknowledge'
      readonly subscriberId: number
      readonly lastSeen: number
      readonly usesNewestMark: boolean
    }
  | {
      readonly do: 'count pending' | 'remove pending'
      readonly number: number
      readonly usesNewestMark: boolean
    }

// The ranges are small, so that steps often concern the same subscriber and an existing number.
const arbitrarySubscriberId = fc.nat(3)
const arbitraryNumber = fc.nat(8)
const arbitrarySteps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom('flush' as const, 'restart' as const) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('ensure mark' as const, 'publish' as const) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('subscribe' as const),
        subscriberId: arbitrarySubscriberId,
        previousId: arbitrarySubscriberId,
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('acknowledge' as const),
        subscriberId: arbitrarySubscriberId,
        lastSeen: arbitraryNumber,
        usesNewestMark: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('count pending' as const, 'remove pending' as const),
        number: arbitraryNumber,
        usesNewestMark: fc.boolean(),
      }),
    },
  ),
  { maxLength: 40 },
)

const runScript = async <Reply>({ lua, reply }: Script<Reply>, ...args: (string | number)[]) =>
  reply.parse(await redis.eval(lua, 1, key, ...args))

/** Numbers marks in the order in which they appear: they are random in Redis, and numbered in the model. */
function createMarkNumbering() {
  const marks: string[] = []
  return {
    marks,
    toName(mark: string): string {
      if (mark === '') return ''
      if (!marks.includes(mark)) marks.push(mark)
      return `mark ${marks.indexOf(mark) + 1}`
    },
  }
}

test('the Redis scripts return the same as the store model, and give the shared hash no TTL', async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps, async (steps) => {
      await redis.del(key)
      receivedMessages.length = 0
      const model = createStoreModel()
      const [redisMarks, modelMarks] = [createMarkNumbering(), createMarkNumbering()]
      let publishedCount = 0
      for (const step of steps) {
        const pickMark = ({ marks }: typeof redisMarks) =>
          ('usesNewestMark' in step && step.usesNewestMark ? marks.at(-1) : marks[0]) ?? 'none'
        /** The results of Redis and of the model. */
        const results: unknown[] = []
        if (step.do === 'ensure mark') {
          results.push(redisMarks.toName(await runScript(ENSURE_MARK_SCRIPT, randomBytes(8).toString('hex'))))
          results.push(modelMarks.toName(model.ensureMark()))
        } else if (step.do === 'publish') {
          const newMark = randomBytes(8).toString('hex')
          const [mark, newNumber] = await runScript(
            PUBLISH_SCRIPT,
            newMark,
            getRevocationChannel(name),
            'client c',
          )
          results.push([redisMarks.toName(mark), newNumber])
          const notification = model.publishRevocation({ kind: 'client', id: 'c' })
          results.push([modelMarks.toName(notification.mark), notification.number])
          publishedCount += 1
          await expect.poll(() => receivedMessages.length, { interval: 1 }).toBe(publishedCount)
          expect(parseNotification(receivedMessages.at(-1) ?? '')).toEqual({ ...notification, mark })
        } else if (step.do === 'flush') {
          await redis.del(key)
          model.flush()
        } else if (step.do === 'restart') {
          // The hash then looks as on a server that has loaded a snapshot, or has been promoted.
          if (await redis.exists(key)) await redis.hset(key, 'server', randomBytes(20).toString('hex'))
          model.restart(model.copy())
        } else if (step.do === 'subscribe') {
          const [id, previous] = [`m${step.subscriberId}`, `m${step.previousId}`]
          const redisGrant = await runScript(SUBSCRIBE_SCRIPT, id, previous)
          results.push(redisGrant && [redisMarks.toName(redisGrant[0]), redisGrant[1]])
          const modelGrant = model.subscribe(id, previous)
          results.push(modelGrant ? [modelMarks.toName(modelGrant.mark), modelGrant.number] : null)
        } else if (step.do === 'acknowledge') {
          const id = `m${step.subscriberId}`
          results.push(await runScript(ACKNOWLEDGE_SCRIPT, pickMark(redisMarks), id, step.lastSeen))
          results.push(model.acknowledge(pickMark(modelMarks), id, step.lastSeen) ?? null)
        } else if (step.do === 'count pending') {
          const [mark, pending] = await runScript(COUNT_PENDING_SCRIPT, step.number)
          results.push([redisMarks.toName(mark), pending])
          const modelResult = model.countPending(step.number)
          results.push([modelMarks.toName(modelResult.mark), modelResult.pending])
        } else if (step.do === 'remove pending') {
          results.push(await runScript(REMOVE_PENDING_SCRIPT, pickMark(redisMarks), step.number))
          results.push(model.removePending(pickMark(modelMarks), step.number))
        }
        expect(results[0]).toEqual(results[1])
      }
      // -1 means that the key has no TTL, and -2 that it does not exist.
      expect(await redis.pttl(key)).not.toBeGreaterThan(-1)
    }),
    { numRuns: 60 },
  )
})
