import { arrive } from './load/open-loop.ts'
import { cycle, requestBytes } from './load/target.ts'
import { GUIDE } from './measured-paths.ts'
import { isLate, type Measurement } from './run-rounds.ts'
import { type AgentWithToken, issueToken } from './testbed/make-agents.ts'
import { basic, FORM, sendRequest } from './testbed/send-request.ts'
import type { App } from './testbed/start-measured-app.ts'

/** The times until the response to a revocation, from when it was due. */
export type Revocations = Pick<Measurement, 'arrivals' | 'fault'>

/** Well above the rate in production, but low enough to leave capacity. */
const PER_SECOND = 50
const AT_ONCE = 16

/** Revokes tokens that were just used at both APIs, so that both have cached them. */
export async function revokeSome(
  parts: { auth: App; apis: readonly App[]; agents: readonly AgentWithToken[] },
  seconds: number,
): Promise<Revocations> {
  const { auth, apis, agents } = parts
  // Twice the expected number, since arrivals are random.
  const owners = Array.from(
    { length: PER_SECOND * seconds * 2 },
    (_none, index) => agents[index % agents.length],
  )
  const requests: Buffer[] = []
  const prepare = async () => {
    for (let owner = owners.pop(); owner; owner = owners.pop()) {
      const token = await issueToken(auth.port, '/oauth/token', owner)
      for (const api of apis)
        await sendRequest(api.port, GUIDE, { headers: { authorization: `Bearer ${token}` } })
      requests.push(
        requestBytes('POST', '/oauth/revoke', {
          headers: { ...FORM, ...basic(owner.id, owner.secret) },
          body: `token=${token}`,
        }),
      )
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, prepare))
  const target = { port: auth.port, pid: auth.pid, next: cycle(requests), status: 200 }
  const arrivals = await arrive(target, { rate: PER_SECOND, seconds })
  if (arrivals.errors > 0) return { arrivals, fault: { kind: 'errors', what: `${arrivals.errors} errors` } }
  if (isLate(arrivals)) return { arrivals, fault: { kind: 'generator', what: 'the generator was late' } }
  return { arrivals }
}

/**
 * Tells whether the APIs use cached introspections: the authorization server counts no introspection for known tokens.
 */
export async function usesCache(
  auth: App,
  apis: readonly App[],
  agents: readonly AgentWithToken[],
): Promise<boolean> {
  const some = agents.slice(0, 50)
  const readAll = async () => {
    for (const { token } of some)
      for (const api of apis)
        await sendRequest(api.port, GUIDE, { headers: { authorization: `Bearer ${token}` } })
  }
  await readAll()
  const before = await introspections(auth)
  await readAll()
  return (await introspections(auth)) - before < (some.length * apis.length) / 2
}

async function introspections(auth: App): Promise<number> {
  const { body } = await sendRequest(auth.operationsPort, '/metrics')
  const counts = body
    .toString()
    .matchAll(/^http_request_duration_seconds_count\{[^}]*route="\/oauth\/introspect"[^}]*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}
