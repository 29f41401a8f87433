import { type Connection, openConnection } from './connection.ts'
import { type Latency, summarizeLatency } from './quantiles.ts'
import type { Target } from './target.ts'

/** The latencies of a target when requests arrive at a rate that does not depend on its responses. */
export interface Arrivals {
  /** Due requests a second. */
  readonly rate: number
  readonly answered: number
  /** Responses with an unexpected status, lost connections, and time-outs after `GIVE_UP_MS`. */
  readonly errors: number
  /** From the time at which a request was due, so requests that wait for slow ones count as slow, too. */
  readonly latency: Latency
  /** The delay of the generator itself, which is a part of the latency. */
  readonly lag: Latency
}

const CONNECTIONS = 64
const GIVE_UP_MS = 5_000
const TICK_MS = 1

interface Due {
  readonly at: number
  readonly request: Buffer
}

/** Sends `rate` requests a second for the given seconds, at independent random times (Poisson). */
export async function arrive(
  target: Target,
  { rate, seconds, random = Math.random }: { rate: number; seconds: number; random?: () => number },
): Promise<Arrivals> {
  using connections = new DisposableStack()
  const idle: Connection[] = Array.from({ length: CONNECTIONS }, () =>
    connections.use(openConnection(target.port)),
  )
  const waiting: Due[] = []
  const latencies: number[] = []
  const lags: number[] = []
  let wrong = 0

  function sendNext(): void {
    const connection = waiting.length > 0 ? idle.pop() : undefined
    const arrival = connection && waiting.shift()
    if (!connection || !arrival) return
    connection.send(arrival.request, (status) => {
      if (status === target.status) latencies.push(performance.now() - arrival.at)
      else wrong += 1
      idle.push(connection)
      sendNext()
    })
  }

  const gap = () => (-Math.log(1 - random()) * 1000) / rate
  const begin = performance.now()
  const end = begin + seconds * 1000
  let nextAt = begin + gap()
  let dueCount = 0
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setInterval(() => {
    for (const now = performance.now(); nextAt <= now && nextAt < end; nextAt += gap()) {
      dueCount += 1
      lags.push(now - nextAt)
      waiting.push({ at: nextAt, request: target.next() })
      sendNext()
    }
    const finished = nextAt >= end && latencies.length + wrong === dueCount
    if (finished || performance.now() > end + GIVE_UP_MS) resolve()
  }, TICK_MS)
  await over
  clearInterval(timer)
  return {
    rate,
    answered: latencies.length,
    errors: dueCount - latencies.length,
    latency: summarizeLatency(latencies),
    lag: summarizeLatency(lags),
  }
}
