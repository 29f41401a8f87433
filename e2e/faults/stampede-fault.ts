import { waitUntil } from '@plainpath/stack/managed-process'
import type { AgentCredentials } from '../lend-mailbox-to.ts'
import { createSender, type Sender } from '../send.ts'
import { type FaultCase, repeatedFault } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import type { Ledger } from './ledger.ts'
import { metric } from './operations-listener.ts'
import { ownAgent, ownToken } from './own-agent.ts'

const AT_ONCE = 100
/** The introspections of one token by each process of the API. */
const MOST_LOOK_UPS = 2
const PATIENCE_MS = 30_000

/** Many requests use one token at the moment at which its cached introspection expires. */
export function stampede(): FaultCase {
  let sender: Sender
  let agent: AgentCredentials
  let judged = 0
  let wrong: string[] = []
  return {
    ...repeatedFault({
      name: `${AT_ONCE} requests at once with one token that is not cached, repeatedly`,
      numbers: ['F-37'],
      parts: [],
      refuses: [],
      maxShedShare: 0.3,
      async prepare(system) {
        ;[judged, wrong] = [0, []]
        sender = createSender(system.stack.origin)
        agent = await ownAgent(sender)
        if (!(await waitUntil(() => mayRemember(system), PATIENCE_MS)))
          throw new Error('an API may not remember what a token is worth')
      },
      async act(system, ledger) {
        const endings = endingsFrom(ledger, performance.now())
        const found = await oneStampede(system, sender, { token: await ownToken(sender, agent), endings })
        if (found) {
          judged += 1
          wrong.push(...found)
        }
        await system.admin.server.query('select pg_sleep(0.3)')
      },
    }),
    isObserved: () => judged > 0,
    async finish() {
      sender[Symbol.dispose]()
      return judged > 0 ? wrong : ['no time could be judged']
    },
  }
}

/** Returns what was wrong; undefined when an API had lost its cache or was too slow for a result. */
async function oneStampede(
  system: FaultyStack,
  sender: Sender,
  { token, endings }: { token: string; endings: () => number },
): Promise<string[] | undefined> {
  const before = await mayRemember(system)
  const bypassed = await bypasses(system)
  const lookUps = system.watch(token, 'introspection')
  const read = { path: '/api/guides?limit=1', headers: { authorization: `Bearer ${token}` } }
  const responses = await Promise.all(Array.from({ length: AT_ONCE }, () => sender.send(read)))
  const bad = responses.filter(({ status }) => status !== 200 && status !== 503)
  if (bad.length > 0) return [`${bad.length} of ${AT_ONCE} at once were answered ${bad[0]?.status}`]
  const remembered = before && (await mayRemember(system)) && (await bypasses(system)) === bypassed
  if (!remembered || responses.some(({ status }) => status !== 200)) return undefined
  const most = (MOST_LOOK_UPS + endings()) * system.stack.resource.length
  if (lookUps() === 0) return ['a token that is in no memory was not looked up']
  return lookUps() > most ? [`one token was looked up ${lookUps()} times, at most ${most} are right`] : []
}

async function mayRemember({ stack }: FaultyStack): Promise<boolean> {
  const leases = await Promise.all(stack.resource.map((app) => metric(app, 'revocation_lease_valid')))
  return leases.every((valid) => valid === 1)
}

/** Counts the introspections that an API could not cache. */
async function bypasses({ stack }: FaultyStack): Promise<number> {
  const counts = stack.resource.map((app) => metric(app, 'introspection_cache_bypassed_total'))
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** The client of an in-flight introspection is unknown, so none is shared after the revocation of any client. */
const endingsFrom =
  ({ agents }: Ledger, from: number) =>
  () =>
    agents.filter(({ endRequestedAt = 0, endedAt = endRequestedAt }) => endedAt >= from).length
