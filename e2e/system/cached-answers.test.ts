import { runAuth } from '@plainpath/auth/run-auth'
import { REVOCATION } from '@plainpath/revocation'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../faults/fault.ts'
import { type CachedSystem, type Client, startCachedSystem } from '../revocation/start-cached-system.ts'

const { leaseMs: LEASE_MS } = REVOCATION.intervals
const BOTH = [0, 1] as const

let system: CachedSystem
let client: Client
beforeAll(async () => {
  system = await startCachedSystem()
  client = await system.newClient()
})
beforeEach(() => leased())
afterAll(() => system[Symbol.asyncDispose]())

const lease = (at: number) => system.metric('resource', 'revocation_lease_valid', at)
const hits = (at: number) => system.metric('resource', 'introspection_cache_hits_total', at)
const leased = () =>
  expect
    .poll(async () => Promise.all(BOTH.map(lease)), { timeout: 10_000, interval: 50 })
    .toEqual(BOTH.map(() => 1))

/** Issues a token and lets both APIs cache its introspection. */
async function known(of = client): Promise<string> {
  const token = await system.newToken(of)
  for (const at of BOTH) {
    await expect
      .poll(
        async () => {
          const before = await hits(at)
          expect(await system.read(token, at)).toBe(200)
          return (await hits(at)) - before
        },
        { timeout: 10_000, interval: 50 },
      )
      .toBe(1)
  }
  return token
}
const everywhere = (token: string) => Promise.all(BOTH.map((at) => system.read(token, at)))

const auth = (...args: string[]) => runAuth(args, { ...system.env, AUTH_KEYS_TRUST_SECONDS: '5' })

describe('with Redis, APIs cache introspections and use none after the response to the revocation of', () => {
  test('a token, at either auth process, soon', async () => {
    for (const at of BOTH) {
      const token = await known()
      const startedAt = performance.now()
      expect(await system.revoke(client, token, at)).toBe(200)
      // Faster than a lease, so the response did not wait for one.
      expect(performance.now() - startedAt).toBeLessThan(LEASE_MS)
      expect(await everywhere(token)).toEqual([401, 401])
      expect(await system.metric('auth', 'revocation_announcement_seconds_count', at)).toBeGreaterThan(0)
    }
  })

  test('a client that deletes itself, without effect on other clients', async () => {
    const other = await known()
    const leaving = await system.newClient()
    const token = await known(leaving)
    expect(await system.end(leaving)).toBe(204)
    expect(await everywhere(token)).toEqual([401, 401])
    const before = await hits(0)
    expect(await everywhere(other)).toEqual([200, 200])
    expect(await hits(0)).toBe(before + 1)
  })

  test('a client that an operator disables', async () => {
    const disabled = await system.newClient()
    const token = await known(disabled)
    expect(await auth('agents', 'disable', disabled.client_id)).toMatchObject({ code: 0 })
    expect(await everywhere(token)).toEqual([401, 401])
  })

  test('a signing key, which affects all tokens', async () => {
    const token = await known()
    const { printed } = await auth('keys', 'list', '--json')
    const { keys } = JSON.parse(printed) as { keys: { kid: string; state: string }[] }
    const kid = keys.find(({ state }) => state === 'signing')?.kid ?? ''
    expect(await auth('keys', 'revoke', kid, '--reason', 'a drill')).toMatchObject({ code: 0 })
    const before = await hits(0)
    expect(await system.read(token)).toBe(200)
    expect(await hits(0)).toBe(before)
  }, 30_000)

  test('a token that is already revoked: the second response has the same guarantee', async () => {
    const token = await known()
    const responses = await Promise.all(
      [0, 1, 0, 1].map(async (at) => {
        expect(await system.revoke(client, token, at)).toBe(200)
        return everywhere(token)
      }),
    )
    expect(responses.flat()).toEqual(Array(8).fill(401))
  })
})

test('does not cache an introspection that is in flight during the revocation', async () => {
  const token = await system.newToken(client)
  await system.toAuth.set({ kind: 'latency', ms: 300, jitterMs: 0 })
  const before = await system.metric('resource', 'introspection_cache_misses_total')
  const early = system.read(token)
  await expect
    .poll(() => system.metric('resource', 'introspection_cache_misses_total'), { interval: 5 })
    .toBe(before + 1)
  const [revoked] = await Promise.all([system.revoke(client, token, 1), early])
  await system.toAuth.set({ kind: 'pass' })
  expect(revoked).toBe(200)
  expect(await everywhere(token)).toEqual([401, 401])
})

