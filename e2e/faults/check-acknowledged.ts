import type { Attempt } from './attempt.ts'
import { createHttpClient, type HttpClient, type HttpRequest, type HttpResponse } from './http-client.ts'
import { getRevokedAt, isRevocationRequested, type Ledger, mayBeLost } from './ledger.ts'
import { createAgentReadRequest, MAX_STALE_AGENT_MS, prepareRejoin, prepareTokenUse } from './operations.ts'

const CONCURRENCY = 16
/** By default, refused requests are repeated for this time, which all checks share. */
const PATIENCE_MS = 20_000

/**
 * Checks that the service has lost no acknowledged change. Its stores must be available.
 *
 * @param since a time from `performance.now()`. Agents and addresses that were acknowledged before it, and tokens that were
 *   requested before it, are not checked
 * @returns a line for each failed check: a lost change, a revoked token or deleted agent that is still accepted, or an
 *   unexpected response
 */
export async function checkAcknowledged(
  origin: string,
  ledger: Ledger,
  since = Number.NEGATIVE_INFINITY,
  patienceMs = PATIENCE_MS,
): Promise<string[]> {
  using client = createHttpClient(origin)
  const send = createRepeatingSend(client, patienceMs)
  const checks = [
    ...ledger.agents
      .filter((agent) => agent.registeredAt >= since)
      .map((agent) => createAgentCheck(send, agent)),
    ...ledger.addresses
      .filter((address) => address.joinedAt >= since)
      .map(({ email }) => createCheck(send, () => prepareRejoin(email), 'address')),
    ...ledger.tokens
      .filter((token) => token.requestedAt >= since)
      .flatMap((token) => {
        const now = performance.now()
        const isRevoked = getRevokedAt(token) <= now
        // The state of a token is unknown if its revocation was requested but not acknowledged, or if the store may
        // have lost it.
        if (!isRevoked && (isRevocationRequested(token, now) || mayBeLost(ledger, token, now))) return []
        return createCheck(send, () => prepareTokenUse(ledger, token), 'token')
      }),
  ]
  return (await runConcurrently(CONCURRENCY, checks)).filter((line) => line !== undefined)
}

type Check = () => Promise<string | undefined>

/**
 * Sends a request, and repeats it while it is refused. Calls `prepare` before each attempt, because a DPoP proof is
 * accepted only once.
 */
type Send = (prepare: () => HttpRequest | undefined) => Promise<HttpResponse | undefined>

const createCheck =
  (send: Send, prepare: () => Attempt | undefined, subject: string): Check =>
  async () => {
    let attempt: Attempt | undefined
    const response = await send(() => {
      attempt = prepare()
      return attempt?.request
    })
    const mistake = response && attempt?.check(response)
    return mistake && `${subject}: ${mistake}`
  }

/**
 * Creates a `Send` that repeats refused requests for `patienceMs` in total, because the checks concern stored data and not
 * speed.
 */
function createRepeatingSend(client: HttpClient, patienceMs: number): Send {
  const deadline = performance.now() + patienceMs
  return async (prepare) => {
    for (;;) {
      const request = prepare()
      if (!request) return undefined
      const response = await client.send(request)
      if (response.status !== 503 || response.endedAt > deadline) return response
    }
  }
}

/** Creates the check that an agent is still registered, or that it is deleted if the deletion was acknowledged. */
const createAgentCheck =
  (send: Send, agent: Ledger['agents'][number]): Check =>
  async () => {
    const { deletionRequestedAt, deletedAt } = agent
    if (deletionRequestedAt !== undefined && deletedAt === undefined) return undefined
    const response = await send(() => createAgentReadRequest(agent))
    if (!response) return undefined
    const { status, startedAt } = response
    if (deletedAt === undefined) return status === 200 ? undefined : `agent: ${status} instead of 200`
    const mayBeCached = status === 200 && startedAt < deletedAt + MAX_STALE_AGENT_MS
    return status === 401 || mayBeCached ? undefined : `deleted agent: ${status} instead of 401`
  }

async function runConcurrently(limit: number, checks: readonly Check[]): Promise<(string | undefined)[]> {
  const results: (string | undefined)[] = []
  let nextIndex = 0
  const worker = async () => {
    for (let check = checks[nextIndex++]; check; check = checks[nextIndex++]) results.push(await check())
  }
  await Promise.all(Array.from({ length: limit }, worker))
  return results
}
