import { type Asker, askerOf } from './ask.ts'
import { endedAt, isEnding, type Ledger, mayBeLost } from './ledger.ts'
import { HEARD_MS, readWith, rejoin, showAgent } from './operations.ts'

const AT_ONCE = 16
/** For all checks together. */
const PATIENCE_MS = 20_000

/**
 * Holds everything that was acknowledged against the service, whose stores work.
 *
 * @param since only what was acknowledged after it
 * @returns one line for each thing that is lost, or that lives although it was ended
 */
export async function checkAcknowledged(
  origin: string,
  ledger: Ledger,
  since = Number.NEGATIVE_INFINITY,
): Promise<string[]> {
  using impatient = askerOf(origin)
  const asker = patient(impatient)
  const checks = [
    ...ledger.agents.filter((agent) => agent.registeredAt >= since).map((agent) => agentCheck(asker, agent)),
    ...ledger.addresses
      .filter((address) => address.joinedAt >= since)
      .map(({ email }) => check(asker, rejoin(email), 'address')),
    ...ledger.tokens
      .filter((token) => token.askedAt >= since)
      .flatMap((token) => {
        const now = performance.now()
        const ended = endedAt(token) <= now
        // A token that somebody tried to end, and one that the store lost, may be dead or alive.
        if (!ended && (isEnding(token, now) || mayBeLost(ledger, token, now))) return []
        return check(asker, readWith(ledger, token), 'token')
      }),
  ]
  return (await atMost(AT_ONCE, checks)).filter((line) => line !== undefined)
}

type Check = () => Promise<string | undefined>

const check =
  (asker: Pick<Asker, 'ask'>, attempt: ReturnType<typeof readWith>, what: string): Check =>
  async () => {
    const wrong = attempt?.read(await asker.ask(attempt.sent))
    return wrong && `${what}: ${wrong}`
  }

/** What a busy machine refused is asked again: here it matters what is kept, not how fast. */
function patient(asker: Asker): Pick<Asker, 'ask'> {
  const deadline = performance.now() + PATIENCE_MS
  return {
    async ask(sent) {
      for (;;) {
        const answer = await asker.ask(sent)
        if (answer.status !== 503 || answer.endedAt > deadline) return answer
      }
    },
  }
}

const agentCheck =
  (asker: Pick<Asker, 'ask'>, agent: Ledger['agents'][number]): Check =>
  async () => {
    const { endingFrom, endedAt: deletedAt } = agent
    if (endingFrom !== undefined && deletedAt === undefined) return undefined
    const { status, startedAt } = await asker.ask(showAgent(agent))
    if (deletedAt === undefined) return status === 200 ? undefined : `agent: ${status} instead of 200`
    const unheard = status === 200 && startedAt < deletedAt + HEARD_MS
    return status === 401 || unheard ? undefined : `deleted agent: ${status} instead of 401`
  }

async function atMost(limit: number, checks: readonly Check[]): Promise<(string | undefined)[]> {
  const results: (string | undefined)[] = []
  let next = 0
  const worker = async () => {
    for (let each = checks[next++]; each; each = checks[next++]) results.push(await each())
  }
  await Promise.all(Array.from({ length: limit }, worker))
  return results
}
