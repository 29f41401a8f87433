import type { AppName } from '@plainpath/metadata'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basic, form, type HttpResponse, json, type Sender } from '../send.ts'
import { openSystem, type System } from './open-system.ts'
import { repeatIfUncounted } from './repeat-if-uncounted.ts'

// Production limits, with two processes of each app that share Redis. The quotas that the tests expect are in
// `apps/auth/src/limits.ts` and `apps/resource/src/limits.ts`. Each test repeats itself if it fails while a process counts
// without Redis, see `repeatIfUncounted`.
const resources = new AsyncDisposableStack()
let system: System
beforeAll(async () => {
  system = resources.use(await openSystem({ limitsFactor: 1 }))
})
afterAll(() => resources.disposeAsync())

let lastAddress = 0
/** Returns a client address that no test has used. */
const takeNewAddress = () => {
  lastAddress += 1
  return `127.1.${Math.floor(lastAddress / 200)}.${(lastAddress % 200) + 1}`
}
/** Calls `work` `count` times simultaneously. */
const repeat = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const countStatuses = (responses: readonly HttpResponse[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const register = (sender: Sender, headers: Record<string, string> = {}) =>
  sender.send({ method: 'POST', path: '/api/agent/register', headers })
const requestToken = (sender: Sender, id: string, secret: string) => {
  const content = form({ grant_type: 'client_credentials' })
  return sender.send({
    method: 'POST',
    path: '/oauth/token',
    ...content,
    headers: { ...content.headers, ...basic(id, secret) },
  })
}
/**
 * Creates a sender that bypasses the gateway, and sends to both processes of an app in turn.
 *
 * @param options.from the client's address. The default is 127.0.0.1, which the apps trust as the gateway
 */
function createDirectSender(app: AppName, options: { from?: string } = {}) {
  const host = new URL(system.origin).host
  const senders = system.stack[app].map(({ ports }) =>
    system.createSender({ url: `http://127.0.0.1:${ports.public}`, ...options }),
  )
  let turn = 0
  const send: Sender['send'] = (request) => {
    turn += 1
    return senders[turn % senders.length]!.send({ ...request, headers: { host, ...request.headers } })
  }
  return { send, [Symbol.dispose]: () => {} }
}

/**
 * Shifts the counts in Redis into the past, as if so many seconds had passed. A count is a list of parts, each with the times of
 * its first and its last request and their number (`redis-limit-store.ts`).
 */
async function shiftCounts(seconds: number): Promise<void> {
  const redis = new Redis(system.stack.redis.adminUrl)
  const keys = await redis.keys('*:limit:*')
  for (const key of keys) {
    const parts = JSON.parse((await redis.get(key)) ?? '[]') as [number, number, number][]
    const shiftedParts = parts.map(([from, last, count]) => [
      from - seconds * 1000,
      last - seconds * 1000,
      count,
    ])
    if (parts.length > 0) await redis.set(key, JSON.stringify(shiftedParts), 'KEEPTTL')
  }
  redis.disconnect()
}

describe('two processes behind the gateway count together:', () => {
  test('an address may register 20 agents in ten minutes, and another address 20 more', () =>
    repeatIfUncounted(system.stack, async () => {
      const sender = system.createSender({ from: takeNewAddress() })
      const otherSender = system.createSender({ from: takeNewAddress() })
      const responses = await repeat(30, () => register(sender))
      expect(countStatuses(responses)).toEqual({ 201: 20, 429: 10 })
      expect(countStatuses(await repeat(25, () => register(otherSender)))).toEqual({ 201: 20, 429: 5 })
      const refusal = responses.find(({ status }) => status === 429)
      expect(JSON.parse(refusal?.text ?? '')).toMatchObject({
        code: 'rate-limited',
        policy: 'register-address',
      })
    }))

  test('an address gets one quota in any ten minutes, even with bursts on both sides of the edge of a window', () =>
    repeatIfUncounted(system.stack, async () => {
      const sender = system.createSender({ from: takeNewAddress() })
      expect(countStatuses(await repeat(15, () => register(sender)))).toEqual({ 201: 15 })
      // After 550 s, the 15 requests still count in the window of 600 s.
      await shiftCounts(550)
      expect(countStatuses(await repeat(20, () => register(sender)))).toEqual({ 201: 5, 429: 15 })
      // After 630 s, only the 5 later ones do.
      await shiftCounts(80)
      expect(countStatuses(await repeat(20, () => register(sender)))).toEqual({ 201: 15, 429: 5 })
    }))

  test('an address may send up to 120 reads without a token, and 120 waitlist requests', () =>
    repeatIfUncounted(system.stack, async () => {
      const sender = system.createSender({ from: takeNewAddress() })
      const reads = countStatuses(await repeat(130, () => sender.send({ path: '/api/guides?limit=1' })))
      // Each of the two processes may hold prefetched rate-limit tokens, a batch of ten at most (decision 14).
      expect(reads[200]).toBeGreaterThanOrEqual(100)
      expect(reads[200]).toBeLessThanOrEqual(120)
      expect(reads[429]).toBe(130 - Number(reads[200]))
      const joins = await repeat(130, () =>
        sender.send({ method: 'POST', path: '/api/waitlist', ...json({ email: 'none' }) }),
      )
      expect(countStatuses(joins)).toEqual({ 400: 120, 429: 10 })
      // Requests with a token are still served.
      const agent = await system.register(system.createSender({ from: takeNewAddress() }))
      const token = await system.issueToken(agent, system.createSender({ from: takeNewAddress() }))
      const headers = { authorization: `Bearer ${token}` }
      expect((await sender.send({ path: '/api/guides?limit=1', headers })).status).toBe(200)
    }))

  test('a mailbox may join the waitlist five times, counted over all addresses and spellings', () =>
    repeatIfUncounted(system.stack, async () => {
      const email = system.createEmail()
      const spellings = [email, email.toUpperCase(), ` ${email} `]
      // The first join gets 201, and later ones 200, because the address is on the list already.
      const responses = await repeat(9, (index) =>
        system
          .createSender({ from: takeNewAddress() })
          .send({ method: 'POST', path: '/api/waitlist', ...json({ email: spellings[index % 3] }) }),
      )
      expect(countStatuses(responses)).toEqual({ 200: 4, 201: 1, 429: 4 })
    }))
})

describe('a forged header changes nothing:', () => {
  const createForgedHeaders = (index: number) => ({
    'x-forwarded-for': `198.51.100.${index}`,
    'x-real-ip': `198.51.100.${index}`,
    'cf-connecting-ip': `198.51.100.${index}`,
    'true-client-ip': `198.51.100.${index}`,
    'x-client-ip': `198.51.100.${index}`,
    forwarded: `for=198.51.100.${index}`,
  })

  test('a client behind the gateway does not escape its limit', () =>
    repeatIfUncounted(system.stack, async () => {
      const sender = system.createSender({ from: takeNewAddress() })
      const responses = await repeat(30, (index) => register(sender, createForgedHeaders(index)))
      expect(countStatuses(responses)).toEqual({ 201: 20, 429: 10 })
    }))

  test('a client does not use up the limit of another', () =>
    repeatIfUncounted(system.stack, async () => {
      const victim = takeNewAddress()
      const attacker = system.createSender({ from: takeNewAddress() })
      await repeat(30, () => register(attacker, { 'x-forwarded-for': victim }))
      // 127.0.0.1 is the address of the gateway, which the apps trust.
      await repeat(5, () => register(attacker, { 'x-forwarded-for': `${victim}, 127.0.0.1` }))
      const responses = await repeat(20, () => register(system.createSender({ from: victim })))
      expect(countStatuses(responses)).toEqual({ 201: 20 })
    }))

  test('a client that bypasses the gateway does not escape its limit', () =>
    repeatIfUncounted(system.stack, async () => {
      const sender = createDirectSender('auth', { from: takeNewAddress() })
      const responses = await repeat(30, (index) => register(sender, createForgedHeaders(index)))
      expect(countStatuses(responses)).toEqual({ 201: 20, 429: 10 })
    }))

  test.for([
    ['a port', (index: number) => `203.0.113.1:${1_000 + index}`],
    ['brackets and a port', (index: number) => `[2001:db8:aaaa:1::${index.toString(16)}]:443`],
    [
      'an IPv4 address in IPv6, in several spellings',
      (index: number) =>
        ['::ffff:203.0.113.9', '::ffff:cb00:7109', '203.0.113.9', '0:0:0:0:0:FFFF:203.0.113.9'][index % 4] ??
        '',
    ],
    ['two hops before the last one', (index: number) => `198.51.100.${index}, 10.0.0.${index}, 203.0.113.77`],
    [
      '700 hops before the last one',
      (index: number) =>
        `${Array.from({ length: 700 }, () => `198.51.100.${index}`).join(', ')}, 203.0.113.78`,
    ],
  ] satisfies [string, (index: number) => string][])(
    'requests for which the gateway names one address count together: %s',
    ([_description, formatHeader]) =>
      repeatIfUncounted(system.stack, async () => {
        const gateway = createDirectSender('auth')
        const responses = await repeat(30, (index) =>
          register(gateway, { 'x-forwarded-for': formatHeader(index) }),
        )
        expect(countStatuses(responses)).toEqual({ 201: 20, 429: 10 })
      }),
  )

  test('requests with invalid headers from the gateway count for the address of the gateway', () =>
    repeatIfUncounted(system.stack, async () => {
      const gateway = createDirectSender('auth')
      const responses = await repeat(30, (index) =>
        register(gateway, { 'x-forwarded-for': ['unknown', '_hidden', '1.2.3', ',,', '%'][index % 5] ?? '' }),
      )
      expect(countStatuses(responses)).toEqual({ 201: 20, 429: 10 })
    }))
})

describe('IPv6, at two processes:', () => {
  test('a /64 counts as one address', () =>
    repeatIfUncounted(system.stack, async () => {
      const gateway = createDirectSender('auth')
      const responses = await repeat(40, (index) =>
        register(gateway, { 'x-forwarded-for': `2001:db8:1:1:${index.toString(16)}::1` }),
      )
      expect(countStatuses(responses)).toEqual({ 201: 20, 429: 20 })
      const neighbour = await register(gateway, { 'x-forwarded-for': '2001:db8:1:2::1' })
      expect(neighbour.status).toBe(201)
    }))

  test('a /48 has four times the limit of an address, over all its networks', () =>
    repeatIfUncounted(system.stack, async () => {
      const gateway = createDirectSender('auth')
      const responses = await repeat(120, (index) =>
        register(gateway, { 'x-forwarded-for': `2001:db8:2:${index.toString(16)}::1` }),
      )
      expect(countStatuses(responses)).toEqual({ 201: 80, 429: 40 })
      expect((await register(gateway, { 'x-forwarded-for': '2001:db8:3:1::1' })).status).toBe(201)
    }))
})

describe('a client cannot lock out another:', () => {
  test('failed authentications block neither the right secret of the client nor other addresses', () =>
    repeatIfUncounted(system.stack, async () => {
      const agent = await system.register(system.createSender({ from: takeNewAddress() }))
      const attacker = system.createSender({ from: takeNewAddress() })
      const failures = await repeat(40, () => requestToken(attacker, agent.client_id, 'a-wrong-secret'))
      expect(countStatuses(failures)).toEqual({ 401: 20, 429: 20 })
      // The right secret is accepted even from the attacker's address.
      expect((await requestToken(attacker, agent.client_id, agent.client_secret)).status).toBe(200)
      const otherAddress = system.createSender({ from: takeNewAddress() })
      expect((await requestToken(otherAddress, agent.client_id, 'a-wrong-secret')).status).toBe(401)
      expect((await requestToken(otherAddress, agent.client_id, agent.client_secret)).status).toBe(200)
    }))

  test('failed authentications do not count for another client at the same address', () =>
    repeatIfUncounted(system.stack, async () => {
      const address = takeNewAddress()
      const [noisy, quiet] = [
        await system.register(system.createSender({ from: takeNewAddress() })),
        await system.register(system.createSender({ from: takeNewAddress() })),
      ]
      const sender = system.createSender({ from: address })
      await repeat(30, () => requestToken(sender, noisy.client_id, 'a-wrong-secret'))
      expect((await requestToken(sender, quiet.client_id, 'a-wrong-secret')).status).toBe(401)
      expect((await requestToken(sender, quiet.client_id, quiet.client_secret)).status).toBe(200)
    }))

  test('a client that has used up its limit for tokens does not affect other clients at its address', () =>
    repeatIfUncounted(system.stack, async () => {
      const sender = system.createSender({ from: takeNewAddress() })
      const [busy, other] = [
        await system.register(system.createSender({ from: takeNewAddress() })),
        await system.register(system.createSender({ from: takeNewAddress() })),
      ]
      const responses = await repeat(130, () => requestToken(sender, busy.client_id, busy.client_secret))
      expect(countStatuses(responses)).toEqual({ 200: 120, 429: 10 })
      expect((await requestToken(sender, other.client_id, other.client_secret)).status).toBe(200)
    }))
})