test('uses a cached introspection only for the same token, and checks it again for each request', async () => {
  const token = await known()
  const other = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  expect(await everywhere(other)).toEqual([401, 401])
  expect(await everywhere(token)).toEqual([200, 200])
})

const WAYS: [string, Fault][] = [
  ['refuses the API', { kind: 'refuse' }],
  ['is half-open', { kind: 'half-open' }],
  ['is three seconds late', { kind: 'latency', ms: 1_500, jitterMs: 100 }],
  ['loses its replies', { kind: 'drop-replies' }],
  ['is read no more', { kind: 'stop-reading' }],
]
test.for(WAYS)(
  'while Redis %s, requests are slower but never wrong',
  { timeout: 30_000 },
  async ([_how, fault]) => {
    const [token, kept] = [await known(), await known()]
    await system.toRedis.set(fault)
    const startedAt = performance.now()
    expect(await system.revoke(client, token)).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(2 * LEASE_MS)
    expect(await everywhere(token)).toEqual([401, 401])
    // After its expiry a lease is renewed within one second.
    await expect.poll(() => lease(0), { timeout: 5_000, interval: 50 }).toBe(0)
    const before = await hits(0)
    expect(await everywhere(kept)).toEqual([200, 200])
    expect(await hits(0)).toBe(before)
    await system.toRedis.set({ kind: 'pass' })
    await leased()
    await known()
  },
)

test('a revocation waits once for an API that does not acknowledge, and then removes it as a subscriber', {
  timeout: 30_000,
}, async () => {
  const [first, second] = [await known(), await known()]
  await system.toRedis.set({ kind: 'refuse' })
  const silent = await system.metric('auth', 'revocation_members_struck_off_total')
  expect(await system.revoke(client, first)).toBe(200)
  expect(await system.metric('auth', 'revocation_members_struck_off_total')).toBe(silent + 1)
  const startedAt = performance.now()
  expect(await system.revoke(client, second)).toBe(200)
  expect(performance.now() - startedAt).toBeLessThan(LEASE_MS)
  expect([...(await everywhere(first)), ...(await everywhere(second))]).toEqual([401, 401, 401, 401])
  await system.toRedis.set({ kind: 'pass' })
})

test('while Redis and auth are both unreachable, a request with a token gets 503, even with a cached token', {
  timeout: 30_000,
}, async () => {
  const token = await known()
  await system.toRedis.set({ kind: 'refuse' })
  await system.toAuth.set({ kind: 'refuse' })
  await expect.poll(() => system.read(token), { timeout: 5_000, interval: 50 }).toBe(503)
  await system.toRedis.set({ kind: 'pass' })
  await system.toAuth.set({ kind: 'pass' })
  await leased()
})

const LOSSES: [string, () => Promise<unknown>][] = [
  ['is emptied (FLUSHALL)', () => system.admin.flushall()],
  ['loses the shared hash alone', () => system.admin.del('revocation:state')],
  [
    'is killed and starts empty',
    async () => {
      await system.redis.stop('SIGKILL')
      await system.redis.start()
    },
  ],
  [
    'takes over as a replica that knows an older copy',
    async () => {
      await system.admin.replicaof('127.0.0.1', 9)
      await system.admin.replicaof('NO', 'ONE')
    },
  ],
]
test.for(LOSSES)(
  'when Redis %s, requests are slower but never wrong',
  { timeout: 30_000 },
  async ([_what, lose]) => {
    const token = await known()
    await lose()
    // Wait until a request gets 200 again.
    await expect.poll(() => system.revoke(client, token), { timeout: 10_000, interval: 5 }).toBe(200)
    expect(await everywhere(token)).toEqual([401, 401])
    await leased()
    const next = await known()
    expect(await system.revoke(client, next, 1)).toBe(200)
    expect(await everywhere(next)).toEqual([401, 401])
  },
)

test('neither app logs a token', () => {
  expect(system.logged.join('')).not.toMatch(/ppt_[A-Za-z0-9_-]{10}/)
})
