import { afterAll, beforeAll, expect, test } from 'vitest'
import { FAULTS_IN_CI } from '../faults/catalogue.ts'
import { checkAcknowledged } from '../faults/check-acknowledged.ts'
import { formatFaultTable } from '../faults/fault-table.ts'
import { type FaultyStack, startFaultyStack } from '../faults/faulty-stack.ts'
import { createHttpClient, type HttpClient } from '../faults/http-client.ts'
import type { Ledger } from '../faults/ledger.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { seedRandom } from '../faults/random.ts'
import { explainIfBusy, REPEAT_IF_BUSY } from '../faults/repeat-if-busy.ts'
import { type FaultResult, runFault, SHORT_PHASES } from '../faults/run-fault.ts'
import { repeatIfUncounted } from './repeat-if-uncounted.ts'

/**
 * The requests per second, and the seconds before, during (`held`) and after a fault. A fault lasts at least two seconds, and
 * then until its required effects have been observed. A longer time-out expires after the fault, because bytes that the fault
 * dropped never arrive. The rate is half the rate of `npm run faults`, because the machine may be busy.
 */
const TRAFFIC = { rate: 50, ...SHORT_PHASES, held: 2 }
/** Determines the requests. To repeat a failed run, set `FAULT_SEED` to the value that the run printed. */
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)
const LIMITS_FACTOR = 80
/** The quota of the limit `waitlist-email`: 5 in an hour, times the factor. */
const JOIN_QUOTA = 5 * LIMITS_FACTOR

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
  process.stdout.write(`\n${formatFaultTable(results)}\n\n`)
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

/** Joins the waitlist `count` times. Returns the number of responses by status. */
async function joinTimes(email: string, count: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  let remaining = count
  const worker = async () => {
    while (remaining > 0) {
      remaining -= 1
      const { status } = await join(email)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  return statuses
}

/** Enough successive requests for the gateway to send some of them to each instance. */
const ENOUGH_FOR_BOTH = 20

/** The differences if both instances count all requests together. `toEqual` would distinguish -0 from 0. */
const COUNTED_TOGETHER = Array.from({ length: ENOUGH_FOR_BOTH }, (_, index) => 0 - index)

/** Sends successive requests. Returns the remaining quota after each, minus the remaining quota after the first. */
async function readQuotaDifferences(
  policy: string,
  sendRequest: () => ReturnType<typeof join>,
): Promise<number[]> {
  const remainingQuotas: number[] = []
  for (let sent = 0; sent < ENOUGH_FOR_BOTH; sent += 1) {
    const field = (await sendRequest()).header('ratelimit') ?? ''
    remainingQuotas.push(Number(new RegExp(`"${policy}";r=(\\d+)`).exec(field)?.[1]))
  }
  return remainingQuotas.map((quota) => quota - (remainingQuotas[0] ?? 0))
}

test('while Redis is unavailable, each process counts limits by itself; afterwards, they count together', async () => {
  await system.setFault({ kind: 'refuse' }, 'auth redis', 'api redis')
  expect(await joinTimes('alone@example.org', JOIN_QUOTA)).toEqual({ 201: 1, 200: JOIN_QUOTA - 1 })
  // Each process allows a full quota, so another `JOIN_QUOTA` requests succeed.
  let allowedLater = 0
  const joinAgain = async () => {
    const { 200: allowed = 0, ...refused } = await joinTimes('alone@example.org', JOIN_QUOTA)
    allowedLater += allowed
    return { allowed, refused }
  }
  await expect.poll(joinAgain).toEqual({ allowed: 0, refused: { 429: JOIN_QUOTA } })
  expect(allowedLater).toBe(JOIN_QUOTA)
  await system.setFault({ kind: 'pass' }, 'auth redis', 'api redis')
  let round = 0
  const joinWithNewEmail = () => {
    const email = `round${(round += 1)}@example.org`
    return readQuotaDifferences('waitlist-email', () => join(email))
  }
  await expect.poll(joinWithNewEmail).toEqual(COUNTED_TOGETHER)
  const register = () => client.send({ method: 'POST', path: '/api/agent/register' })
  await expect.poll(() => readQuotaDifferences('register-address', register)).toEqual(COUNTED_TOGETHER)
  await repeatIfUncounted(system.stack, async () => {
    const email = `together${(round += 1)}@example.org`
    expect(await joinTimes(email, JOIN_QUOTA + 50)).toEqual({ 201: 1, 200: JOIN_QUOTA - 1, 429: 50 })
  })
})

test('after all faults, every acknowledged change is stored, and revoked tokens are rejected', {
  timeout: 120_000,
}, async () => {
  expect(ledger.agents.length).toBeGreaterThan(100)
  expect(ledger.revokedTokens.length).toBeGreaterThan(100)
  expect(await checkAcknowledged(system.stack.origin, ledger)).toEqual([])
})

test('after all faults, no more connections are open than two processes of each app need', async () => {
  const { rows } = await system.admin.server.query<{ datname: string; connections: number }>(
    `select datname, count(*)::int as connections from pg_stat_activity
     where datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'
     group by datname order by datname`,
  )
  const [auth, api] = rows.map(({ connections }) => connections)
  // A pool of ten connections, and one listener each for notifications and mail. Auth has two more, for revocations.
  expect(auth).toBeLessThanOrEqual(2 * 14)
  expect(api).toBeLessThanOrEqual(2 * 12)
  const clients = String(await system.redis.client('LIST'))
    .split('\n')
    .filter(Boolean)
  // One connection for each auth process, two (limits and revocations) for each API process, and one for this test.
  expect(clients.length).toBeLessThanOrEqual(2 + 2 * 2 + 1)
})
