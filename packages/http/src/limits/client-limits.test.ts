import { describe, expect, test } from 'vitest'
import { startService } from '../../test/start-service.ts'
import { defineRoute } from '../index.ts'
import { createLog } from '../observability/log.ts'
import { type Caller, type RouteLimits } from '../routing/route.ts'
import { createMemoryLimitStore, type LimitPolicy } from './limit-store.ts'
import { createLimiter, createTakeLocally } from './limiter.ts'

const createPolicy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
const LIMITS: RouteLimits = {
  client: [createPolicy('client', 2)],
  verified: [createPolicy('verified', 4)],
  domain: [createPolicy('domain', 6)],
}
const createUrlClient = (host: string, path = '/agent'): Caller => ({
  clientId: `https://${host}${path}`,
  verifiedDomain: host,
  scopes: new Set(),
})
const createRegisteredClient = (clientId: string): Caller => ({ clientId, scopes: new Set() })

/** Counts a request. Returns each policy's name and remaining quota, or a single string if a limit refuses the request. */
type Take = (caller: Caller) => Promise<string[]>
const now = () => new Date(Date.UTC(2026, 10, 22, 12))

/** Starts a service with one limited route. `take` sends a request to the route. */
async function startRoute(): Promise<{ take: Take } & AsyncDisposable> {
  const state: { caller?: Caller } = {}
  const service = await startService({
    limiter: createLimiter({
      store: createMemoryLimitStore(now),
      factor: 1,
      now,
      log: createLog({ service: 'test', write: () => {} }),
    }),
    authenticators: {
      client: async () => ({ ...(state.caller ?? createRegisteredClient('nobody')), credentialVersion: 1 }),
    },
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
        ([, name, remaining]) => `${name} ${remaining}`,
      )
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

/** Counts with `createTakeLocally` alone, without a service. */
async function startTakingLocally(): Promise<{ take: Take } & AsyncDisposable> {
  const takeLocally = createTakeLocally({ store: createMemoryLimitStore(now), factor: 1, now })
  return {
    async take(caller) {
      const states = takeLocally(LIMITS, '203.0.113.7', caller)
      return states?.map(({ policy: { name }, remaining }) => `${name} ${remaining}`) ?? ['left to the app']
    },
    async [Symbol.asyncDispose]() {},
  }
}

describe.for([
  ['by the route', startRoute, 'refused by'],
  ['by takeLocally', startTakingLocally, 'left to the app'],
] as const)('client limits counted %s', ([_where, start, refusal]) => {
  test('give a registered client its own limit, even if its id is a URL', async () => {
    await using limits = await start()
    for (const id of ['agt_a', 'https://agent.example.org/agent']) {
      expect(await limits.take(createRegisteredClient(id))).toEqual(['client 1'])
      expect(await limits.take(createRegisteredClient(id))).toEqual(['client 0'])
      expect((await limits.take(createRegisteredClient(id))).join()).toContain(refusal)
    }
  })

  test('give a client with a verified domain a higher limit', async () => {
    await using limits = await start()
    for (const remaining of [3, 2, 1, 0])
      expect(await limits.take(createUrlClient('agent.example.org'))).toEqual([
        `verified ${remaining}`,
        `domain ${remaining + 2}`,
      ])
    expect((await limits.take(createUrlClient('agent.example.org'))).join()).toContain(refusal)
  })

  test('are shared by the clients of one registrable domain, at different hosts and paths', async () => {
    await using limits = await start()
    for (const remaining of [5, 4, 3, 2, 1, 0]) {
      const client = createUrlClient(`h${remaining}.example.org`, `/${remaining}`)
      expect(await limits.take(client)).toEqual(['verified 3', `domain ${remaining}`])
    }
    expect((await limits.take(createUrlClient('another.example.org'))).join()).toContain(refusal)
    expect(await limits.take(createUrlClient('agent.example.net'))).toEqual(['verified 3', 'domain 5'])
  })

  test('are not shared by two domains under a public suffix', async () => {
    await using limits = await start()
    for (const index of [1, 2, 3, 4, 5, 6]) await limits.take(createUrlClient('one.github.io', `/${index}`))
    expect((await limits.take(createUrlClient('one.github.io', '/7'))).join()).toContain(refusal)
    expect(await limits.take(createUrlClient('two.github.io'))).toEqual(['verified 3', 'domain 5'])
  })

  test('do not count a request against the domain if the limit of the client refuses it', async () => {
    await using limits = await start()
    const busyClient = createUrlClient('agent.example.org', '/busy')
    for (let index = 0; index < 20; index += 1) await limits.take(busyClient)
    // Of the 20 requests, four are within the client's own quota. Only these count against the domain's quota of six.
    const otherClient = createUrlClient('agent.example.org', '/other')
    expect(await limits.take(otherClient)).toEqual(['verified 3', 'domain 1'])
  })
})

test('takeLocally counts the clients of one domain together, from different addresses', async () => {
  const takeLocally = createTakeLocally({ store: createMemoryLimitStore(now), factor: 1, now })
  const limits: RouteLimits = { verified: [createPolicy('verified', 9)], domain: [createPolicy('domain', 2)] }
  expect(takeLocally(limits, '203.0.113.7', createUrlClient('a.example.org'))).toHaveLength(2)
  expect(takeLocally(limits, '198.51.100.9', createUrlClient('b.example.org'))).toHaveLength(2)
  expect(takeLocally(limits, '192.0.2.1', createUrlClient('c.example.org'))).toBeUndefined()
})
