import type { Attempt } from './attempt.ts'
import { createHttpClient, type HttpClient, type HttpRequest, type HttpResponse } from './http-client.ts'
import { endedAt, isEndRequested, type Ledger, mayBeLost } from './ledger.ts'
import { NOTIFIED_MS, rejoin, showAgent, useToken } from './operations.ts'

const CONCURRENCY = 16
/** The time for which refused requests are repeated, for all checks together. */
const PATIENCE_MS = 20_000

/**
 * Checks that everything the service acknowledged is still so. Its stores must be available.
 *
 * @param since checks only what was acknowledged after this time
 * @returns one line for each thing that is lost, and for each revoked token or deleted agent that is still accepted
 */
export async function checkAcknowledged(
  origin: string,
  ledger: Ledger,
  since = Number.NEGATIVE_INFINITY,
): Promise<string[]> {
  using rawClient = createHttpClient(origin)
  const send = retryRefused(rawClient)
  const checks = [
    ...ledger.agents.filter((agent) => agent.registeredAt >= since).map((agent) => agentCheck(send, agent)),
    ...ledger.addresses
      .filter((address) => address.joinedAt >= since)
      .map(({ email }) => check(send, () => rejoin(email), 'address')),
    ...ledger.tokens
      .filter((token) => token.requestedAt >= since)
      .flatMap((token) => {
        const now = performance.now()
        const ended = endedAt(token) <= now
        // The state of a token is unknown if its revocation was requested but not acknowledged, or if the store lost its data.
        if (!ended && (isEndRequested(token, now) || mayBeLost(ledger, token, now))) return []
        return check(send, () => useToken(ledger, token), 'token')
      }),
  ]
  return (await runConcurrently(CONCURRENCY, checks)).filter((line) => line !== undefined)
}

type Check = () => Promise<string | undefined>

/** @param prepare creates the request for each attempt, since a DPoP proof is valid once */
type Send = (prepare: () => HttpRequest | undefined) => Promise<HttpResponse | undefined>

const check =
  (send: Send, prepare: () => Attempt | undefined, what: string): Check =>
  async () => {
    let attempt: Attempt | undefined
    const response = await send(() => {
      attempt = prepare()
      return attempt?.sent
    })
    const wrong = response && attempt?.read(response)
    return wrong && `${what}: ${wrong}`
  }

/** Repeats refused requests, because this check is about what is stored and not about speed. */
function retryRefused(client: HttpClient): Send {
  const deadline = performance.now() + PATIENCE_MS
  return async (prepare) => {
    for (;;) {
      const sent = prepare()
      if (!sent) return undefined
      const response = await client.send(sent)
      if (response.status !== 503 || response.endedAt > deadline) return response
    }
  }
}

const agentCheck =
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
  let next = 0
  const worker = async () => {
    for (let each = checks[next++]; each; each = checks[next++]) results.push(await each())
  }
  await Promise.all(Array.from({ length: limit }, worker))
  return results
}
