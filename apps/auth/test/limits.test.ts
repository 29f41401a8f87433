import { describe, expect, test } from 'vitest'
import {
  asAgent,
  basic,
  GRANT,
  getToken,
  register,
  requestIntrospection,
  requestToken,
  revoke,
} from './agent-client.ts'
import { CANARY, expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import { asserted, assertionOf, registerKeys, tokenByKey, tokenFor } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { countRows } from './open-authority.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

/** The gateway of these tests is the test itself, so that it can have any address. */
const BEHIND_GATEWAY = { AUTH_TRUSTED_PROXIES: '127.0.0.1' }
const from = (address: string) => ({ 'x-forwarded-for': address })
const limited = (policy: string): Refusal => ({
  status: 429,
  code: 'rate-limited',
  error: 'rate_limited',
  says: `The limit '${policy}' allows`,
  headers: { 'retry-after': /^[1-9][0-9]*$/ },
})
/** Ten at once, which a busy machine can serve in time. */
async function times<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  for (let begun = 0; begun < count; begun += 10) {
    const batch = Array.from({ length: Math.min(10, count - begun) }, (_, n) => work(begun + n))
    done.push(...(await Promise.all(batch)))
  }
  return done
}
const statuses = (responses: HttpResponse[]) => {
  const counted: Record<number, number> = {}
  for (const { status } of responses) counted[status] = (counted[status] ?? 0) + 1
  return counted
}

