import { waitUntil } from '@plainpath/stack/managed-process'
import { createSender, type Sender } from '../send.ts'
import type { AgentCredentials } from '../verification-steps.ts'
import { registerExtraAgent, requestToken } from './extra-agent.ts'
import { createRepeatedFault, type FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import type { Ledger } from './ledger.ts'
import { readMetric } from './read-operations.ts'

const CONCURRENT_REQUESTS = 100
/** The number of times that each API process may introspect one uncached token of many simultaneous requests. */
const MAX_INTROSPECTIONS_PER_PROCESS = 2
const PATIENCE_MS = 30_000

/** Creates a fault in which many simultaneous requests present one uncached token. They must share introspections. */
export function createStampedeFault(): FaultCase {
  let sender: Sender
  let agent: AgentCredentials
  let conclusiveRounds = 0
  let mistakes: string[] = []
  return {
    ...createRepeatedFault({
      name: `${CONCURRENT_REQUESTS} requests at once with one token that is not cached, repeatedly`,
      numbers: ['F-37'],
      components: [],
      refusedOperations: [],
      maxShedShare: 0.3,
      async prepare(system) {
        conclusiveRounds = 0
        mistakes = []
        sender = createSender(system.stack.origin)
        agent = await registerExtraAgent(sender)
        if (!(await waitUntil(() => canCache(system), PATIENCE_MS)))
          throw new Error('an API process has no valid lease to cache introspections')
      },
      async act(system, ledger) {
        const countDeletions = createDeletionCounter(ledger, performance.now())
        const token = await requestToken(sender, agent)
        const roundMistakes = await sendStampede(system, sender, { token, countDeletions })
        if (roundMistakes) {
          conclusiveRounds += 1
          mistakes.push(...roundMistakes)
        }
        await system.admin.server.query('select pg_sleep(0.3)')
      },
    }),
    isObserved: () => conclusiveRounds > 0,
    async finish() {
      sender[Symbol.dispose]()
      return conclusiveRounds > 0 ? mistakes : ['every round was inconclusive']
    },
  }
}

/**
 * Sends one round of requests. Returns its mistakes; undefined if the round is inconclusive, because an API process
 * could not cache introspections or refused requests.
 */
async function sendStampede(
  system: FaultyStack,
  sender: Sender,
  { token, countDeletions }: { token: string; countDeletions: () => number },
): Promise<string[] | undefined> {
  const couldCacheBefore = await canCache(system)
  const bypassesBefore = await countCacheBypasses(system)
  const countIntrospections = system.startCounting(token, 'introspection')
  const readRequest = { path: '/api/guides?limit=1', headers: { authorization: `Bearer ${token}` } }
  const responses = await Promise.all(
    Array.from({ length: CONCURRENT_REQUESTS }, () => sender.send(readRequest)),
  )
  const failed = responses.filter(({ status }) => status !== 200 && status !== 503)
  if (failed.length > 0)
    return [`${failed.length} of ${CONCURRENT_REQUESTS} simultaneous requests got ${failed[0]?.status}`]
  const couldCache =
    couldCacheBefore && (await canCache(system)) && (await countCacheBypasses(system)) === bypassesBefore
  if (!couldCache || responses.some(({ status }) => status !== 200)) return undefined
  const maxIntrospections = (MAX_INTROSPECTIONS_PER_PROCESS + countDeletions()) * system.stack.resource.length
  const introspectionCount = countIntrospections()
  if (introspectionCount === 0) return ['a token that no process had cached was not introspected']
  return introspectionCount > maxIntrospections
    ? [`one token was introspected ${introspectionCount} times instead of at most ${maxIntrospections}`]
    : []
}

/** Returns whether every API process has a valid lease, without which it caches no introspection. */
async function canCache({ stack }: FaultyStack): Promise<boolean> {
  const leases = await Promise.all(stack.resource.map((app) => readMetric(app, 'revocation_lease_valid')))
  return leases.every((lease) => lease === 1)
}

/** Counts the introspections that the API processes could not cache. */
async function countCacheBypasses({ stack }: FaultyStack): Promise<number> {
  const counts = stack.resource.map((app) => readMetric(app, 'introspection_cache_bypassed_total'))
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/**
 * Creates a function that counts the agents that were deleted since a time. Each deletion permits one more
 * introspection: the client of an in-flight introspection is unknown, so later requests do not share one that began
 * before the deletion.
 */
function createDeletionCounter({ agents }: Ledger, since: number): () => number {
  return () =>
    agents.filter(({ deletedAt, deletionRequestedAt }) => (deletedAt ?? deletionRequestedAt ?? 0) >= since)
      .length
}
