import type { AppName } from '@plainpath/metadata'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basic, form, type HttpResponse, json, type Sender } from '../send.ts'
import { openSystem, type System } from './open-system.ts'
import { whenCounted } from './when-counted.ts'

/** Production limits, with two processes of each app that share Redis. */
const resources = new AsyncDisposableStack()
let system: System
beforeAll(async () => {
  system = resources.use(await openSystem({ limitsFactor: 1 }))
})
afterAll(() => resources.disposeAsync())

let lastAddress = 0
/** Returns a client address that no test has used. */
const newAddress = () => {
  lastAddress += 1
  return `127.1.${Math.floor(lastAddress / 200)}.${(lastAddress % 200) + 1}`
}
const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))
const statuses = (responses: readonly HttpResponse[]) => {
  const counted: Record<number, number> = {}
  for (const { status } of responses) counted[status] = (counted[status] ?? 0) + 1
  return counted
}
const register = (sender: Sender, headers: Record<string, string> = {}) =>
  sender.send({ method: 'POST', path: '/api/agent/register', headers })
const authenticate = (sender: Sender, id: string, secret: string) => {
  const body = form({ grant_type: 'client_credentials' })
  return sender.send({
    method: 'POST',
    path: '/oauth/token',
    ...body,
    headers: { ...body.headers, ...basic(id, secret) },
  })
}
/** Sends directly to both processes of an app in turn: from 127.0.0.1 like the gateway, or from another address. */
function direct(app: AppName, options: { from?: string } = {}) {
  const host = new URL(system.origin).host
  const senders = system.stack[app].map(({ ports }) =>
    system.client({ url: `http://127.0.0.1:${ports.public}`, ...options }),
  )
  let turn = 0
  const send: Sender['send'] = (sent) => {
    turn += 1
    return senders[turn % senders.length]!.send({ ...sent, headers: { host, ...sent.headers } })
  }
  return { send, [Symbol.dispose]: () => {} }
}

/** Shifts the counts in Redis into the past. */
async function makeOlder(seconds: number): Promise<void> {
  const redis = new Redis(system.stack.redis.adminUrl)
  const keys = await redis.keys('*:limit:*')
  for (const key of keys) {
    const parts = JSON.parse((await redis.get(key)) ?? '[]') as [number, number, number][]
    const older = parts.map(([from, last, count]) => [from - seconds * 1000, last - seconds * 1000, count])
    if (parts.length > 0) await redis.set(key, JSON.stringify(older), 'KEEPTTL')
  }
  redis.disconnect()
}