describe.for(TOKEN_PLACES)('limits, counted as with tokens in %s:', (tokens) => {
  const start = (factor: string) =>
    startAuth({ tokens, env: { ...BEHIND_GATEWAY, AUTH_LIMITS_FACTOR: factor } })
  const signUp = (auth: RunningAuth, address: string) =>
    send(auth.url, { method: 'POST', path: '/api/agent/register', headers: from(address) })
  const tryAs = (auth: RunningAuth, id: string, secret: string, address = '203.0.113.9') =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      headers: { ...basic(id, secret), ...from(address) },
      body: new URLSearchParams(GRANT),
    })

  test('an address registers at most 20 agents at once, without effect on other addresses', async () => {
    await using auth = await start('1')
    const responses = await times(25, () => signUp(auth, '203.0.113.1'))
    expect(statuses(responses)).toEqual({ 201: 20, 429: 5 })
    const refused = responses.find(({ status }) => status === 429)!
    expectProblem(refused, {
      ...limited('register-address'),
      form: 'agent',
      says: /"register-address" allows 20 in 600 s/,
    })
    expect(JSON.parse(refused.text)).toMatchObject({ policy: 'register-address' })
    expect(refused.headers.get('ratelimit-policy')).toBe('"register-address";q=20;w=600')
    expect(refused.headers.get('ratelimit')).toMatch(/"register-address";r=0;t=\d+$/)
    expect((await signUp(auth, '203.0.113.2')).status).toBe(201)
  })

  test('ignores addresses that a client puts before the gateway’s in X-Forwarded-For', async () => {
    await using auth = await start('1')
    const responses = await times(25, (n) => signUp(auth, `198.51.100.${n}, 203.0.113.1`))
    expect(statuses(responses)).toEqual({ 201: 20, 429: 5 })
  })

  test('ignores X-Forwarded-For without a trusted proxy', async () => {
    await using auth = await startAuth({ tokens, env: { AUTH_LIMITS_FACTOR: '1' } })
    const responses = await times(25, (n) =>
      send(auth.url, {
        method: 'POST',
        path: '/api/agent/register',
        headers: {
          ...from(`198.51.100.${n}`),
          'x-real-ip': `198.51.100.${n}`,
          forwarded: `for=198.51.100.${n}`,
        },
      }),
    )
    expect(statuses(responses)).toEqual({ 201: 20, 429: 5 })
  })

  test('counts an IPv6 network of one subscriber as one address', async () => {
    await using auth = await start('1')
    const responses = await times(25, (n) => signUp(auth, `2001:db8:1:2::${(n + 1).toString(16)}`))
    expect(statuses(responses)).toEqual({ 201: 20, 429: 5 })
    expect((await signUp(auth, '2001:db8:1:3::1')).status).toBe(201)
  })

  test('a client gets its tokens a minute, and another client at the same address its own', async () => {
    await using auth = await start('0.1')
    const [busy, other] = [await register(auth), await register(auth)]
    const responses = await times(17, () => requestToken(auth, busy))
    expect(statuses(responses)).toEqual({ 200: 12, 429: 5 })
    expectProblem(responses.find(({ status }) => status === 429)!, limited('token-client'))
    expect((await requestToken(auth, other)).status).toBe(200)
  })

  test('limits failed authentications after 20, and never a correct secret', async () => {
    await using auth = await start('1')
    const [agent, other] = [await register(auth), await register(auth)]
    const responses = await times(25, () => tryAs(auth, agent.client_id, 'wrong'))
    expect(statuses(responses)).toEqual({ 401: 20, 429: 5 })
    const refused = responses.find(({ status }) => status === 429)!
    expectProblem(refused, limited('client-authentication'))
    await expectSafe(auth, refused)
    expect((await tryAs(auth, agent.client_id, agent.client_secret)).status).toBe(200)
    // Counted for this client at this address alone: nobody can lock out another.
    expect((await tryAs(auth, other.client_id, 'wrong')).status).toBe(401)
    expect((await tryAs(auth, agent.client_id, 'wrong', '203.0.113.10')).status).toBe(401)
    expect((await tryAs(auth, agent.client_id, 'wrong')).status).toBe(429)
  })

  test('failed and repeated assertions are counted with them, and a right one is never refused', async () => {
    await using auth = await start('1')
    const agent = await registerKeys(auth)
    const spent = asserted(await assertionOf(auth, agent))
    expect((await tokenFor(auth, spent)).status).toBe(200)
    const wrong = asserted(await assertionOf(auth, agent, { aud: 'https://other.example' }))
    const responses = await times(25, (n) => tokenFor(auth, n % 2 ? spent : wrong))
    expect(statuses(responses)).toEqual({ 401: 20, 429: 5 })
    expectProblem(responses.find(({ status }) => status === 429)!, limited('client-authentication'))
    expect((await tokenByKey(auth, agent)).status).toBe(200)
  })

  test('counts failures over one IPv6 network together', async () => {
    await using auth = await start('1')
    const { client_id } = await register(auth)
    const responses = await times(25, (n) =>
      tryAs(auth, client_id, 'wrong', `2001:db8:1:2::${(n + 1).toString(16)}`),
    )
    expect(statuses(responses)).toEqual({ 401: 20, 429: 5 })
  })

  test('a flood of registrations from three hundred networks costs registered clients nothing', {
    timeout: 60_000,
  }, async () => {
    await using auth = await start('0.05')
    const here = JSON.parse((await signUp(auth, '192.0.2.1')).text) as {
      client_id: string
      client_secret: string
    }
    const served: number[] = []
    const flood = await times(300, async (n) => {
      const response = await signUp(auth, `2001:db8:${n.toString(16)}::1`)
      if (n % 60 === 0) served.push((await tryAs(auth, here.client_id, here.client_secret)).status)
      return response
    })
    // Each network has one in ten minutes: 20, times the factor.
    expect(statuses(flood)).toEqual({ 201: 300 })
    expect(statuses(await times(300, (n) => signUp(auth, `2001:db8:${n.toString(16)}::2`)))).toEqual({
      429: 300,
    })
    expect(served).toEqual([200, 200, 200, 200, 200])
    expect(await countRows(auth.stores.db)).toMatchObject({ agents: 301 })
  })

  test('counts an unknown client like a known one', async () => {
    await using auth = await start('1')
    const known = await register(auth)
    const seen = []
    for (const id of [known.client_id, `agt_${'A'.repeat(22)}`]) {
      const { headers } = await tryAs(auth, id, 'wrong')
      seen.push(headers.get('ratelimit')?.split(', ').at(-1)?.replace(/t=\d+/, ''))
    }
    expect(seen).toEqual(['"client-authentication";r=19;', '"client-authentication";r=19;'])
  })

  test('every endpoint announces and enforces its limits', async () => {
    await using auth = await start('0.001')
    const agent = await register(auth)
    const requests: [string, () => Promise<HttpResponse>, Refusal][] = [
      [
        'register',
        () => send(auth.url, { method: 'POST', path: '/api/agent/register' }),
        { ...limited('register-address'), form: 'agent', says: /"register-address"/ },
      ],
      ['token', () => requestToken(auth, agent), limited('token-address')],
      ['revoke', () => revoke(auth, agent, CANARY), limited('token-address')],
      [
        'agent',
        () => send(auth.url, { path: '/api/agent', headers: asAgent(agent) }),
        { ...limited('token-address'), form: 'agent', says: /"token-address"/ },
      ],
      ['jwks', () => send(auth.url, { path: '/oauth/jwks.json' }), limited('reads-address')],
      [
        'metadata',
        () => send(auth.url, { path: '/.well-known/oauth-authorization-server' }),
        { ...limited('reads-address'), form: 'problem', says: /"reads-address"/ },
      ],
    ]
    for (const [name, request, expected] of requests) {
      let response = await request()
      for (let count = 0; response.status < 400 && count < 4; count++) {
        expect(response.headers.get('ratelimit-policy'), name).toMatch(/^"[a-z-]+";q=\d+;w=\d+/)
        response = await request()
      }
      expectProblem(response, expected)
    }
    expect(auth.logged.join('')).not.toContain('127.0.0.1')
  })

  test('does not limit introspection by a resource server', async () => {
    await using auth = await start('0.001')
    const agent = await register(auth)
    const token = await getToken(auth, agent)
    const responses = await times(5, () => requestIntrospection(auth, token))
    expect(statuses(responses)).toEqual({ 200: 5 })
  })
})
