import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../test/start-service.ts'
import { authenticators, who } from '../../test/who-route.ts'
import type { LimitPolicy } from '../limits/limit-store.ts'
import { Problem } from '../problems/problem.ts'
import type { Authenticators } from './mount-routes.ts'
import { defineRoute, type Route } from './route.ts'

const start = (...routes: Route[]) => startService({ routes, authenticators })

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

describe('access:', () => {
  const routes = [
    who('/open', 'open'),
    who('/public', 'public'),
    who('/scoped', { scopes: ['guides:read'] }),
    who('/more', { scopes: ['guides:read', 'contact:write'] }),
    who('/client', 'client'),
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

  test('refuses everybody on a route whose authenticator is missing', async () => {
    await using service = await startService({ routes })
    for (const path of ['/scoped', '/client']) {
      expect(
        (await fetch(`${service.url}${path}`, { headers: { authorization: 'Bearer good' } })).status,
      ).toBe(500)
    }
  })
})

describe('limits', () => {
  const policy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
  const statuses = async (url: string, count: number, headers: Record<string, string> = {}) => {
    const found = []
    for (let index = 0; index < count; index += 1) found.push((await fetch(url, { headers })).status)
    return found
  }

  test('count an address before authentication', async () => {
    await using service = await start(who('/a', { scopes: [] }, { address: [policy('address', 2)] }))
    expect(await statuses(`${service.url}/a`, 3, { authorization: 'Bearer bad' })).toEqual([401, 401, 429])
    const refused = await fetch(`${service.url}/a`, { headers: { authorization: 'Bearer good' } })
    expect(await refused.json()).toMatchObject({ code: 'rate-limited', policy: 'address' })
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  })

  test('count a client before its proof is marked as used, and refuse a proof that was used', async () => {
    const used: string[] = []
    const proof = { jkt: 'key', jti: 'one', iat: 0 }
    const withProofs: Authenticators = {
      bearer: async (ctx) => ({
        clientId: 'agt_1',
        scopes: new Set(),
        proof: { ...proof, jti: ctx.get('dpop') },
      }),
      async useProof(_ctx, scopes, { jti }) {
        if (used.includes(jti)) throw new Problem('invalid-token-proof')
        used.push(jti, ...scopes)
      },
    }
    const route = who('/a', { scopes: ['guides:read'] }, { client: [policy('client', 2)] })
    await using service = await startService({ routes: [route], authenticators: withProofs })
    const send = async (dpop: string) =>
      (await fetch(`${service.url}/a`, { headers: { authorization: 'DPoP good', dpop } })).status
    expect([await send('one'), await send('one'), await send('two')]).toEqual([200, 401, 429])
    expect(used).toEqual(['one', 'guides:read'])
  })

  test('an app that cannot mark proofs as used serves no caller with one', async () => {
    const bearer: Authenticators['bearer'] = async () => ({
      clientId: 'agt_1',
      scopes: new Set(),
      proof: { jkt: 'key', jti: 'one', iat: 0 },
    })
    await using service = await startService({ routes: [who('/a', 'public')], authenticators: { bearer } })
    const response = await fetch(`${service.url}/a`, { headers: { authorization: 'DPoP good' } })
    expect(response.status).toBe(500)
  })

  test('count an authenticated client from any address', async () => {
    const limits = { address: [policy('address', 100)], client: [policy('client', 2)] }
    await using service = await start(who('/a', 'public', limits))
    expect(await statuses(`${service.url}/a`, 3, { authorization: 'Bearer good' })).toEqual([200, 200, 429])
    expect(await statuses(`${service.url}/a`, 2)).toEqual([200, 200])
    const { headers } = await fetch(`${service.url}/a`, { headers: { authorization: 'Bearer good' } })
    expect(headers.get('ratelimit-policy')).toBe('"address";q=100;w=60, "client";q=2;w=60')
  })

  test('count requests without Authorization under anonymous policies', async () => {
    await using service = await start(who('/a', 'public', { anonymous: [policy('anonymous', 2)] }))
    expect(await statuses(`${service.url}/a`, 3)).toEqual([200, 200, 429])
    expect(await statuses(`${service.url}/a`, 3, { authorization: 'Bearer good' })).toEqual([200, 200, 200])
  })

  test('cannot be avoided by a header on an open route', async () => {
    await using service = await start(who('/a', 'open', { anonymous: [policy('anonymous', 2)] }))
    expect(await statuses(`${service.url}/a`, 3, { authorization: 'x' })).toEqual([200, 200, 429])
  })

  test('can be counted by a handler, for a subject that only it knows', async () => {
    const email = policy('email', 1)
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
        await request.take(email, body.email)
        return { status: 204 }
      },
    })
    await using service = await start(route)
    const send = async (address: string) => (await post(`${service.url}/mail`, { email: address })).status
    expect([await send('a'), await send('a'), await send('b')]).toEqual([204, 429, 204])
  })

  test('keep a refused request from the handler, and its body unread', async () => {
    let handled = 0
    const counting: Route = {
      method: 'post',
      path: '/a',
      operationId: 'a',
      summary: '',
      access: 'open',
      limits: { address: [policy('address', 1)] },
      request: { body: z.object({}) },
      responses: { 204: null },
      handle() {
        handled += 1
        return { status: 204 }
      },
    }
    await using service = await start(counting)
    expect((await post(`${service.url}/a`, {})).status).toBe(204)
    expect((await post(`${service.url}/a`, 'nonsense')).status).toBe(429)
    expect(handled).toBe(1)
  })
})
