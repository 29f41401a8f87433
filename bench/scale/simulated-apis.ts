import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '@plainpath/http'
import { followRevocations } from '@plainpath/resource/follow-revocations'
import { createRevocationSubscriber } from '@plainpath/resource/revocation-subscriber'
import { REVOCATION } from '@plainpath/revocation'
import { READY, readSetting } from '../baselines/recorded-responses.ts'

/*
 * Simulates API processes in one process: each has a connection to Redis, a lease and an introspection cache of its own, and
 * acknowledges revocations as an API does. They serve no requests, so their caches are empty.
 */
const url = readSetting('BENCH_REDIS_URL')
const count = Number(readSetting('BENCH_APIS'))
const log = createLog({ service: 'bench' })
const { name, intervals } = REVOCATION

const subscribers = Array.from({ length: count }, (_none, index) =>
  createRevocationSubscriber({
    name: `bench-${process.pid}-${index}`,
    leaseMs: intervals.leaseMs,
    cacheMs: 30_000,
    maxCachedBytes: 1_000_000,
    // Never called, because nothing is cached.
    estimateEntryBytes: () => 0,
  }),
)
await using subscriptions = new AsyncDisposableStack()
for (const subscriber of subscribers)
  subscriptions.use(
    followRevocations(url, {
      subscriber,
      name,
      intervals,
      clock: performance,
      log,
      metrics: { createGauge: () => () => undefined },
    }),
  )
while (!subscribers.every((subscriber) => subscriber.isValid(performance.now()))) await sleep(20)
console.log(READY)
const stopping = Promise.withResolvers<void>()
process.once('SIGTERM', () => stopping.resolve())
await stopping.promise
