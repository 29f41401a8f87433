import { runAuth } from '@plainpath/auth/run-auth'
import { REVOCATION } from '@plainpath/revocation'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../faults/fault.ts'
import { type CachedSystem, type Client, startCachedSystem } from '../revocation/start-cached-system.ts'
import { form } from '../send.ts'
import { findLink, verifyMailbox } from '../verification-steps.ts'

/*
 * Revocations while both APIs have cached the introspection of the token, with two instances of each app in this process and a
 * Redis of their own. Connection faults affect only the first API. See `docs/revocation/README.md`.
 */

const { leaseMs: LEASE_MS } = REVOCATION.intervals
const INSTANCES = [0, 1] as const

let system: CachedSystem
let client: Client
beforeAll(async () => {
  system = await startCachedSystem()
  client = await system.registerClient()
})
beforeEach(() => waitForLeases())
afterAll(() => system[Symbol.asyncDispose]())

/** Returns 1 while the API may use cached introspections, and 0 otherwise. */
const readLeaseGauge = (api: number) => system.readMetric('resource', 'revocation_lease_valid', api)
const countCacheHits = (api: number) => system.readMetric('resource', 'introspection_cache_hits_total', api)
const waitForLeases = () =>
  expect
    .poll(async () => Promise.all(INSTANCES.map(readLeaseGauge)), { timeout: 10_000, interval: 50 })
    .toEqual([1, 1])

/** Issues a token, and waits until both APIs use a cached introspection of it. */
async function issueCachedToken(owner = client): Promise<string> {
  const token = await system.issueToken(owner)
  await waitUntilCached(token)
  return token
}
async function waitUntilCached(token: string): Promise<void> {
  for (const api of INSTANCES) {
    await expect
      .poll(
        async () => {
          const hitsBefore = await countCacheHits(api)
          expect(await system.readGuides(token, api)).toBe(200)
          return (await countCacheHits(api)) - hitsBefore
        },
        { timeout: 10_000, interval: 50 },
      )
      .toBe(1)
  }
}
/** Sends a request with the token to each API. Returns the statuses. */
const readAtBoth = (token: string) => Promise.all(INSTANCES.map((api) => system.readGuides(token, api)))

const runAuthCommand = (...args: string[]) => runAuth(args, system.env)

describe('with a cached introspection, both APIs', () => {
  test('reject a token that either auth instance revoked, and the revocation waits for no lease', async () => {
    for (const auth of INSTANCES) {
      const token = await issueCachedToken()
      const startedAt = performance.now()
      expect(await system.revoke(client, token, auth)).toBe(200)
      expect(performance.now() - startedAt).toBeLessThan(LEASE_MS)
      expect(await readAtBoth(token)).toEqual([401, 401])
      expect(await system.readMetric('auth', 'revocation_announcement_seconds_count', auth)).toBeGreaterThan(
        0,
      )
    }
  })

  test('reject the token of a client that deleted itself, and keep the introspection of another client', async () => {
    const otherToken = await issueCachedToken()
    const leavingClient = await system.registerClient()
    const token = await issueCachedToken(leavingClient)
    expect(await system.deleteClient(leavingClient)).toBe(204)
    expect(await readAtBoth(token)).toEqual([401, 401])
    const hitsBefore = await countCacheHits(0)
    expect(await readAtBoth(otherToken)).toEqual([200, 200])
    expect(await countCacheHits(0)).toBe(hitsBefore + 1)
  })

  test('reject the token of a client that an operator disabled', async () => {
    const disabledClient = await system.registerClient()
    const token = await issueCachedToken(disabledClient)
    expect(await runAuthCommand('agents', 'disable', disabledClient.client_id)).toMatchObject({ code: 0 })
    expect(await readAtBoth(token)).toEqual([401, 401])
  })

  test('introspect a token again after the revocation of a signing key', async () => {
    const token = await issueCachedToken()
    const { printed } = await runAuthCommand('keys', 'list', '--json')
    const { keys } = JSON.parse(printed) as { keys: { kid: string; state: string }[] }
    const kid = keys.find(({ state }) => state === 'signing')?.kid ?? ''
    expect(await runAuthCommand('keys', 'revoke', kid, '--reason', 'a drill')).toMatchObject({ code: 0 })
    for (const api of INSTANCES) {
      const hitsBefore = await countCacheHits(api)
      expect(await system.readGuides(token, api)).toBe(200)
      expect(await countCacheHits(api)).toBe(hitsBefore)
    }
  }, 30_000)

  test('reject a token after each of four simultaneous revocations', async () => {
    const token = await issueCachedToken()
    const responses = await Promise.all(
      [0, 1, 0, 1].map(async (auth) => {
        expect(await system.revoke(client, token, auth)).toBe(200)
        return readAtBoth(token)
      }),
    )
    expect(responses.flat()).toEqual(Array(8).fill(401))
  })
})

