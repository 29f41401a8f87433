import { type Answer, askerOf } from './ask.ts'
import type { Ledger } from './ledger.ts'
import {
  type Attempt,
  OPERATION_NAMES,
  type OperationName,
  operation,
  readWith,
  tokenAfterEnd,
} from './operations.ts'
import { random } from './random.ts'
import { wrongRefusal } from './refusal.ts'

/** One request and what came of it. */
export interface Entry {
  readonly operation: OperationName
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: 'good' | 'refused' | 'wrong'
  /** What is wrong. */
  readonly why?: string
}

/** A time in which this process did not get to run; then the others did not either. */
export interface Stall {
  readonly from: number
  readonly to: number
}

export interface Load extends AsyncDisposable {
  readonly entries: readonly Entry[]
  readonly stalls: readonly Stall[]
  /** Resolves once so many more requests were sent: at 100 a second, after so many hundredths. */
  sent(count: number): Promise<void>
}

const TICK_MS = 10
/** Half of what an app waits for Redis. */
const STALL_MS = 100
const MOST_UNDER_WAY = 2_000

/** Sends `rate` requests a second, whether or not earlier ones were answered. Disposing waits for those under way. */
export function startLoad(options: {
  origin: string
  ledger: Ledger
  rate: number
  /** How often what was refused is asked again at once. */
  retries?: number
}): Load {
  const { origin, ledger, rate, retries = 0 } = options
  const asker = askerOf(origin)
  const entries: Entry[] = []
  const stalls: Stall[] = []
  const underWay = new Set<Promise<void>>()
  const waiting = new Set<{ readonly count: number; readonly done: () => void }>()
  let sent = 0
  let mix: OperationName[] = []

  async function carryOut(name: OperationName, attempt: Attempt, retriesLeft = retries): Promise<void> {
    const answer = await asker.ask(attempt.sent)
    const why = judgeAnswer(name, attempt, answer)
    const { startedAt, endedAt } = answer
    const outcome = why ? 'wrong' : answer.status === 503 ? 'refused' : 'good'
    entries.push({ operation: name, startedAt, endedAt, outcome, ...(why && { why }) })
    attempt.over?.()
    if (outcome === 'good') followUp(name)
    if (outcome === 'refused' && retriesLeft > 0) send(name, operation(name).prepare(ledger), retriesLeft - 1)
  }
  /** At once, and at both instances, where an end that was not yet heard everywhere would show. */
  function followUp(name: OperationName): void {
    if (name !== 'revoke' && name !== 'delete agent' && name !== 'token of a deleted agent') return
    for (let times = 0; times < 2; times += 1) {
      send('read with an ended token', readWith(ledger, ledger.endedTokens.at(-1)))
      const agent = ledger.endedTokens.at(-1)?.agent
      if (name === 'delete agent' && agent) send('token of a deleted agent', tokenAfterEnd(ledger, agent))
    }
  }
  function send(name: OperationName, attempt: Attempt | undefined, retriesLeft = retries): void {
    // Where there is nothing to revoke any more, say: the rate is kept.
    if (!attempt) return send('guides', operation('guides').prepare(ledger))
    if (underWay.size >= MOST_UNDER_WAY) return
    const over = carryOut(name, attempt, retriesLeft).finally(() => underWay.delete(over))
    underWay.add(over)
  }

  const startedAt = performance.now()
  let tickedAt = startedAt
  const timer = setInterval(() => {
    const now = performance.now()
    if (now - tickedAt > STALL_MS) stalls.push({ from: tickedAt, to: now })
    tickedAt = now
    for (const due = ((now - startedAt) * rate) / 1000; sent < due; sent += 1) {
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
      while (underWay.size > 0) await Promise.all(underWay)
      asker[Symbol.dispose]()
    },
  }
}

function judgeAnswer(name: OperationName, attempt: Attempt, answer: Answer): string | undefined {
  return answer.status === 503 ? wrongRefusal(answer, operation(name).form) : attempt.read(answer)
}

function shuffledMix(): OperationName[] {
  return OPERATION_NAMES.flatMap((name) => Array<OperationName>(operation(name).share).fill(name))
    .map((name) => ({ name, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name)
}
