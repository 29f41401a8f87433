import { describe, expect, test } from 'vitest'
import { startService } from '../../test/start-service.ts'
import { defineRoute } from '../index.ts'
import { createLog } from '../observability/log.ts'
import { type Caller, type RouteLimits } from '../routing/route.ts'
import { createMemoryLimitStore, type LimitPolicy } from './limit-store.ts'
import { createLimiter, createTakeLocally } from './limiter.ts'

const policy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
const LIMITS: RouteLimits = {
  client: [policy('client', 2)],
  verified: [policy('verified', 4)],
  domain: [policy('domain', 6)],
}
const at = (host: string, path = '/agent'): Caller => ({
  clientId: `https://${host}${path}`,
  verifiedDomain: host,
  scopes: new Set(),
})
const registered = (clientId: string): Caller => ({ clientId, scopes: new Set() })

/** Names of the policies that count, with what is left; of a refused request, the policy that refuses. */
type Take = (caller: Caller) => Promise<string[]>
const now = () => new Date(Date.UTC(2026, 10, 22, 12))

async function startRoute(): Promise<{ take: Take } & AsyncDisposable> {
  const state: { caller?: Caller } = {}
  const service = await startService({
    limiter: createLimiter({
      store: createMemoryLimitStore(now),
      factor: 1,
      now,
      log: createLog({ service: 'test', write: () => {} }),
    }),
    authenticators: { client: async () => state.caller ?? registered('nobody') },
    routes: [
      defineRoute({
        method: 'get',
        path: '/limited',
        operationId: 'limited',
        summary: 'A route with limits',
        access: 'client',
        limits: LIMITS,
        responses: { 204: null },
        handle: () => ({ status: 204 }),
      }),
    ],
  })
  return {
    async take(caller) {
      state.caller = caller
      const response = await fetch(`${service.url}/limited`)
      if (response.status === 429)
        return [`refused by ${((await response.json()) as { policy: string }).policy}`]
      return [...(response.headers.get('ratelimit') ?? '').matchAll(/"([a-z]+)";r=(\d+)/g)].map(
        ([, name, left]) => `${name} ${left}`,
      )
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

async function startLocal(): Promise<{ take: Take } & AsyncDisposable> {
  const take = createTakeLocally({ store: createMemoryLimitStore(now), factor: 1, now })
  return {
    async take(caller) {
      const states = take(LIMITS, '203.0.113.7', caller)
      return states?.map(({ policy: { name }, remaining }) => `${name} ${remaining}`) ?? ['left to the app']
    },
    async [Symbol.asyncDispose]() {},
  }
}

describe.for([
  ['by the route', startRoute, 'refused by'],
  ['without waiting', startLocal, 'left to the app'],
] as const)('counted %s,', ([_where, start, refused]) => {
  test('a registered client has its own limit, also when its id looks like a domain', async () => {
    await using counted = await start()
    for (const id of ['agt_a', 'https://agent.example.org/agent']) {
      expect(await counted.take(registered(id))).toEqual(['client 1'])
      expect(await counted.take(registered(id))).toEqual(['client 0'])
      expect((await counted.take(registered(id))).join()).toContain(refused)
    }
  })

  test('a client with a verified domain has a higher one', async () => {
    await using counted = await start()
    for (const left of [3, 2, 1, 0])
      expect(await counted.take(at('agent.example.org'))).toEqual([`verified ${left}`, `domain ${left + 2}`])
    expect((await counted.take(at('agent.example.org'))).join()).toContain(refused)
  })

  test('clients of one registrable domain share a limit, whatever their hosts and paths', async () => {
    await using counted = await start()
    for (const n of [5, 4, 3, 2, 1, 0])
      expect(await counted.take(at(`h${n}.example.org`, `/${n}`))).toEqual(['verified 3', `domain ${n}`])
    expect((await counted.take(at('another.example.org'))).join()).toContain(refused)
    expect(await counted.take(at('agent.example.net'))).toEqual(['verified 3', 'domain 5'])
  })

  test('two domains under a public suffix share nothing', async () => {
    await using counted = await start()
    for (const n of [1, 2, 3, 4, 5, 6]) await counted.take(at('one.github.io', `/${n}`))
    expect((await counted.take(at('one.github.io', '/7'))).join()).toContain(refused)
    expect(await counted.take(at('two.github.io'))).toEqual(['verified 3', 'domain 5'])
  })

  test('a request that the limit of the client refuses does not count for its domain', async () => {
    await using counted = await start()
    for (let n = 0; n < 20; n += 1) await counted.take(at('agent.example.org', '/busy'))
    expect(await counted.take(at('agent.example.org', '/other'))).toEqual(['verified 3', 'domain 1'])
  })
})

test('clients of one domain share its limit from every address', async () => {
  const local = createTakeLocally({ store: createMemoryLimitStore(now), factor: 1, now })
  const shared: RouteLimits = { verified: [policy('verified', 9)], domain: [policy('domain', 2)] }
  expect(local(shared, '203.0.113.7', at('a.example.org'))).toHaveLength(2)
  expect(local(shared, '198.51.100.9', at('b.example.org'))).toHaveLength(2)
  expect(local(shared, '192.0.2.1', at('c.example.org'))).toBeUndefined()
})