describe('two processes behind the gateway count together:', () => {
  test('an address registers 20 agents in ten minutes, and another address its own 20', () =>
    whenCounted(system.stack, async () => {
      const [one, other] = [system.client({ from: newAddress() }), system.client({ from: newAddress() })]
      const responses = await times(30, () => register(one))
      expect(statuses(responses)).toEqual({ 201: 20, 429: 10 })
      expect(statuses(await times(25, () => register(other)))).toEqual({ 201: 20, 429: 5 })
      const refused = responses.find(({ status }) => status === 429)
      expect(JSON.parse(refused?.text ?? '')).toMatchObject({
        code: 'rate-limited',
        policy: 'register-address',
      })
    }))

  test('of bursts on both sides of a window’s edge, all processes together accept one quota', () =>
    whenCounted(system.stack, async () => {
      const sender = system.client({ from: newAddress() })
      expect(statuses(await times(15, () => register(sender)))).toEqual({ 201: 15 })
      await makeOlder(550)
      expect(statuses(await times(20, () => register(sender)))).toEqual({ 201: 5, 429: 15 })
      await makeOlder(80)
      expect(statuses(await times(20, () => register(sender)))).toEqual({ 201: 15, 429: 5 })
    }))

  test('an address reads 120 times a minute without a token, and joins 120 times an hour', () =>
    whenCounted(system.stack, async () => {
      const sender = system.client({ from: newAddress() })
      const reads = statuses(await times(130, () => sender.send({ path: '/api/guides?limit=1' })))
      // Each of the two processes may hold prefetched rate-limit tokens, a batch of ten at most (decision 14).
      expect(reads[200]).toBeGreaterThanOrEqual(100)
      expect(reads[200]).toBeLessThanOrEqual(120)
      expect(reads[429]).toBe(130 - Number(reads[200]))
      const joins = await times(130, () =>
        sender.send({ method: 'POST', path: '/api/waitlist', ...json({ email: 'none' }) }),
      )
      expect(statuses(joins)).toEqual({ 400: 120, 429: 10 })
      // Requests with a token are still served.
      const agent = await system.register(system.client({ from: newAddress() }))
      const token = await system.token(agent, system.client({ from: newAddress() }))
      const headers = { authorization: `Bearer ${token}` }
      expect((await sender.send({ path: '/api/guides?limit=1', headers })).status).toBe(200)
    }))

  test('one mailbox joins five times an hour, from any address and in any spelling', () =>
    whenCounted(system.stack, async () => {
      const email = system.newEmail()
      const spellings = [email, email.toUpperCase(), ` ${email} `]
      const responses = await times(9, (n) =>
        system
          .client({ from: newAddress() })
          .send({ method: 'POST', path: '/api/waitlist', ...json({ email: spellings[n % 3] }) }),
      )
      expect(statuses(responses)).toEqual({ 200: 4, 201: 1, 429: 4 })
    }))
})

describe('a forged header changes nothing:', () => {
  const forged = (n: number) => ({
    'x-forwarded-for': `198.51.100.${n}`,
    'x-real-ip': `198.51.100.${n}`,
    'cf-connecting-ip': `198.51.100.${n}`,
    'true-client-ip': `198.51.100.${n}`,
    'x-client-ip': `198.51.100.${n}`,
    forwarded: `for=198.51.100.${n}`,
  })

  test('a client behind the gateway does not escape its limit', () =>
    whenCounted(system.stack, async () => {
      const sender = system.client({ from: newAddress() })
      expect(statuses(await times(30, (n) => register(sender, forged(n))))).toEqual({ 201: 20, 429: 10 })
    }))

  test('a client does not use up the limit of another', () =>
    whenCounted(system.stack, async () => {
      const victim = newAddress()
      const attacker = system.client({ from: newAddress() })
      await times(30, () => register(attacker, { 'x-forwarded-for': victim }))
      await times(5, () => register(attacker, { 'x-forwarded-for': `${victim}, 127.0.0.1` }))
      expect(statuses(await times(20, () => register(system.client({ from: victim }))))).toEqual({ 201: 20 })
    }))

  test('a client that bypasses the gateway does not escape its limit', () =>
    whenCounted(system.stack, async () => {
      const sender = direct('auth', { from: newAddress() })
      expect(statuses(await times(30, (n) => register(sender, forged(n))))).toEqual({ 201: 20, 429: 10 })
    }))

  test.for([
    ['a port', (n: number) => `203.0.113.1:${1_000 + n}`],
    ['brackets and a port', (n: number) => `[2001:db8:aaaa:1::${n.toString(16)}]:443`],
    [
      'an IPv4 address in IPv6, in several spellings',
      (n: number) =>
        ['::ffff:203.0.113.9', '::ffff:cb00:7109', '203.0.113.9', '0:0:0:0:0:FFFF:203.0.113.9'][n % 4] ?? '',
    ],
    ['hops before the last one', (n: number) => `198.51.100.${n}, 10.0.0.${n}, 203.0.113.77`],
    [
      'two thousand hops',
      (n: number) => `${Array.from({ length: 700 }, () => `198.51.100.${n}`).join(', ')}, 203.0.113.78`,
    ],
  ] satisfies [string, (n: number) => string][])(
    'counts what the gateway calls one address together: %s',
    ([_what, said]) =>
      whenCounted(system.stack, async () => {
        const gateway = direct('auth')
        const responses = await times(30, (n) => register(gateway, { 'x-forwarded-for': said(n) }))
        expect(statuses(responses)).toEqual({ 201: 20, 429: 10 })
      }),
  )

  test('an invalid header from the gateway counts for the gateway', () =>
    whenCounted(system.stack, async () => {
      const gateway = direct('auth')
      const responses = await times(30, (n) =>
        register(gateway, { 'x-forwarded-for': ['unknown', '_hidden', '1.2.3', ',,', '%'][n % 5] ?? '' }),
      )
      expect(statuses(responses)).toEqual({ 201: 20, 429: 10 })
    }))
})

