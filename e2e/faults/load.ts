import type { Attempt } from './attempt.ts'
import { createHttpClient, type HttpResponse } from './http-client.ts'
import { isPersons, type KnownAgent, type Ledger } from './ledger.ts'
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
  /** What is wrong with a `wrong` response. */
  readonly why?: string
}

/** A time in which this process did not get the processor; the other processes probably did not either. */
export interface Stall {
  readonly from: number
  readonly to: number
}

export interface Load extends AsyncDisposable {
  readonly entries: readonly Entry[]
  readonly stalls: readonly Stall[]
  /** Resolves when `count` more requests have been sent. */
  sent(count: number): Promise<void>
}

const ENDS: ReadonlySet<OperationName> = new Set(['revoke', 'delete agent', 'token of a deleted agent'])
const TICK_MS = 10
/** Half of the time-out of an app for Redis. */
const STALL_MS = 100
const MAX_IN_FLIGHT = 2_000

/** Sends `rate` requests a second, without waiting for responses. Disposing waits for the requests in flight. */
export function startLoad(options: {
  origin: string
  ledger: Ledger
  rate: number
  /** How often a refused request is immediately repeated. */
  retries?: number
}): Load {
  const { origin, ledger, rate, retries = 0 } = options
  const client = createHttpClient(origin)
  const entries: Entry[] = []
  const stalls: Stall[] = []
  const inFlight = new Set<Promise<void>>()
  const waiting = new Set<{ readonly count: number; readonly done: () => void }>()
  let sent = 0
  let mix: OperationName[] = []

  async function carryOut(name: OperationName, attempt: Attempt, retriesLeft = retries): Promise<void> {
    const response = await client.send(attempt.sent)
    const why = checkResponse(name, attempt, response)
    const { startedAt, endedAt } = response
    const outcome = why ? 'wrong' : response.status === 503 ? 'refused' : 'good'
    entries.push({ operation: name, startedAt, endedAt, outcome, ...(why && { why }) })
    attempt.release?.()
    if (outcome === 'good') followUp(name)
    if (outcome === 'refused' && retriesLeft > 0) send(name, operation(name).prepare(ledger), retriesLeft - 1)
  }
  /** Immediately uses what was revoked, at both instances, to find one that has not received the revocation. */
  function followUp(name: OperationName): void {
    if (!ENDS.has(name)) return
    for (let times = 0; times < 2; times += 1) {
      const ended = ledger.endedTokens.at(-1)
      send('use of an ended token', useToken(ledger, ended))
      if (name === 'delete agent' && ended && !isPersons(ended))
        send('token of a deleted agent', requestTokenAfterDeletion(ledger, ended.owner as KnownAgent))
    }
  }
  function send(name: OperationName, attempt: Attempt | undefined, retriesLeft = retries): void {
    // The operation is not possible, for example because there is nothing to revoke. Keeps the rate.
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
      if (mix.length === 0) mix = shuffledMix()
      const name = mix.pop() ?? 'health'
      send(name, operation(name).prepare(ledger))
    }
    for (const each of waiting) if (sent >= each.count) each.done()
  }, TICK_MS)

  return {
    entries,
    stalls,
    async sent(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const each = { count: sent + count, done: resolve }
      waiting.add(each)
      await promise
      waiting.delete(each)
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

function shuffledMix(): OperationName[] {
  return OPERATION_NAMES.flatMap((name) => Array<OperationName>(operation(name).share).fill(name))
    .map((name) => ({ name, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name)
}
