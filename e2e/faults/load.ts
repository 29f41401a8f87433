import type { Attempt } from './attempt.ts'
import { createHttpClient, type HttpResponse } from './http-client.ts'
import { belongsToPerson, type KnownAgent, type Ledger } from './ledger.ts'
import {
  OPERATION_NAMES,
  type OperationName,
  operation,
  requestTokenAfterDeletion,
  useToken,
} from './operations.ts'
import { random } from './random.ts'
import { wrongRefusal } from './refusal.ts'

/** One request and its outcome. */
export interface Entry {
  readonly operation: OperationName
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: 'good' | 'refused' | 'wrong'
  /** The reason why a response is `wrong`. */
  readonly why?: string
}

/** A period in which this process did not run. The other processes probably did not run, either. */
export interface Stall {
  readonly from: number
  readonly to: number
}

export interface Load extends AsyncDisposable {
  readonly entries: readonly Entry[]
  readonly stalls: readonly Stall[]
  /** Resolves when `count` more requests have been sent. */
  waitUntilSent(count: number): Promise<void>
}

const REVOKING_OPERATIONS: ReadonlySet<OperationName> = new Set([
  'revoke',
  'delete agent',
  'token of a deleted agent',
])
const TICK_MS = 10
/** Half of the time-out of an app for Redis. */
const STALL_MS = 100
const MAX_IN_FLIGHT = 2_000

/** Sends `rate` requests a second, without waiting for responses. Disposing waits for the requests in flight. */
export function startLoad(options: {
  origin: string
  ledger: Ledger
  rate: number
  /** The number of times that a refused request is immediately repeated. */
  retries?: number
}): Load {
  const { origin, ledger, rate, retries = 0 } = options
  const client = createHttpClient(origin)
  const entries: Entry[] = []
  const stalls: Stall[] = []
  const inFlight = new Set<Promise<void>>()
  const sendWaiters = new Set<{ readonly count: number; readonly done: () => void }>()
  let sent = 0
  let remainingMix: OperationName[] = []

  async function carryOut(name: OperationName, attempt: Attempt, retriesLeft = retries): Promise<void> {
    const response = await client.send(attempt.sent)
    const why = checkResponse(name, attempt, response)
    const { startedAt, endedAt } = response
    const outcome = why ? 'wrong' : response.status === 503 ? 'refused' : 'good'
    entries.push({ operation: name, startedAt, endedAt, outcome, ...(why && { why }) })
    attempt.release?.()
    if (outcome === 'good') useEndedTokens(name)
    if (outcome === 'refused' && retriesLeft > 0) send(name, operation(name).prepare(ledger), retriesLeft - 1)
  }
  /** Immediately uses the revoked token at both instances, to find one that has not received the revocation. */
  function useEndedTokens(name: OperationName): void {
    if (!REVOKING_OPERATIONS.has(name)) return
    for (let times = 0; times < 2; times += 1) {
      const endedToken = ledger.endedTokens.at(-1)
      send('use of an ended token', useToken(ledger, endedToken))
      if (name === 'delete agent' && endedToken && !belongsToPerson(endedToken))
        send('token of a deleted agent', requestTokenAfterDeletion(ledger, endedToken.owner as KnownAgent))
    }
  }
  function send(name: OperationName, attempt: Attempt | undefined, retriesLeft = retries): void {
    // Sends another request if the operation is impossible, for example without a token to revoke, so that the rate stays the same.
    if (!attempt) return send('guides', operation('guides').prepare(ledger))
    if (inFlight.size >= MAX_IN_FLIGHT) return
    const release = carryOut(name, attempt, retriesLeft).finally(() => inFlight.delete(release))
    inFlight.add(release)
  }

  const startedAt = performance.now()
  let tickedAt = startedAt
  const timer = setInterval(() => {
    const now = performance.now()
    if (now - tickedAt > STALL_MS) stalls.push({ from: tickedAt, to: now })
    tickedAt = now
    for (const dueCount = ((now - startedAt) * rate) / 1000; sent < dueCount; sent += 1) {
      if (remainingMix.length === 0) remainingMix = shuffleOperations()
      const name = remainingMix.pop() ?? 'health'
      send(name, operation(name).prepare(ledger))
    }
    for (const each of sendWaiters) if (sent >= each.count) each.done()
  }, TICK_MS)

  return {
    entries,
    stalls,
    async waitUntilSent(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const each = { count: sent + count, done: resolve }
      sendWaiters.add(each)
      await promise
      sendWaiters.delete(each)
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      while (inFlight.size > 0) await Promise.all(inFlight)
      client[Symbol.dispose]()
    },
  }
}

function checkResponse(name: OperationName, attempt: Attempt, response: HttpResponse): string | undefined {
  return response.status === 503
    ? wrongRefusal(response, attempt.form ?? operation(name).form)
    : attempt.read(response)
}

function shuffleOperations(): OperationName[] {
  return OPERATION_NAMES.flatMap((name) => Array<OperationName>(operation(name).share).fill(name))
    .map((name) => ({ name, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name)
}
