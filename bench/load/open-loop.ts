import { type Connection, openConnection } from './connection.ts'
import { type Latency, summarizeLatency } from './quantiles.ts'
import type { Target } from './target.ts'

/** The latencies of a target when requests arrive at a rate that does not depend on its responses. */
export interface Arrivals {
  /** The configured rate, in requests per second. */
  readonly rate: number
  /** Responses with the expected status. */
  readonly answered: number
  /**
   * Responses with an unexpected status, lost connections, and requests without a response `GIVE_UP_MS` after the end of the run.
   */
  readonly errors: number
  /** Measured from the time a request was due, so a request that waits for a slow one counts as slow, too. */
  readonly latency: Latency
  /** How late the generator took up each request after it was due. This delay is part of the latency. */
  readonly lag: Latency
}

const CONNECTION_COUNT = 64
const GIVE_UP_MS = 5_000
/** How often the generator checks which requests are due. */
const TICK_MS = 1

interface DueRequest {
  /** By `performance.now`. */
  readonly dueAt: number
  readonly request: Buffer
}

/**
 * Sends `rate` requests per second on average, for the given seconds, at independent random times (a Poisson process). While all
 * connections wait for responses, further requests queue, and their latency grows.
 *
 * @param options.random returns numbers from 0 up to, but not including, 1
 */
export async function sendAtRate(
  target: Target,
  { rate, seconds, random = Math.random }: { rate: number; seconds: number; random?: () => number },
): Promise<Arrivals> {
  using connections = new DisposableStack()
  const idleConnections: Connection[] = Array.from({ length: CONNECTION_COUNT }, () =>
    connections.use(openConnection(target.port)),
  )
  const queue: DueRequest[] = []
  const latencies: number[] = []
  const lags: number[] = []
  let errorCount = 0

  /** Sends the oldest request of the queue, if there is one and a connection is idle. */
  function sendNext(): void {
    const connection = queue.length > 0 ? idleConnections.pop() : undefined
    const dueRequest = connection && queue.shift()
    if (!connection || !dueRequest) return
    connection.send(dueRequest.request, (status) => {
      if (status === target.status) latencies.push(performance.now() - dueRequest.dueAt)
      else errorCount += 1
      idleConnections.push(connection)
      sendNext()
    })
  }

  // In a Poisson process, the gaps between requests are exponentially distributed. `random` may return 0, but never 1, so the
  // logarithm is taken of 1 minus the number.
  const drawGapMs = () => (-Math.log(1 - random()) * 1000) / rate
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1000
  let nextDueAt = startedAt + drawGapMs()
  let dueCount = 0
  const { promise: completion, resolve } = Promise.withResolvers<void>()
  const timer = setInterval(() => {
    for (const now = performance.now(); nextDueAt <= now && nextDueAt < endsAt; nextDueAt += drawGapMs()) {
      dueCount += 1
      lags.push(now - nextDueAt)
      queue.push({ dueAt: nextDueAt, request: target.next() })
      sendNext()
    }
    const isComplete = nextDueAt >= endsAt && latencies.length + errorCount === dueCount
    if (isComplete || performance.now() > endsAt + GIVE_UP_MS) resolve()
  }, TICK_MS)
  await completion
  clearInterval(timer)
  return {
    rate,
    answered: latencies.length,
    errors: dueCount - latencies.length,
    latency: summarizeLatency(latencies),
    lag: summarizeLatency(lags),
  }
}
