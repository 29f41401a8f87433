import { sendAtRate } from './load/open-loop.ts'
import { cycle, formatRequest, type Target } from './load/target.ts'
import { GUIDE } from './measured-paths.ts'
import { isLate, type Measurement } from './run-rounds.ts'
import { type AgentWithToken, issueToken } from './testbed/register-agents.ts'
import { basicAuthorization, FORM_HEADERS, sendRequest } from './testbed/send-request.ts'
import type { MeasuredApp } from './testbed/start-measured-app.ts'

/** The latencies of revocation requests, measured from the time each was due. */
export type Revocations = Pick<Measurement, 'arrivals' | 'fault'>

/** The mean rate of revocations. It is well above the expected rate in production, but below what the server can handle. */
const REVOCATIONS_PER_SECOND = 50
/** How many tokens are prepared at the same time. */
const CONCURRENCY = 16

/**
 * Measures the revocation of tokens that the APIs have cached: it uses each new token at every API, and then revokes the tokens at
 * a fixed mean rate for the given seconds.
 */
export async function measureRevocations(
  parts: { auth: MeasuredApp; apis: readonly MeasuredApp[]; agents: readonly AgentWithToken[] },
  seconds: number,
): Promise<Revocations> {
  return await sendRevocations(await prepareRevocations(parts, seconds), seconds)
}

/** Sends the prepared revocations at a fixed mean rate for the given seconds. */
export async function sendRevocations(target: Target, seconds: number): Promise<Revocations> {
  const arrivals = await sendAtRate(target, { rate: REVOCATIONS_PER_SECOND, seconds })
  if (arrivals.errors > 0)
    return { arrivals, fault: { kind: 'errors', description: `${arrivals.errors} errors` } }
  if (isLate(arrivals))
    return { arrivals, fault: { kind: 'generator', description: 'the generator was late' } }
  return { arrivals }
}

/** Issues tokens for the given seconds of revocations, uses each at every API, and returns the target that revokes them. */
export async function prepareRevocations(
  parts: { auth: MeasuredApp; apis: readonly MeasuredApp[]; agents: readonly AgentWithToken[] },
  seconds: number,
): Promise<Target> {
  const { auth, apis, agents } = parts
  // Twice the expected number, since arrivals are random.
  const remainingAgents = Array.from(
    { length: REVOCATIONS_PER_SECOND * seconds * 2 },
    (_none, index) => agents[index % agents.length],
  )
  const requests: Buffer[] = []
  const prepare = async () => {
    for (let agent = remainingAgents.pop(); agent; agent = remainingAgents.pop()) {
      const token = await issueToken(auth.port, '/oauth/token', agent)
      for (const api of apis)
        await sendRequest(api.port, GUIDE, { headers: { authorization: `Bearer ${token}` } })
      requests.push(
        formatRequest('POST', '/oauth/revoke', {
          headers: { ...FORM_HEADERS, ...basicAuthorization(agent.id, agent.secret) },
          body: `token=${token}`,
        }),
      )
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, prepare))
  return { port: auth.port, pid: auth.pid, next: cycle(requests), status: 200 }
}

/**
 * Returns whether the APIs use cached introspections: when known tokens are used again, auth counts an introspection for fewer
 * than half of the reads.
 */
export async function checkCacheUse(
  auth: MeasuredApp,
  apis: readonly MeasuredApp[],
  agents: readonly AgentWithToken[],
): Promise<boolean> {
  const sampledAgents = agents.slice(0, 50)
  const readWithEachToken = async () => {
    for (const { token } of sampledAgents)
      for (const api of apis)
        await sendRequest(api.port, GUIDE, { headers: { authorization: `Bearer ${token}` } })
  }
  await readWithEachToken()
  const countBefore = await countIntrospections(auth)
  await readWithEachToken()
  return (await countIntrospections(auth)) - countBefore < (sampledAgents.length * apis.length) / 2
}

async function countIntrospections(auth: MeasuredApp): Promise<number> {
  const { body } = await sendRequest(auth.operationsPort, '/metrics')
  const counts = body
    .toString()
    .matchAll(/^http_request_duration_seconds_count\{[^}]*route="\/oauth\/introspect"[^}]*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}
