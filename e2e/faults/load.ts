import type { Attempt } from './attempt.ts'
import { createHttpClient, type HttpResponse } from './http-client.ts'
import { belongsToPerson, type KnownAgent, type Ledger } from './ledger.ts'
import {
  getOperation,
  OPERATION_NAMES,
  type OperationName,
  prepareTokenRequestForDeletedAgent,
  prepareTokenUse,
} from './operations.ts'
import { random } from './random.ts'
import { findRefusalMistake } from './refusal.ts'

/** One request and its outcome. */
export interface Entry {
  readonly operation: OperationName
  readonly startedAt: number
  readonly endedAt: number
  /** `refused` is a 503 in the correct format. `wrong` is any other incorrect response, or the lack of a response. */
  readonly outcome: 'good' | 'refused' | 'wrong'
  /** The mistake in a response that is `wrong`. */
  readonly mistake?: string
}

/** A period in which this process did not run. The other processes probably did not run either. */
export interface Stall {
  readonly from: number
  readonly to: number
}

export interface Load extends AsyncDisposable {
  /** The requests whose responses have arrived, or failed to arrive. The list grows while the load runs. */
  readonly entries: readonly Entry[]
  readonly stalls: readonly Stall[]
  /** Resolves when `count` more requests at the given rate have been sent. */
  waitUntilSent(count: number): Promise<void>
}

/** The operations that add a revoked token to the ledger. */
const REVOKING_OPERATIONS: ReadonlySet<OperationName> = new Set([
  'revoke',
  'delete agent',
  'token request of a deleted agent',
])
const TICK_MS = 10
/** A longer time between two ticks is a stall. This limit is half of the apps' time-out for Redis. */
const STALL_MS = 100
/** While this many requests are in flight, further requests are dropped. */
const MAX_IN_FLIGHT = 2_000

/**
 * Sends `rate` requests a second without waiting for responses. In addition, repeats refused requests, and uses tokens
 * immediately after their revocation. Disposing waits for the requests in flight.
 */
export function startLoad(options: {
  origin: string
  ledger: Ledger
  rate: number
  /** The number of times that a refused operation is immediately tried again. */
  retries?: number
}): Load {
  const { origin, ledger, rate, retries = 0 } = options
  const client = createHttpClient(origin)
  const entries: Entry[] = []
  const stalls: Stall[] = []
  const inFlight = new Set<Promise<void>>()
  const sendWaiters = new Set<{ readonly count: number; readonly done: () => void }>()
  let sentCount = 0
  let remainingOperations: OperationName[] = []

  async function sendAndRecord(name: OperationName, attempt: Attempt, retriesLeft = retries): Promise<void> {
    const response = await client.send(attempt.request)
    const mistake = findMistake(name, attempt, response)
    const { startedAt, endedAt } = response
    const outcome = getOutcome(response, mistake)
    entries.push({ operation: name, startedAt, endedAt, outcome, ...(mistake && { mistake }) })
    attempt.release?.()
    if (outcome === 'good' && REVOKING_OPERATIONS.has(name)) useNewestRevokedToken(name)
    if (outcome === 'refused' && retriesLeft > 0)
      send(name, getOperation(name).prepare(ledger), retriesLeft - 1)
  }
  /** Immediately uses the newest revoked token twice, to find an instance that has not received the revocation. */
  function useNewestRevokedToken(name: OperationName): void {
    for (let useCount = 0; useCount < 2; useCount += 1) {
      const revokedToken = ledger.revokedTokens.at(-1)
      send('use of a revoked token', prepareTokenUse(ledger, revokedToken))
      if (name === 'delete agent' && revokedToken && !belongsToPerson(revokedToken))
        send(
          'token request of a deleted agent',
          prepareTokenRequestForDeletedAgent(ledger, revokedToken.owner as KnownAgent),
        )
    }
  }
  function send(name: OperationName, attempt: Attempt | undefined, retriesLeft = retries): void {
    // If the operation is impossible, for example without a token to revoke, another request keeps the rate constant.
    if (!attempt) return send('guides', getOperation('guides').prepare(ledger))
    if (inFlight.size >= MAX_IN_FLIGHT) return
    const completion = sendAndRecord(name, attempt, retriesLeft).finally(() => inFlight.delete(completion))
    inFlight.add(completion)
  }

  const startedAt = performance.now()
  let tickedAt = startedAt
  const timer = setInterval(() => {
    const now = performance.now()
    if (now - tickedAt > STALL_MS) stalls.push({ from: tickedAt, to: now })
    tickedAt = now
    const dueCount = ((now - startedAt) * rate) / 1000
    for (; sentCount < dueCount; sentCount += 1) {
      if (remainingOperations.length === 0) remainingOperations = shuffleOperations()
      const name = remainingOperations.pop() ?? 'health'
      send(name, getOperation(name).prepare(ledger))
    }
    for (const waiter of sendWaiters) if (sentCount >= waiter.count) waiter.done()
  }, TICK_MS)

  return {
    entries,
    stalls,
    async waitUntilSent(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const waiter = { count: sentCount + count, done: resolve }
      sendWaiters.add(waiter)
      await promise
      sendWaiters.delete(waiter)
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      while (inFlight.size > 0) await Promise.all(inFlight)
      client[Symbol.dispose]()
    },
  }
}

function findMistake(name: OperationName, attempt: Attempt, response: HttpResponse): string | undefined {
  return response.status === 503
    ? findRefusalMistake(response, attempt.errorFormat ?? getOperation(name).errorFormat)
    : attempt.check(response)
}

function getOutcome({ status }: HttpResponse, mistake: string | undefined): Entry['outcome'] {
  if (mistake) return 'wrong'
  return status === 503 ? 'refused' : 'good'
}

/** Returns 100 operations in random order, each as often as its share. */
function shuffleOperations(): OperationName[] {
  return OPERATION_NAMES.flatMap((name) => Array<OperationName>(getOperation(name).share).fill(name))
    .map((name) => ({ name, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name)
}
