import type { Attempt } from './attempt.ts'
import { createHttpClient, type HttpClient, type HttpRequest, type HttpResponse } from './http-client.ts'
import { endedAt, isEndRequested, type Ledger, mayBeLost } from './ledger.ts'
import { NOTIFIED_MS, rejoin, showAgent, useToken } from './operations.ts'

const CONCURRENCY = 16
/** The default time for which refused requests are repeated, for all checks together. */
const PATIENCE_MS = 20_000

/**
 * Checks that the service has lost no acknowledged change. Its stores must be available.
 *
 * @param since checks only changes that were acknowledged after this time
 * @returns one line for each lost change, and for each revoked token or deleted agent that is still accepted
 */
export async function checkAcknowledged(
  origin: string,
  ledger: Ledger,
  since = Number.NEGATIVE_INFINITY,
  patienceMs = PATIENCE_MS,
): Promise<string[]> {
  using rawClient = createHttpClient(origin)
  const send = retryRefused(rawClient, patienceMs)
  const checks = [
    ...ledger.agents
      .filter((agent) => agent.registeredAt >= since)
      .map((agent) => createAgentCheck(send, agent)),
    ...ledger.addresses
      .filter((address) => address.joinedAt >= since)
      .map(({ email }) => createCheck(send, () => rejoin(email), 'address')),
    ...ledger.tokens
      .filter((token) => token.requestedAt >= since)
      .flatMap((token) => {
        const now = performance.now()
        const hasEnded = endedAt(token) <= now
        // The state of a token is unknown if its revocation was requested but not acknowledged, or if the store lost its data.
        if (!hasEnded && (isEndRequested(token, now) || mayBeLost(ledger, token, now))) return []
        return createCheck(send, () => useToken(ledger, token), 'token')
      }),
  ]
  return (await runConcurrently(CONCURRENCY, checks)).filter((line) => line !== undefined)
}

type Check = () => Promise<string | undefined>

/** Sends a request until it is not refused. `prepare` creates the request of each attempt, since a DPoP proof is valid once. */
type Send = (prepare: () => HttpRequest | undefined) => Promise<HttpResponse | undefined>

const createCheck =
  (send: Send, prepare: () => Attempt | undefined, subject: string): Check =>
  async () => {
    let attempt: Attempt | undefined
    const response = await send(() => {
      attempt = prepare()
      return attempt?.sent
    })
    const mistake = response && attempt?.read(response)
    return mistake && `${subject}: ${mistake}`
  }

/** Repeats refused requests, since the checks concern stored data and not speed. */
function retryRefused(client: HttpClient, patienceMs: number): Send {
  const deadline = performance.now() + patienceMs
  return async (prepare) => {
    for (;;) {
      const sent = prepare()
      if (!sent) return undefined
      const response = await client.send(sent)
      if (response.status !== 503 || response.endedAt > deadline) return response
    }
  }
}

const createAgentCheck =
  (send: Send, agent: Ledger['agents'][number]): Check =>
  async () => {
    const { endRequestedAt, endedAt: deletedAt } = agent
    if (endRequestedAt !== undefined && deletedAt === undefined) return undefined
    const response = await send(() => showAgent(agent))
    if (!response) return undefined
    const { status, startedAt } = response
    if (deletedAt === undefined) return status === 200 ? undefined : `agent: ${status} instead of 200`
    const mayBeCached = status === 200 && startedAt < deletedAt + NOTIFIED_MS
    return status === 401 || mayBeCached ? undefined : `deleted agent: ${status} instead of 401`
  }

async function runConcurrently(limit: number, checks: readonly Check[]): Promise<(string | undefined)[]> {
  const results: (string | undefined)[] = []
  let nextIndex = 0
  const worker = async () => {
    for (let each = checks[nextIndex++]; each; each = checks[nextIndex++]) results.push(await each())
  }
  await Promise.all(Array.from({ length: limit }, worker))
  return results
}
