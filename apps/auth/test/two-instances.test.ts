import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  deleteAgent,
  getToken,
  isActive,
  type RegisteredAgent,
  register,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { type AuthTestbed, openAuthTestbed, TOKEN_STORES } from './open-auth-testbed.ts'
import { send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_STORES)('two instances on one database, tokens in %s:', (tokenStore) => {
  let testbed: AuthTestbed
  let auth: RunningAuth
  let otherInstance: RunningAuth
  beforeAll(async () => {
    testbed = await openAuthTestbed(tokenStore)
    auth = await startInstance(testbed)
    otherInstance = await startInstance(testbed)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await auth[Symbol.asyncDispose]()
    await otherInstance[Symbol.asyncDispose]()
    await testbed[Symbol.asyncDispose]()
  })

  /** Creates an agent that both instances have cached, and a token. */
  async function createKnownAgent(): Promise<{ agent: RegisteredAgent; token: string }> {
    const agent = await register(auth)
    await getToken(otherInstance, agent)
    return { agent, token: await getToken(auth, agent) }
  }
  const isActiveAtEachInstance = (token: string) =>
    Promise.all([isActive(auth, token), isActive(otherInstance, token)])
  /** Sets the status in PostgreSQL. As an operator's command does, raises the credential version when it disables the agent. */
  const setStatus = (agent: RegisteredAgent, status: 'active' | 'disabled') =>
    testbed.db.query(
      `update agents set status = $2, generation = generation + case when $2 = 'disabled' then 1 else 0 end where id = $1`,
      [agent.client_id, status],
    )
  /** Runs `work` while changes of agents and secrets send no notifications. */
  async function withoutNotifications(work: () => Promise<void>) {
    const alterTriggers = (action: 'disable' | 'enable') =>
      testbed.runAsOwner(
        `alter table agents ${action} trigger agents_changed; alter table agent_secrets ${action} trigger agent_secrets_changed`,
      )
    await alterTriggers('disable')
    try {
      await work()
    } finally {
      await alterTriggers('enable')
    }
  }

  test('publish the same keys and the same metadata', async () => {
    for (const path of ['/oauth/jwks.json', '/.well-known/oauth-authorization-server'])
      expect((await send(auth.url, { path })).text).toBe((await send(otherInstance.url, { path })).text)
  })

  test('both reject a token that was revoked at one of them', async () => {
    const { agent, token } = await createKnownAgent()
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    expect((await revoke(otherInstance, agent, token)).status).toBe(200)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
  })

  test('reject a client and its token after the client was deleted at the other instance', async () => {
    const { agent, token } = await createKnownAgent()
    expect((await deleteAgent(otherInstance, agent)).status).toBe(204)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    await expect.poll(async () => (await requestToken(auth, agent)).status).toBe(401)
  })

  test('reject the tokens of a deleted client, even one that an instance with a stale cache issued', async () => {
    const { agent, token } = await createKnownAgent()
    await withoutNotifications(async () => {
      expect((await deleteAgent(otherInstance, agent)).status).toBe(204)
      const laterToken = await getToken(auth, agent)
      expect(await isActiveAtEachInstance(token)).toEqual([false, false])
      expect(await isActiveAtEachInstance(laterToken)).toEqual([false, false])
    })
  })

  test('reject tokens that were issued during a deletion, once the deletion is complete', async () => {
    const { agent } = await createKnownAgent()
    // The requests are not awaited yet, so that they race with the deletion.
    const requests = Array.from({ length: 20 }, () => requestToken(auth, agent))
    expect((await deleteAgent(otherInstance, agent)).status).toBe(204)
    const successes = (await Promise.all(requests)).filter(({ status }) => status === 200)
    for (const { text } of successes) {
      const { access_token } = JSON.parse(text) as { access_token: string }
      auth.confidential.add(access_token)
      expect(await isActiveAtEachInstance(access_token)).toEqual([false, false])
    }
  })

  test('revoke a token whose credential version is newer than that of the cached client', async () => {
    const { agent } = await createKnownAgent()
    await withoutNotifications(async () => {
      await setStatus(agent, 'disabled')
      await setStatus(agent, 'active')
      // Redis caches credential versions under these keys. Without them, the token store reads the version from PostgreSQL.
      await testbed.redis?.loseKeys('generation:*')
      // Unlike the other two instances, this one has not cached the client with its old credential version.
      const newInstance = await startInstance(testbed)
      const token = await getToken(newInstance, agent)
      expect(await isActive(newInstance, token)).toBe(true)
      expect((await revoke(auth, agent, token)).status).toBe(200)
      expect(await isActive(newInstance, token)).toBe(false)
      await newInstance[Symbol.asyncDispose]()
    })
  })

  test('both receive the notification of a changed row', async () => {
    const { agent } = await createKnownAgent()
    await setStatus(agent, 'disabled')
    for (const each of [auth, otherInstance])
      await expect.poll(async () => (await requestToken(each, agent)).status).toBe(401)
    await setStatus(agent, 'active')
    for (const each of [auth, otherInstance])
      await expect.poll(async () => (await requestToken(each, agent)).status).toBe(200)
  })

  test('learn of missed changes when the listener reconnects', async () => {
    const { agent } = await createKnownAgent()
    await withoutNotifications(async () => {
      await setStatus(agent, 'disabled')
      // Without a notification, the instance still uses its cached client.
      expect((await requestToken(auth, agent)).status).toBe(200)
      await testbed.runAsAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plainpath listen'`,
      )
      await expect.poll(async () => (await requestToken(auth, agent)).status).toBe(401)
    })
  })
})

describe.for(TOKEN_STORES.filter((kind) => kind === 'Redis'))('two instances that share %s', (tokenStore) => {
  test('share a limit', async () => {
    await using testbed = await openAuthTestbed(tokenStore)
    await using instance = await startInstance(testbed, { env: { AUTH_LIMITS_FACTOR: '1' } })
    await using otherInstance = await startInstance(testbed, { env: { AUTH_LIMITS_FACTOR: '1' } })
    const registerAt = (auth: RunningAuth) => send(auth.url, { method: 'POST', path: '/api/agent/register' })
    const responses = await Promise.all(
      // The limit `register-address` is 20, and all requests come from one address.
      Array.from({ length: 30 }, (_, n) => registerAt(n % 2 ? instance : otherInstance)),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(10)
  })
})
