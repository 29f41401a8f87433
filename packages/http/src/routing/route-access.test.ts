import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../test/start-service.ts'
import { authenticators, createWhoRoute } from '../../test/who-route.ts'
import type { LimitPolicy } from '../limits/limit-store.ts'
import { Problem } from '../problems/problem.ts'
import type { Authenticators } from './mount-routes.ts'
import { defineRoute, type Route } from './route.ts'

/** Starts a service that accepts `Bearer good`, with the scope `guides:read`, and `Basic good`, both for the client `agt_1`. */
const start = (...routes: Route[]) => startService({ routes, authenticators })

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

describe('access:', () => {
  const routes = [
    createWhoRoute('/open', 'open'),
    createWhoRoute('/public', 'public'),
    createWhoRoute('/scoped', { scopes: ['guides:read'] }),
    createWhoRoute('/more', { scopes: ['guides:read', 'contact:write'] }),
    createWhoRoute('/client', 'client'),
  ]
  test.for([
    { path: '/open', authorization: undefined, status: 200, caller: null },
    { path: '/open', authorization: 'Bearer bad', status: 200, caller: null },
    { path: '/public', authorization: undefined, status: 200, caller: null },
    { path: '/public', authorization: 'Bearer good', status: 200, caller: 'agt_1' },
    { path: '/public', authorization: 'Bearer bad', status: 401 },
    { path: '/public', authorization: 'nonsense', status: 401 },
    { path: '/scoped', authorization: undefined, status: 401 },
    { path: '/scoped', authorization: 'Bearer good', status: 200, caller: 'agt_1' },
    { path: '/more', authorization: 'Bearer good', status: 403 },
    { path: '/client', authorization: undefined, status: 401 },
    { path: '/client', authorization: 'Bearer good', status: 401 },
    { path: '/client', authorization: 'Basic good', status: 200, caller: 'agt_1' },
  ])('$path with $authorization is $status', async ({ path, authorization, status, caller }) => {
    await using service = await start(...routes)
    const response = await fetch(`${service.url}${path}`, { headers: authorization ? { authorization } : {} })
    expect(response.status).toBe(status)
    if (status === 200) expect(await response.json()).toEqual({ caller })
  })

  test('responds with 500 on routes whose authenticator is missing', async () => {
    await using service = await startService({ routes })
    for (const path of ['/scoped', '/client']) {
      expect(
        (await fetch(`${service.url}${path}`, { headers: { authorization: 'Bearer good' } })).status,
      ).toBe(500)
    }
  })

  test('responds with 500 to a caller with a proof that the app cannot mark as used', async () => {
    const bearer: Authenticators['bearer'] = async () => ({
      clientId: 'agt_1',
      scopes: new Set(),
      proof: { jkt: 'key', jti: 'one', iat: 0 },
    })
    await using service = await startService({
      routes: [createWhoRoute('/a', 'public')],
      authenticators: { bearer },
    })
    const response = await fetch(`${service.url}/a`, { headers: { authorization: 'DPoP good' } })
    expect(response.status).toBe(500)
  })
})

