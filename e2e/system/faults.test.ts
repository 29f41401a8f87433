import { afterAll, beforeAll, expect, test } from 'vitest'
import { FAULTS_IN_CI } from '../faults/catalogue.ts'
import { checkAcknowledged } from '../faults/check-acknowledged.ts'
import { faultTable } from '../faults/fault-table.ts'
import { type FaultyStack, startFaultyStack } from '../faults/faulty-stack.ts'
import { createHttpClient, type HttpClient } from '../faults/http-client.ts'
import type { Ledger } from '../faults/ledger.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { seedRandom } from '../faults/random.ts'
import { explainIfBusy, REPEAT_IF_BUSY } from '../faults/repeat-if-busy.ts'
import { type FaultResult, runFault, SHORT } from '../faults/run-fault.ts'
import { whenCounted } from './when-counted.ts'

/**
 * Each fault lasts two seconds, and until its required effects were seen. Bytes that it lost stay lost, so longer time-outs expire
 * afterwards. The rate is half of that of `npm run faults`, so that a busy machine does not affect the results.
 */
const TRAFFIC = { rate: 50, ...SHORT, held: 2 }
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)
const LIMITS_FACTOR = 80
/** The limit `waitlist-email`: 5 in an hour, times the factor. */
const JOINS = 5 * LIMITS_FACTOR

const resources = new AsyncDisposableStack()
const results: FaultResult[] = []
let system: FaultyStack
let ledger: Ledger
let client: HttpClient

beforeAll(async () => {
  process.stdout.write(`\nFAULT_SEED=${SEED}\n`)
  seedRandom(SEED)
  system = resources.use(await startFaultyStack({ limitsFactor: LIMITS_FACTOR }))
  ledger = await prepareLedger(system.stack.origin, system)
  client = resources.use(createHttpClient(system.stack.origin))
})
afterAll(async () => {
  await resources.disposeAsync()
  process.stdout.write(`\n${faultTable(results)}\n\n`)
})

for (const fault of FAULTS_IN_CI) {
  test(
    `${fault.numbers.join(', ')} under ${TRAFFIC.rate} requests a second, ${fault.name}`,
    {
      retry: REPEAT_IF_BUSY,
    },
    explainIfBusy(async () => {
      const result = await runFault(system, ledger, fault, TRAFFIC)
      results.push(result)
      expect({ wrong: result.wrong, lost: result.lost }).toEqual({ wrong: [], lost: [] })
    }),
  )
}

const join = (email: string) =>
  client.send({
    method: 'POST',
    path: '/api/waitlist',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })

/** Joins `count` times. Returns the number of responses by status. */
async function joinTimes(email: string, count: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  let left = count
  const worker = async () => {
    for (; left > 0; ) {
      left -= 1
      const { status } = await join(email)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  return statuses
}

/** The gateway distributes so many successive requests over both instances. */
const ENOUGH_FOR_BOTH = 20

const EACH_COUNTED = Array.from({ length: ENOUGH_FOR_BOTH }, (_, times) => 0 - times)

/** Returns the remaining limit after each of these requests, compared with the first. */
async function remaining(policy: string, ask: () => ReturnType<typeof join>): Promise<number[]> {
  const left: number[] = []
  for (let times = 0; times < ENOUGH_FOR_BOTH; times += 1) {
    const field = (await ask()).header('ratelimit') ?? ''
    left.push(Number(new RegExp(`"${policy}";r=(\\d+)`).exec(field)?.[1]))
  }
  return left.map((each) => each - (left[0] ?? 0))
}

test('while Redis is unavailable each process counts limits by itself; when it is available again they count together', async () => {
  await system.put({ kind: 'refuse' }, 'auth redis', 'api redis')
  const first = await joinTimes('alone@example.org', JOINS)
  expect(first).toEqual({ 201: 1, 200: JOINS - 1 })
  // The gateway sends each process about half of the requests, until each has allowed its own quota.
  let more = 0
  const next = async () => {
    const { 200: allowed = 0, ...refused } = await joinTimes('alone@example.org', JOINS)
    more += allowed
    return { allowed, refused }
  }
  await expect.poll(next).toEqual({ allowed: 0, refused: { 429: JOINS } })
  expect(more).toBe(JOINS)
  await system.put({ kind: 'pass' }, 'auth redis', 'api redis')
  let round = 0
  const nextRound = () => {
    const email = `round${(round += 1)}@example.org`
    return remaining('waitlist-email', () => join(email))
  }
  await expect.poll(nextRound).toEqual(EACH_COUNTED)
  const register = () => client.send({ method: 'POST', path: '/api/agent/register' })
  await expect.poll(() => remaining('register-address', register)).toEqual(EACH_COUNTED)
  await whenCounted(system.stack, async () => {
    const email = `together${(round += 1)}@example.org`
    expect(await joinTimes(email, JOINS + 50)).toEqual({ 201: 1, 200: JOINS - 1, 429: 50 })
  })
})

test('after all faults, everything acknowledged is stored and everything revoked is rejected', {
  timeout: 120_000,
}, async () => {
  expect(ledger.agents.length).toBeGreaterThan(100)
  expect(ledger.endedTokens.length).toBeGreaterThan(100)
  expect(await checkAcknowledged(system.stack.origin, ledger)).toEqual([])
})

test('after all faults, only the connections that two processes of each app need are open', async () => {
  const { rows } = await system.admin.server.query<{ datname: string; connections: number }>(
    `select datname, count(*)::int as connections from pg_stat_activity
     where datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'
     group by datname order by datname`,
  )
  const [auth, api] = rows.map(({ connections }) => connections)
  // A pool of ten, and a listener each for notifications and mail; in auth also two connections for revocations.
  expect(auth).toBeLessThanOrEqual(2 * 14)
  expect(api).toBeLessThanOrEqual(2 * 12)
  const clients = String(await system.redis.client('LIST'))
    .split('\n')
    .filter(Boolean)
  // Each API has one connection for limits and one for revocations.
  expect(clients.length).toBeLessThanOrEqual(2 + 2 * 2 + 1)
})
