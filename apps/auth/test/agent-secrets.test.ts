import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  deleteAgent,
  getToken,
  isActive,
  type RegisteredAgent,
  register,
  requestIntrospection,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectRefusal, expectSafe } from './expect-refusal.ts'
import { createAssertionHeader, registerKeys, requestTokenWithNewAssertion } from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const INVALID_CLIENT = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  errorFormat: 'agent',
} as const

/** A secret as `GET /api/agent` describes it. Times are in RFC 3339. */
interface Secret {
  readonly secret_id: string
  readonly created_at: string
  /** When an old secret expires; absent for the newest one. */
  readonly ends_at?: string
}

describe.for(TOKEN_STORES)('/api/agent/secrets, tokens in %s,', (tokenStore) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  const clock = { now: new Date() }
  beforeAll(async () => {
    const now = () => clock.now
    auth = await startAuth({ tokenStore, now })
    otherInstance = await startInstance(auth.testbed, { now })
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const post = (headers: Record<string, string>, instance = auth) =>
    send(instance.url, { method: 'POST', path: '/api/agent/secrets', headers })
  const removeSecret = (agent: RegisteredAgent, id: string, instance = auth) =>
    send(instance.url, {
      method: 'DELETE',
      path: `/api/agent/secrets/${id}`,
      headers: agentAuthHeader(agent),
    })
  const findSecrets = async (agent: RegisteredAgent): Promise<Secret[]> => {
    const { text } = await send(auth.url, { path: '/api/agent', headers: agentAuthHeader(agent) })
    return (JSON.parse(text) as { secrets: Secret[] }).secrets
  }
  const getStatus = async (response: Promise<HttpResponse>) => (await response).status

  async function addSecret(
    agent: RegisteredAgent,
  ): Promise<{ agent: RegisteredAgent; id: string; response: HttpResponse }> {
    const response = await post(agentAuthHeader(agent))
    expect(response.status, response.text).toBe(201)
    const body = JSON.parse(response.text) as { client_secret: string; secret_id: string }
    auth.confidential.add(body.client_secret)
    return { agent: { ...agent, client_secret: body.client_secret }, id: body.secret_id, response }
  }

  test('POST returns a second secret, GET lists both without their values, and both are accepted', async () => {
    const agentWithOldSecret = await register(auth)
    const { agent: renewedAgent, id, response } = await addSecret(agentWithOldSecret)
    // The body contains the secret, which is confidential everywhere else.
    await expectSafe(auth, { ...response, text: '' })
    expect(response.headers.get('cache-control')).toBe('no-store')
    const secrets = await findSecrets(renewedAgent)
    expect(secrets).toEqual([
      {
        secret_id: expect.any(String),
        created_at: expect.stringMatching(/Z$/),
        ends_at: new Date(clock.now.getTime() + 7 * DAY_MS).toISOString(),
      },
      { secret_id: id, created_at: clock.now.toISOString() },
    ])
    expect(JSON.parse(response.text)).toEqual({
      client_id: agentWithOldSecret.client_id,
      secret_id: id,
      client_secret: expect.stringMatching(/^pps_[A-Za-z0-9_-]{43}$/),
      client_secret_expires_at: 0,
      created_at: clock.now.toISOString(),
      secrets,
    })
    for (const agent of [agentWithOldSecret, renewedAgent])
      for (const instance of [auth, otherInstance])
        await expect.poll(() => getStatus(requestToken(instance, agent))).toBe(200)
  })

  test('accepts the old secret for seven days, and then only the new one', async () => {
    const agentWithOldSecret = await register(auth)
    await getToken(otherInstance, agentWithOldSecret)
    const { agent: renewedAgent } = await addSecret(agentWithOldSecret)
    // The other instance is notified of the new secret a moment later.
    await expect.poll(() => getStatus(requestToken(otherInstance, renewedAgent))).toBe(200)
    clock.now = new Date(clock.now.getTime() + 7 * DAY_MS - 1)
    for (const instance of [auth, otherInstance])
      expect((await requestToken(instance, agentWithOldSecret)).status).toBe(200)
    clock.now = new Date(clock.now.getTime() + 1)
    for (const instance of [auth, otherInstance]) {
      expectProblem(await requestToken(instance, agentWithOldSecret), {
        ...INVALID_CLIENT,
        errorFormat: 'oauth',
      })
      expect((await requestToken(instance, renewedAgent)).status).toBe(200)
    }
    expect(await findSecrets(renewedAgent)).toHaveLength(1)
    const renewedAgain = await addSecret(renewedAgent)
    expect((await requestToken(auth, renewedAgain.agent)).status).toBe(200)
    clock.now = new Date()
  })

  test('rejects a removed secret and its tokens at every instance', async () => {
    const agentWithOldSecret = await register(auth)
    const token = await getToken(otherInstance, agentWithOldSecret)
    const { agent: renewedAgent } = await addSecret(agentWithOldSecret)
    const [oldest] = await findSecrets(renewedAgent)
    expect(await isActive(otherInstance, token)).toBe(true)
    expect((await removeSecret(renewedAgent, oldest!.secret_id)).status).toBe(204)
    for (const instance of [auth, otherInstance]) {
      expect(await isActive(instance, token)).toBe(false)
      expectProblem(
        await send(instance.url, { path: '/api/agent', headers: agentAuthHeader(agentWithOldSecret) }),
        INVALID_CLIENT,
      )
      expectProblem(await post(agentAuthHeader(agentWithOldSecret), instance), INVALID_CLIENT)
      await expect.poll(() => getStatus(requestToken(instance, agentWithOldSecret))).toBe(401)
      expect(await isActive(instance, await getToken(instance, renewedAgent))).toBe(true)
    }
  })

  test('rejects a removed secret, or the token that an instance with a stale cache issues for it', async () => {
    const agentWithOldSecret = await register(auth)
    await getToken(otherInstance, agentWithOldSecret)
    const { agent: renewedAgent } = await addSecret(agentWithOldSecret)
    const [oldest] = await findSecrets(renewedAgent)
    // The other instance caches the agent. Without the triggers, it is not notified of the removal.
    await getToken(otherInstance, agentWithOldSecret)
    const alterTriggers = (action: 'disable' | 'enable') =>
      auth.testbed.runAsOwner(
        `alter table agents ${action} trigger agents_changed; alter table agent_secrets ${action} trigger agent_secrets_changed`,
      )
    try {
      await alterTriggers('disable')
      expect((await removeSecret(renewedAgent, oldest!.secret_id)).status).toBe(204)
      const response = await requestToken(otherInstance, agentWithOldSecret)
      if (response.status === 200) {
        const { access_token: token } = JSON.parse(response.text) as { access_token: string }
        auth.confidential.add(token)
        for (const instance of [auth, otherInstance]) expect(await isActive(instance, token)).toBe(false)
      }
    } finally {
      await alterTriggers('enable')
    }
  })

  test('lets a client that did not receive its new secret remove it and get another', async () => {
    const agent = await register(auth)
    await addSecret(agent)
    const [knownSecret, lostSecret] = await findSecrets(agent)
    expect((await removeSecret(agent, lostSecret!.secret_id)).status).toBe(204)
    expect(await findSecrets(agent)).toEqual([
      { secret_id: knownSecret!.secret_id, created_at: knownSecret!.created_at },
    ])
    expect((await addSecret(agent)).response.status).toBe(201)
  })

  test('refuses to remove the last secret, even in simultaneous requests, and refuses to add a third', async () => {
    const agent = await register(auth)
    const [onlySecret] = await findSecrets(agent)
    const lastSecret = {
      status: 409,
      code: 'last-secret',
      error: 'last_secret',
      errorFormat: 'agent',
    } as const
    await expectRefusal(auth, () => removeSecret(agent, onlySecret!.secret_id), lastSecret)
    const { agent: renewedAgent } = await addSecret(agent)
    const tooMany = {
      status: 409,
      code: 'too-many-secrets',
      error: 'too_many_secrets',
      errorFormat: 'agent',
    } as const
    await expectRefusal(auth, () => post(agentAuthHeader(renewedAgent)), tooMany)
    const secrets = await findSecrets(renewedAgent)
    const removals = await Promise.all(secrets.map(({ secret_id }) => removeSecret(renewedAgent, secret_id)))
    expect(removals.map((response) => response.status).sort()).not.toEqual([204, 204])
    const { rows } = await auth.testbed.db.query('select id from agent_secrets where agent_id = $1', [
      agent.client_id,
    ])
    expect(rows).toHaveLength(1)
  })

  test('adds a secret for exactly one of six simultaneous requests', async () => {
    const agent = await register(auth)
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, index) => post(agentAuthHeader(agent), index % 2 ? auth : otherInstance)),
    )
    for (const { text } of responses.filter((response) => response.status === 201))
      auth.confidential.add((JSON.parse(text) as { client_secret: string }).client_secret)
    expect(responses.filter((response) => response.status === 201)).toHaveLength(1)
    expect(await findSecrets(agent)).toHaveLength(2)
  })

  test.for([
    ['no credentials', (): Record<string, string> => ({})],
    ['a wrong secret', (agent: RegisteredAgent) => basicAuth(agent.client_id, 'pps_wrong')],
    [
      'an unknown client',
      (agent: RegisteredAgent) => basicAuth(`agt_${'A'.repeat(22)}`, agent.client_secret),
    ],
  ] as const)('refuses %s', async ([_title, headers]) => {
    const agent = await register(auth)
    const { agent: renewedAgent } = await addSecret(agent)
    const [oldest] = await findSecrets(renewedAgent)
    const id = oldest!.secret_id
    await expectRefusal(auth, () => post(headers(agent)), INVALID_CLIENT)
    const path = `/api/agent/secrets/${id}`
    await expectRefusal(
      auth,
      () => send(auth.url, { method: 'DELETE', path, headers: headers(agent) }),
      INVALID_CLIENT,
    )
    expect((await removeSecret(renewedAgent, id)).status).toBe(204)
    expect((await addSecret(renewedAgent)).response.status).toBe(201)
  })

  test('refuses to remove a secret that is unknown, was already removed, belongs to another client or has a malformed id', async () => {
    const [agent, stranger] = [await register(auth), await register(auth)]
    const { agent: renewedAgent } = await addSecret(agent)
    const { id: strangersSecretId } = await addSecret(stranger)
    const [oldest] = await findSecrets(renewedAgent)
    const notFound = { status: 404, code: 'not-found', errorFormat: 'agent' } as const
    for (const id of [strangersSecretId, crypto.randomUUID(), 'x'])
      await expectRefusal(auth, () => removeSecret(renewedAgent, id), notFound)
    expect((await removeSecret(renewedAgent, oldest!.secret_id)).status).toBe(204)
    await expectRefusal(auth, () => removeSecret(renewedAgent, oldest!.secret_id), notFound)
    expect(await findSecrets(stranger)).toHaveLength(2)
  })

  test('adds no secret to an agent with keys or to a deleted agent', async () => {
    const keyAgent = await registerKeys(auth)
    const refusedResponse = await post(await createAssertionHeader(auth, keyAgent))
    expectProblem(refusedResponse, {
      status: 409,
      code: 'client-has-keys',
      error: 'client_has_keys',
      errorFormat: 'agent',
    })
    expect((await requestTokenWithNewAssertion(auth, keyAgent)).status).toBe(200)
    const agent = await register(auth)
    expect((await addSecret(agent)).response.status).toBe(201)
    expect((await deleteAgent(auth, agent)).status).toBe(204)
    await expectRefusal(auth, () => post(agentAuthHeader(agent)), INVALID_CLIENT)
    expect((await requestIntrospection(auth, 'ppt_unknown')).status).toBe(200)
  })
})