describe('IPv6, at two processes:', () => {
  test('a /64 counts as one address', () =>
    whenCounted(system.stack, async () => {
      const gateway = direct('auth')
      const responses = await times(40, (n) =>
        register(gateway, { 'x-forwarded-for': `2001:db8:1:1:${n.toString(16)}::1` }),
      )
      expect(statuses(responses)).toEqual({ 201: 20, 429: 20 })
      const neighbour = await register(gateway, { 'x-forwarded-for': '2001:db8:1:2::1' })
      expect(neighbour.status).toBe(201)
    }))

  test('a /48 has four times the limit over all its networks', () =>
    whenCounted(system.stack, async () => {
      const gateway = direct('auth')
      const responses = await times(120, (n) =>
        register(gateway, { 'x-forwarded-for': `2001:db8:2:${n.toString(16)}::1` }),
      )
      expect(statuses(responses)).toEqual({ 201: 80, 429: 40 })
      expect((await register(gateway, { 'x-forwarded-for': '2001:db8:3:1::1' })).status).toBe(201)
    }))
})

describe('a client cannot lock out another:', () => {
  test('failed authentications for a client affect neither its right secret nor other addresses', () =>
    whenCounted(system.stack, async () => {
      const agent = await system.register(system.client({ from: newAddress() }))
      const attacker = system.client({ from: newAddress() })
      const wrong = await times(40, () => authenticate(attacker, agent.client_id, 'a-wrong-secret'))
      expect(statuses(wrong)).toEqual({ 401: 20, 429: 20 })
      // The right secret is accepted even from the attacker's address.
      expect((await authenticate(attacker, agent.client_id, agent.client_secret)).status).toBe(200)
      const elsewhere = system.client({ from: newAddress() })
      expect((await authenticate(elsewhere, agent.client_id, 'a-wrong-secret')).status).toBe(401)
      expect((await authenticate(elsewhere, agent.client_id, agent.client_secret)).status).toBe(200)
    }))

  test('failed authentications do not count for another client at the same address', () =>
    whenCounted(system.stack, async () => {
      const address = newAddress()
      const [noisy, quiet] = [
        await system.register(system.client({ from: newAddress() })),
        await system.register(system.client({ from: newAddress() })),
      ]
      const sender = system.client({ from: address })
      await times(30, () => authenticate(sender, noisy.client_id, 'a-wrong-secret'))
      expect((await authenticate(sender, quiet.client_id, 'a-wrong-secret')).status).toBe(401)
      expect((await authenticate(sender, quiet.client_id, quiet.client_secret)).status).toBe(200)
    }))

  test('a client that has used up its tokens per minute does not affect other clients at its address', () =>
    whenCounted(system.stack, async () => {
      const sender = system.client({ from: newAddress() })
      const [busy, other] = [
        await system.register(system.client({ from: newAddress() })),
        await system.register(system.client({ from: newAddress() })),
      ]
      const responses = await times(130, () => authenticate(sender, busy.client_id, busy.client_secret))
      expect(statuses(responses)).toEqual({ 200: 120, 429: 10 })
      expect((await authenticate(sender, other.client_id, other.client_secret)).status).toBe(200)
    }))
})
