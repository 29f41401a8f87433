import { describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  CLIENT_CREDENTIALS_GRANT,
  getToken,
  register,
  requestIntrospection,
  requestToken,
  revoke,
} from './agent-client.ts'
import { CANARY, expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import {
  createAssertionFields,
  registerKeys,
  requestTokenWithFields,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { countRows } from './open-test-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

/** With this setting, the instance trusts the test as a proxy, so that the test can send requests for any client address. */
const BEHIND_GATEWAY = { AUTH_TRUSTED_PROXIES: '127.0.0.1' }
const ADDRESS = '203.0.113.9'
const OTHER_ADDRESS = '203.0.113.10'

const forwardedFor = (address: string) => ({ 'x-forwarded-for': address })

/** Creates the expected refusal of a request over a limit. */
const rateLimitRefusal = (policy: string): Refusal => ({
  status: 429,
  code: 'rate-limited',
  error: 'rate_limited',
  says: `The limit '${policy}' allows`,
  headers: { 'retry-after': /^[1-9][0-9]*$/ },
})

/** Runs a task `count` times, in batches of ten so that requests do not time out on a busy machine. */
async function runInBatches<T>(count: number, task: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let start = 0; start < count; start += 10) {
    const batch = Array.from({ length: Math.min(10, count - start) }, (_, n) => task(start + n))
    results.push(...(await Promise.all(batch)))
  }
  return results
}

/** Counts the responses with each status. */
function countStatuses(responses: HttpResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe.for(TOKEN_STORES)('rate limits, with tokens in %s:', (tokenStore) => {
  /** Starts an instance that trusts the test as a proxy, with all quotas multiplied by the factor. */
  const startWithFactor = (factor: string) =>
    startAuth({ tokenStore, env: { ...BEHIND_GATEWAY, AUTH_LIMITS_FACTOR: factor } })
  const registerFrom = (auth: RunningAuth, address: string) =>
    send(auth.url, { method: 'POST', path: '/api/agent/register', headers: forwardedFor(address) })
  const requestTokenFrom = (auth: RunningAuth, address: string, id: string, secret: string) =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      headers: { ...basicAuth(id, secret), ...forwardedFor(address) },
      body: new URLSearchParams(CLIENT_CREDENTIALS_GRANT),
    })

  test('an address may register 20 agents in ten minutes; other addresses are unaffected', async () => {
    await using auth = await startWithFactor('1')
    const responses = await runInBatches(25, () => registerFrom(auth, '203.0.113.1'))
    expect(countStatuses(responses)).toEqual({ 201: 20, 429: 5 })
    const refusal = responses.find(({ status }) => status === 429)!
    expectProblem(refusal, {
      ...rateLimitRefusal('register-address'),
      errorFormat: 'agent',
      says: /"register-address" allows 20 in 600 s/,
    })
    expect(JSON.parse(refusal.text)).toMatchObject({ policy: 'register-address' })
    expect(refusal.headers.get('ratelimit-policy')).toBe('"register-address";q=20;w=600')
    expect(refusal.headers.get('ratelimit')).toMatch(/"register-address";r=0;t=\d+$/)
    expect((await registerFrom(auth, '203.0.113.2')).status).toBe(201)
  })

  test('entries of X-Forwarded-For before the gateway’s own entry do not change which address is counted', async () => {
    await using auth = await startWithFactor('1')
    const responses = await runInBatches(25, (n) => registerFrom(auth, `198.51.100.${n}, 203.0.113.1`))
    expect(countStatuses(responses)).toEqual({ 201: 20, 429: 5 })
  })

  test('forwarding headers do not change which address is counted if no proxy is trusted', async () => {
    await using auth = await startAuth({ tokenStore, env: { AUTH_LIMITS_FACTOR: '1' } })
    const responses = await runInBatches(25, (n) =>
      send(auth.url, {
        method: 'POST',
        path: '/api/agent/register',
        headers: {
          ...forwardedFor(`198.51.100.${n}`),
          'x-real-ip': `198.51.100.${n}`,
          forwarded: `for=198.51.100.${n}`,
        },
      }),
    )
    expect(countStatuses(responses)).toEqual({ 201: 20, 429: 5 })
  })

  test('the addresses of one IPv6 /64 share a registration limit', async () => {
    await using auth = await startWithFactor('1')
    const responses = await runInBatches(25, (n) =>
      registerFrom(auth, `2001:db8:1:2::${(n + 1).toString(16)}`),
    )
    expect(countStatuses(responses)).toEqual({ 201: 20, 429: 5 })
    expect((await registerFrom(auth, '2001:db8:1:3::1')).status).toBe(201)
  })

  test('each client has its own token limit, even if clients share an address', async () => {
    await using auth = await startWithFactor('0.1')
    // The quota of `token-client` is 120, so the factor 0.1 leaves 12.
    const [busyAgent, otherAgent] = [await register(auth), await register(auth)]
    const responses = await runInBatches(17, () => requestToken(auth, busyAgent))
    expect(countStatuses(responses)).toEqual({ 200: 12, 429: 5 })
    expectProblem(responses.find(({ status }) => status === 429)!, rateLimitRefusal('token-client'))
    expect((await requestToken(auth, otherAgent)).status).toBe(200)
  })

  test('refuses a client after 20 failed authentications, but accepts the correct secret', async () => {
    await using auth = await startWithFactor('1')
    const [agent, otherAgent] = [await register(auth), await register(auth)]
    const responses = await runInBatches(25, () => requestTokenFrom(auth, ADDRESS, agent.client_id, 'wrong'))
    expect(countStatuses(responses)).toEqual({ 401: 20, 429: 5 })
    const refusal = responses.find(({ status }) => status === 429)!
    expectProblem(refusal, rateLimitRefusal('client-authentication'))
    await expectSafe(auth, refusal)
    expect((await requestTokenFrom(auth, ADDRESS, agent.client_id, agent.client_secret)).status).toBe(200)
    // Failures count for one client at one address, so nobody can lock out another client.
    expect((await requestTokenFrom(auth, ADDRESS, otherAgent.client_id, 'wrong')).status).toBe(401)
    expect((await requestTokenFrom(auth, OTHER_ADDRESS, agent.client_id, 'wrong')).status).toBe(401)
    expect((await requestTokenFrom(auth, ADDRESS, agent.client_id, 'wrong')).status).toBe(429)
  })

  test('invalid and replayed assertions count as failed authentications; a valid assertion is still accepted', async () => {
    await using auth = await startWithFactor('1')
    const agent = await registerKeys(auth)
    const replayedFields = createAssertionFields(await signAssertion(auth, agent))
    expect((await requestTokenWithFields(auth, replayedFields)).status).toBe(200)
    const wrongAudience = createAssertionFields(
      await signAssertion(auth, agent, { aud: 'https://other.example' }),
    )
    const responses = await runInBatches(25, (n) =>
      requestTokenWithFields(auth, n % 2 ? replayedFields : wrongAudience),
    )
    expect(countStatuses(responses)).toEqual({ 401: 20, 429: 5 })
    expectProblem(responses.find(({ status }) => status === 429)!, rateLimitRefusal('client-authentication'))
    expect((await requestTokenWithNewAssertion(auth, agent)).status).toBe(200)
  })

  test('failed authentications from the addresses of one IPv6 /64 count together', async () => {
    await using auth = await startWithFactor('1')
    const { client_id } = await register(auth)
    const responses = await runInBatches(25, (n) =>
      requestTokenFrom(auth, `2001:db8:1:2::${(n + 1).toString(16)}`, client_id, 'wrong'),
    )
    expect(countStatuses(responses)).toEqual({ 401: 20, 429: 5 })
  })

  test('a registered client still gets tokens while 300 networks register agents', {
    timeout: 60_000,
  }, async () => {
    await using auth = await startWithFactor('0.05')
    const { client_id, client_secret } = JSON.parse((await registerFrom(auth, '192.0.2.1')).text) as {
      client_id: string
      client_secret: string
    }
    const tokenStatuses: number[] = []
    const responses = await runInBatches(300, async (n) => {
      const response = await registerFrom(auth, `2001:db8:${n.toString(16)}::1`)
      if (n % 60 === 0) {
        const { status } = await requestTokenFrom(auth, ADDRESS, client_id, client_secret)
        tokenStatuses.push(status)
      }
      return response
    })
    // Each network may register one agent in ten minutes: the quota of 20 times the factor 0.05.
    expect(countStatuses(responses)).toEqual({ 201: 300 })
    const laterResponses = await runInBatches(300, (n) => registerFrom(auth, `2001:db8:${n.toString(16)}::2`))
    expect(countStatuses(laterResponses)).toEqual({ 429: 300 })
    expect(tokenStatuses).toEqual([200, 200, 200, 200, 200])
    expect(await countRows(auth.testbed.db)).toMatchObject({ agents: 301 })
  })

  test('a failed authentication counts the same for an unknown client as for a registered client', async () => {
    await using auth = await startWithFactor('1')
    const registeredAgent = await register(auth)
    const limitHeaders = []
    for (const id of [registeredAgent.client_id, `agt_${'A'.repeat(22)}`]) {
      const { headers } = await requestTokenFrom(auth, ADDRESS, id, 'wrong')
      limitHeaders.push(headers.get('ratelimit')?.split(', ').at(-1)?.replace(/t=\d+/, ''))
    }
    expect(limitHeaders).toEqual(['"client-authentication";r=19;', '"client-authentication";r=19;'])
  })

  test('endpoints announce and enforce their limits, and log no client address', async () => {
    // With this factor, the quota of `reads-address` is 3, and the other quotas are 1, the minimum.
    await using auth = await startWithFactor('0.001')
    const agent = await register(auth)
    const requests: [string, () => Promise<HttpResponse>, Refusal][] = [
      [
        'register',
        () => send(auth.url, { method: 'POST', path: '/api/agent/register' }),
        { ...rateLimitRefusal('register-address'), errorFormat: 'agent', says: /"register-address"/ },
      ],
      ['token', () => requestToken(auth, agent), rateLimitRefusal('token-address')],
      ['revoke', () => revoke(auth, agent, CANARY), rateLimitRefusal('token-address')],
      [
        'agent',
        () => send(auth.url, { path: '/api/agent', headers: agentAuthHeader(agent) }),
        { ...rateLimitRefusal('token-address'), errorFormat: 'agent', says: /"token-address"/ },
      ],
      ['jwks', () => send(auth.url, { path: '/oauth/jwks.json' }), rateLimitRefusal('reads-address')],
      [
        'metadata',
        () => send(auth.url, { path: '/.well-known/oauth-authorization-server' }),
        { ...rateLimitRefusal('reads-address'), errorFormat: 'problem', says: /"reads-address"/ },
      ],
    ]
    for (const [name, request, expected] of requests) {
      let response = await request()
      for (let tries = 0; response.status < 400 && tries < 4; tries++) {
        expect(response.headers.get('ratelimit-policy'), name).toMatch(/^"[a-z-]+";q=\d+;w=\d+/)
        response = await request()
      }
      expectProblem(response, expected)
    }
    expect(auth.logged.join('')).not.toContain('127.0.0.1')
  })

  test('requests without a route (404, 405) count with those for documents, but not on the internal listener', async () => {
    // With this factor, the quota of `reads-address` is 3.
    await using auth = await startWithFactor('0.001')
    const requests = [{ path: '/nowhere' }, { path: '/oauth/jwks.json', method: 'PUT' }]
    const statuses = []
    for (const request of [...requests, { path: '/oauth/jwks.json' }, ...requests]) {
      const { status, headers } = await send(auth.url, request)
      expect(headers.get('ratelimit-policy')).toBe('"reads-address";q=3;w=60')
      statuses.push(status)
    }
    expect(statuses).toEqual([404, 405, 200, 429, 429])
    for (let count = 0; count < 4; count += 1) {
      const { status, headers } = await send(auth.internalUrl, { path: '/nowhere' })
      expect([status, headers.get('ratelimit-policy')]).toEqual([404, null])
    }
  })

  test('introspection by a resource server is not limited', async () => {
    await using auth = await startWithFactor('0.001')
    const agent = await register(auth)
    const token = await getToken(auth, agent)
    const responses = await runInBatches(5, () => requestIntrospection(auth, token))
    expect(countStatuses(responses)).toEqual({ 200: 5 })
  })
})
