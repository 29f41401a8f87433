import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  createJsonContent,
  deleteAgent,
  getToken,
  isActive,
  type RegisteredAgent,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { dumpTables } from './open-test-stores.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalidClient: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  errorFormat: 'agent',
}

describe.for(TOKEN_STORES)('/api/agent, tokens in %s,', (tokenStore) => {
  let auth: RunningAuth
  let agent: RegisteredAgent
  beforeAll(async () => {
    auth = await startAuth({ tokenStore, env: { AUTH_LIMITS_FACTOR: '100' } })
    agent = await register(auth, 'Atlas 58b1')
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await auth[Symbol.asyncDispose]()
  })

  test('GET describes the client, without its secret', async () => {
    const response = await send(auth.url, { path: '/api/agent', headers: agentAuthHeader(agent) })
    expect(response.status).toBe(200)
    const { client_secret: _secret, ...publicMembers } = agent
    expect(JSON.parse(response.text)).toEqual({
      ...publicMembers,
      idle_expiry: expect.stringMatching(/^20.*Z$/),
      secrets: [{ secret_id: expect.any(String), created_at: expect.stringMatching(/^20.*Z$/) }],
      // The quota of production is 120. `AUTH_LIMITS_FACTOR` multiplies it by 100.
      limits: [{ policy: 'token-client', quota: 12_000, window_seconds: 60 }],
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    // The body contains the name, which is confidential everywhere else.
    await expectSafe(auth, { ...response, text: response.text.replace(String(agent['client_name']), '') })
  })

  test('DELETE revokes the client and all its tokens before it responds, and erases its name', async () => {
    const deletedAgent = await register(auth, 'Canary name 7c1f')
    const revokedTokens = await Promise.all([getToken(auth, deletedAgent), getToken(auth, deletedAgent)])
    const otherToken = await getToken(auth, agent)
    const response = await deleteAgent(auth, deletedAgent)
    expect([response.status, response.text]).toEqual([204, ''])
    expect(response.headers.get('cache-control')).toBe('no-store')
    await expectSafe(auth, response)
    expect(await Promise.all([...revokedTokens, otherToken].map((token) => isActive(auth, token)))).toEqual([
      false,
      false,
      true,
    ])
    expect((await requestToken(auth, deletedAgent)).status).toBe(401)
    const { rows } = await auth.testbed.db.query(
      'select status, name_sealed, (select count(*) from agent_secrets where agent_id = agents.id) as secrets from agents where id = $1',
      [deletedAgent.client_id],
    )
    expect(rows).toEqual([{ status: 'deleted', name_sealed: null, secrets: 0 }])
    expect(await dumpTables(auth.testbed.db)).not.toContain('Canary name 7c1f')
  })

  test('responds to simultaneous deletions with 204 or 401, at least once with 204', async () => {
    const deletedAgent = await register(auth)
    const responses = await Promise.all(Array.from({ length: 5 }, () => deleteAgent(auth, deletedAgent)))
    expect(responses.map(({ status }) => status).filter((status) => status !== 401)).toContain(204)
    for (const { status } of responses) expect([204, 401]).toContain(status)
    for (const response of responses.filter(({ status }) => status === 401))
      expect(response.headers.get('www-authenticate')).toBe('Basic realm="plainpath", charset="UTF-8"')
  })

  describe.for(['GET', 'DELETE'])('%s refuses', (method) => {
    test.for([
      ['no credentials', () => ({})],
      ['a wrong secret', () => basicAuth(agent.client_id, `pps_${'A'.repeat(43)}`)],
      ['an unknown client', () => basicAuth(`agt_${'A'.repeat(22)}`, agent.client_secret)],
      ['a bearer token', () => ({ authorization: `Bearer ppt_${'A'.repeat(43)}` })],
      ['invalid Basic credentials', () => ({ authorization: `Basic ${CANARY}` })],
      ['the credentials of a resource server', () => basicAuth('rs_api', auth.testbed.secrets.rs_api)],
    ] satisfies [string, () => Record<string, string>][])('%s', async ([_title, headers]) => {
      await expectRefusal(
        auth,
        () => send(auth.url, { method, path: '/api/agent', headers: headers() }),
        invalidClient,
      )
      expect((await requestToken(auth, agent)).status).toBe(200)
    })

    test('credentials in the body or the query', async () => {
      const { client_id, client_secret } = agent
      const query = new URLSearchParams({ client_id, client_secret })
      await expectRefusal(auth, () => send(auth.url, { method, path: `/api/agent?${query}` }), invalidClient)
      if (method === 'DELETE')
        await expectRefusal(
          auth,
          () =>
            send(auth.url, {
              method,
              path: '/api/agent',
              ...createJsonContent({ client_id, client_secret }),
            }),
          invalidClient,
        )
    })
  })

  test('ignores headers that would override the method', async () => {
    const storedBefore = await countStored(auth)
    const headers = {
      ...agentAuthHeader(agent),
      'x-http-method-override': 'DELETE',
      'x-http-method': 'DELETE',
    }
    expect((await send(auth.url, { path: '/api/agent', headers })).status).toBe(200)
    expect((await requestToken(auth, agent)).status).toBe(200)
    expect((await countStored(auth))['agent_secrets']).toBe(storedBefore['agent_secrets'])
  })

  test.for(['POST', 'PUT', 'PATCH'])('rejects %s with 405', async (method) => {
    const expected: Refusal = {
      status: 405,
      code: 'method-not-allowed',
      errorFormat: 'agent',
      headers: { allow: 'DELETE, GET, HEAD' },
    }
    await expectRefusal(
      auth,
      () => send(auth.url, { method, path: '/api/agent', headers: agentAuthHeader(agent) }),
      expected,
    )
  })

  test('refuses a cross-site request to delete the client', async () => {
    const headers = { ...agentAuthHeader(agent), 'sec-fetch-site': 'cross-site' }
    await expectRefusal(auth, () => send(auth.url, { method: 'DELETE', path: '/api/agent', headers }), {
      status: 403,
      code: 'cross-site-request',
      errorFormat: 'agent',
    })
    expect((await requestToken(auth, agent)).status).toBe(200)
  })
})