test('after an "End all" that could not be published, the next one makes both APIs reject the cached tokens of both agents at once', async () => {
  const email = 'ana@example.org'
  const { mail, authSender: sender } = system
  const tokens: string[] = []
  for (const agent of [await system.registerClient(), await system.registerClient()])
    tokens.push(await verifyMailbox(agent, email, { mail, sender }))
  const findEndLink = () => mail.received.map(({ text }) => findLink(text, 'end')).find((link) => link !== '')
  await expect.poll(findEndLink, { timeout: 10_000 }).toBeDefined()
  const end = new URL(findEndLink() ?? '').searchParams.get('end') ?? ''
  const endAll = () => sender.send({ method: 'POST', path: '/claim', ...form({ end, all: 'yes' }) })
  for (const token of tokens) await waitUntilCached(token)
  const otherToken = await issueCachedToken()
  // Without the key, no revocation can be published.
  await system.redisAdmin.call('ACL', 'SETUSER', 'auth', 'resetkeys', '~auth:*')
  expect((await endAll()).status).toBeGreaterThanOrEqual(500)
  await system.redisAdmin.call('ACL', 'SETUSER', 'auth', '~revocation:state')
  // The revocation is committed, but the APIs do not know it yet.
  for (const token of tokens) expect(await readAtBoth(token)).toEqual([200, 200])
  expect((await endAll()).status).toBe(410)
  for (const token of tokens) expect(await readAtBoth(token)).toEqual([401, 401])
  const hitsBefore = await countCacheHits(0)
  expect(await readAtBoth(otherToken)).toEqual([200, 200])
  expect(await countCacheHits(0)).toBe(hitsBefore + 1)
})

test('an API does not cache an introspection that is in flight during the revocation of its token', async () => {
  const token = await system.issueToken(client)
  // The delay keeps the introspection in flight until the revocation.
  await system.authProxy.setFault({ kind: 'latency', ms: 300, jitterMs: 0 })
  const missesBefore = await system.readMetric('resource', 'introspection_cache_misses_total')
  const earlyRead = system.readGuides(token)
  await expect
    .poll(() => system.readMetric('resource', 'introspection_cache_misses_total'), { interval: 5 })
    .toBe(missesBefore + 1)
  const [revocationStatus] = await Promise.all([system.revoke(client, token, 1), earlyRead])
  await system.authProxy.setFault({ kind: 'pass' })
  expect(revocationStatus).toBe(200)
  expect(await readAtBoth(token)).toEqual([401, 401])
})

test('an API uses no cached introspection for a token that differs in one character', async () => {
  const token = await issueCachedToken()
  const otherToken = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  expect(await readAtBoth(otherToken)).toEqual([401, 401])
  expect(await readAtBoth(token)).toEqual([200, 200])
})

