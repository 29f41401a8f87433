import { randomBytes } from 'node:crypto'
import {
  ACKNOWLEDGE,
  COUNT_PENDING,
  ENSURE_MARK,
  getRevocationChannel,
  getRevocationKey,
  PUBLISH,
  parseNotification,
  REMOVE_PENDING,
  type Script,
  SUBSCRIBE,
} from '@plainpath/revocation'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { storeModel } from './store-model.ts'

const name = `plainpath-test-${randomBytes(8).toString('hex')}:revocation`
const key = getRevocationKey(name)
let redis: Redis
let subscriber: Redis
const received: string[] = []
beforeAll(async () => {
  redis = new Redis(inject('redisUrl') ?? '')
  subscriber = new Redis(inject('redisUrl') ?? '')
  subscriber.on('message', (_channel, text: string) => received.push(text))
  await subscriber.subscribe(getRevocationChannel(name))
})
afterAll(async () => {
  await redis.del(key)
  redis.disconnect()
  subscriber.disconnect()
})

type Step =
  | { readonly do: 'look' | 'raise' | 'forget' | 'another server' }
  | { readonly do: 'join'; readonly member: number; readonly previous: number }
  | { readonly do: 'hear'; readonly member: number; readonly seen: number; readonly lastMark: boolean }
  | { readonly do: 'pending' | 'strike off'; readonly number: number; readonly lastMark: boolean }

const member = fc.nat(3)
const number = fc.nat(8)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom('forget' as const, 'another server' as const) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('look' as const, 'raise' as const) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('join' as const), member, previous: member }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('hear' as const),
        member,
        seen: number,
        lastMark: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('pending' as const, 'strike off' as const),
        number,
        lastMark: fc.boolean(),
      }),
    },
  ),
  { maxLength: 40 },
)

const run = async <Reply>({ lua, reply }: Script<Reply>, ...args: (string | number)[]) =>
  reply.parse(await redis.eval(lua, 1, key, ...args))

/** Numbers marks in the order in which they appear, because they are random in Redis and numbered in the model. */
function createMarkNames() {
  const known: string[] = []
  return {
    known,
    name(mark: string): string {
      if (mark === '') return ''
      if (!known.includes(mark)) known.push(mark)
      return `mark ${known.indexOf(mark) + 1}`
    },
  }
}

test('the Redis scripts return the same as the model of the store', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await redis.del(key)
      received.length = 0
      const model = storeModel()
      const [real, simulated] = [createMarkNames(), createMarkNames()]
      let published = 0
      for (const step of all) {
        const markOf = ({ known }: typeof real) =>
          ('lastMark' in step && step.lastMark ? known.at(-1) : known[0]) ?? 'none'
        const results: unknown[] = []
        if (step.do === 'look') {
          results.push(real.name(await run(ENSURE_MARK, randomBytes(8).toString('hex'))))
          results.push(simulated.name(model.ensureMark()))
        } else if (step.do === 'raise') {
          const begun = randomBytes(8).toString('hex')
          const [mark, highest] = await run(PUBLISH, begun, getRevocationChannel(name), 'client c')
          results.push([real.name(mark), highest])
          const notice = model.publishRevocation({ kind: 'client', id: 'c' })
          results.push([simulated.name(notice.mark), notice.number])
          published += 1
          await expect.poll(() => received.length, { interval: 1 }).toBe(published)
          expect(parseNotification(received.at(-1) ?? '')).toEqual({ ...notice, mark })
        } else if (step.do === 'forget') {
          await redis.del(key)
          model.flush()
        } else if (step.do === 'another server') {
          // The state of a server that has loaded a snapshot, or has been promoted.
          if (await redis.exists(key)) await redis.hset(key, 'server', randomBytes(20).toString('hex'))
          model.restart(model.copy())
        } else if (step.do === 'join') {
          const joined = await run(SUBSCRIBE, `m${step.member}`, `m${step.previous}`)
          results.push(joined && [real.name(joined[0]), joined[1]])
          const granted = model.subscribe(`m${step.member}`, `m${step.previous}`)
          results.push(granted ? [simulated.name(granted.mark), granted.number] : null)
        } else if (step.do === 'hear') {
          results.push(await run(ACKNOWLEDGE, markOf(real), `m${step.member}`, step.seen))
          results.push(model.acknowledge(markOf(simulated), `m${step.member}`, step.seen) ?? null)
        } else if (step.do === 'pending') {
          const [mark, pending] = await run(COUNT_PENDING, step.number)
          results.push([real.name(mark), pending])
          const found = model.countPending(step.number)
          results.push([simulated.name(found.mark), found.pending])
        } else if (step.do === 'strike off') {
          results.push(await run(REMOVE_PENDING, markOf(real), step.number))
          results.push(model.removePending(markOf(simulated), step.number))
        }
        expect(results[0]).toEqual(results[1])
      }
      expect(await redis.pttl(key)).not.toBeGreaterThan(-1)
    }),
    { numRuns: 60 },
  )
})