describe('limits', () => {
  const createPolicy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
  const fetchStatuses = async (url: string, count: number, headers: Record<string, string> = {}) => {
    const statuses = []
    for (let index = 0; index < count; index += 1) statuses.push((await fetch(url, { headers })).status)
    return statuses
  }

  test('count an address before authentication', async () => {
    const limits = { address: [createPolicy('address', 2)] }
    await using service = await start(createWhoRoute('/a', { scopes: [] }, limits))
    const badToken = { authorization: 'Bearer bad' }
    expect(await fetchStatuses(`${service.url}/a`, 3, badToken)).toEqual([401, 401, 429])
    const refusal = await fetch(`${service.url}/a`, { headers: { authorization: 'Bearer good' } })
    expect(await refusal.json()).toMatchObject({ code: 'rate-limited', policy: 'address' })
    expect(refusal.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  })

  test('count a client before its proof is marked as used, and refuse a proof that was used', async () => {
    const usedProofs: string[] = []
    const proof = { jkt: 'key', jti: 'one', iat: 0 }
    const withProofs: Authenticators = {
      bearer: async (ctx) => ({
        clientId: 'agt_1',
        scopes: new Set(),
        proof: { ...proof, jti: ctx.get('dpop') },
      }),
      async useProof(_ctx, scopes, { jti }) {
        if (usedProofs.includes(jti)) throw new Problem('invalid-token-proof')
        usedProofs.push(jti, ...scopes)
      },
    }
    const route = createWhoRoute('/a', { scopes: ['guides:read'] }, { client: [createPolicy('client', 2)] })
    await using service = await startService({ routes: [route], authenticators: withProofs })
    const send = async (dpop: string) =>
      (await fetch(`${service.url}/a`, { headers: { authorization: 'DPoP good', dpop } })).status
    // The third request exceeds the client's limit, so its proof is not marked.
    expect([await send('one'), await send('one'), await send('two')]).toEqual([200, 401, 429])
    expect(usedProofs).toEqual(['one', 'guides:read'])
  })

  test('count an authenticated client separately from its address', async () => {
    const limits = { address: [createPolicy('address', 100)], client: [createPolicy('client', 2)] }
    await using service = await start(createWhoRoute('/a', 'public', limits))
    const goodToken = { authorization: 'Bearer good' }
    expect(await fetchStatuses(`${service.url}/a`, 3, goodToken)).toEqual([200, 200, 429])
    expect(await fetchStatuses(`${service.url}/a`, 2)).toEqual([200, 200])
    const { headers } = await fetch(`${service.url}/a`, { headers: goodToken })
    expect(headers.get('ratelimit-policy')).toBe('"address";q=100;w=60, "client";q=2;w=60')
  })

  test('count requests without Authorization under anonymous policies', async () => {
    await using service = await start(
      createWhoRoute('/a', 'public', { anonymous: [createPolicy('anonymous', 2)] }),
    )
    expect(await fetchStatuses(`${service.url}/a`, 3)).toEqual([200, 200, 429])
    const goodToken = { authorization: 'Bearer good' }
    expect(await fetchStatuses(`${service.url}/a`, 3, goodToken)).toEqual([200, 200, 200])
  })

  test('cannot be avoided by an Authorization header on an open route', async () => {
    await using service = await start(
      createWhoRoute('/a', 'open', { anonymous: [createPolicy('anonymous', 2)] }),
    )
    expect(await fetchStatuses(`${service.url}/a`, 3, { authorization: 'x' })).toEqual([200, 200, 429])
  })

  test('can be counted by a handler, for a subject that only it knows', async () => {
    const emailPolicy = createPolicy('email', 1)
    const route = defineRoute({
      method: 'post',
      path: '/mail',
      operationId: 'mail',
      summary: '',
      access: 'open',
      limits: {},
      request: { body: z.object({ email: z.string() }) },
      responses: { 204: null },
      async handle({ body, request }) {
        await request.take(emailPolicy, body.email)
        return { status: 204 }
      },
    })
    await using service = await start(route)
    const send = async (address: string) => (await post(`${service.url}/mail`, { email: address })).status
    expect([await send('a'), await send('a'), await send('b')]).toEqual([204, 429, 204])
  })

  test('keep a refused request from the handler and from validation', async () => {
    let handledCount = 0
    const route: Route = {
      method: 'post',
      path: '/a',
      operationId: 'a',
      summary: '',
      access: 'open',
      limits: { address: [createPolicy('address', 1)] },
      request: { body: z.object({}) },
      responses: { 204: null },
      handle() {
        handledCount += 1
        return { status: 204 }
      },
    }
    await using service = await start(route)
    expect((await post(`${service.url}/a`, {})).status).toBe(204)
    expect((await post(`${service.url}/a`, 'nonsense')).status).toBe(429)
    expect(handledCount).toBe(1)
  })
})