const CONNECTION_FAULTS: [string, Fault][] = [
  ['is refused', { kind: 'refuse' }],
  ['is half-open', { kind: 'half-open' }],
  ['takes three seconds for a round trip', { kind: 'latency', ms: 1_500, jitterMs: 100 }],
  ['loses replies', { kind: 'drop-replies' }],
  ['is no longer read', { kind: 'stop-reading' }],
]
test.for(CONNECTION_FAULTS)(
  'while the connection of an API to Redis %s, it uses no cached introspection, and no API accepts a revoked token',
  { timeout: 30_000 },
  async ([_description, fault]) => {
    const [token, otherToken] = [await issueCachedToken(), await issueCachedToken()]
    await system.redisProxy.setFault(fault)
    const startedAt = performance.now()
    expect(await system.revoke(client, token)).toBe(200)
    // The revocation waits for at most one lease, because that API cannot acknowledge it.
    expect(performance.now() - startedAt).toBeLessThan(2 * LEASE_MS)
    expect(await readAtBoth(token)).toEqual([401, 401])
    await expect.poll(() => readLeaseGauge(0), { timeout: 5_000, interval: 50 }).toBe(0)
    const hitsBefore = await countCacheHits(0)
    expect(await readAtBoth(otherToken)).toEqual([200, 200])
    expect(await countCacheHits(0)).toBe(hitsBefore)
    await system.redisProxy.setFault({ kind: 'pass' })
    await waitForLeases()
    await issueCachedToken()
  },
)

test('a revocation waits once for an API that does not acknowledge, and then removes it as a subscriber', {
  timeout: 30_000,
}, async () => {
  const [firstToken, secondToken] = [await issueCachedToken(), await issueCachedToken()]
  await system.redisProxy.setFault({ kind: 'refuse' })
  const removedBefore = await system.readMetric('auth', 'revocation_members_struck_off_total')
  expect(await system.revoke(client, firstToken)).toBe(200)
  expect(await system.readMetric('auth', 'revocation_members_struck_off_total')).toBe(removedBefore + 1)
  const startedAt = performance.now()
  expect(await system.revoke(client, secondToken)).toBe(200)
  expect(performance.now() - startedAt).toBeLessThan(LEASE_MS)
  expect(await readAtBoth(firstToken)).toEqual([401, 401])
  expect(await readAtBoth(secondToken)).toEqual([401, 401])
  await system.redisProxy.setFault({ kind: 'pass' })
})

test('while neither Redis nor auth is reachable, an API responds with 503 to a token that it had cached', {
  timeout: 30_000,
}, async () => {
  const token = await issueCachedToken()
  await system.redisProxy.setFault({ kind: 'refuse' })
  await system.authProxy.setFault({ kind: 'refuse' })
  await expect.poll(() => system.readGuides(token), { timeout: 5_000, interval: 50 }).toBe(503)
  await system.redisProxy.setFault({ kind: 'pass' })
  await system.authProxy.setFault({ kind: 'pass' })
  await waitForLeases()
})

const STATE_LOSSES: [string, () => Promise<unknown>][] = [
  ['is emptied (FLUSHALL)', () => system.redisAdmin.flushall()],
  ['loses the shared hash alone', () => system.redisAdmin.del('revocation:state')],
  [
    'is killed and starts empty',
    async () => {
      await system.redis.stop('SIGKILL')
      await system.redis.start()
    },
  ],
  [
    'becomes a replica and then a primary again',
    async () => {
      // Nothing listens on port 9. The server keeps its data, but gets a new replication ID when it is a primary again.
      await system.redisAdmin.replicaof('127.0.0.1', 9)
      await system.redisAdmin.replicaof('NO', 'ONE')
    },
  ],
]
test.for(STATE_LOSSES)(
  'after Redis %s, both APIs reject revoked tokens, and cache introspections again',
  { timeout: 30_000 },
  async ([_description, loseState]) => {
    const token = await issueCachedToken()
    await loseState()
    // Auth refuses revocations until it can use Redis again.
    await expect.poll(() => system.revoke(client, token), { timeout: 10_000, interval: 5 }).toBe(200)
    expect(await readAtBoth(token)).toEqual([401, 401])
    await waitForLeases()
    const nextToken = await issueCachedToken()
    expect(await system.revoke(client, nextToken, 1)).toBe(200)
    expect(await readAtBoth(nextToken)).toEqual([401, 401])
  },
)

test('neither app logs a token', () => {
  expect(system.logLines.join('')).not.toMatch(/ppt_[A-Za-z0-9_-]{10}/)
})
