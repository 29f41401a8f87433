import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  deleteAgent,
  getToken,
  isActive,
  type Registered,
  register,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { type AuthStores, openAuthStores, TOKEN_PLACES } from './open-auth-stores.ts'
import { send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_PLACES)('two instances on one database, tokens in %s:', (tokens) => {
  let stores: AuthStores
  let here: RunningAuth
  let otherInstance: RunningAuth
  beforeAll(async () => {
    stores = await openAuthStores(tokens)
    here = await startInstance(stores)
    otherInstance = await startInstance(stores)
  })
  afterAll(async () => {
    await expectNothingInClear(here)
    await here[Symbol.asyncDispose]()
    await otherInstance[Symbol.asyncDispose]()
    await stores[Symbol.asyncDispose]()
  })

  /** An agent that both instances hold in memory, and a token of it. */
  async function knownToBoth(): Promise<{ agent: Registered; token: string }> {
    const agent = await register(here)
    await getToken(otherInstance, agent)
    return { agent, token: await getToken(here, agent) }
  }
  const activeAt = (token: string) => Promise.all([isActive(here, token), isActive(otherInstance, token)])
  const setStatus = (agent: Registered, status: 'active' | 'disabled') =>
    stores.db.query(
      `update agents set status = $2, generation = generation + case when $2 = 'disabled' then 1 else 0 end where id = $1`,
      [agent.client_id, status],
    )
  /** Simulates an instance that receives no notifications. */
  async function whileNobodyHears(work: () => Promise<void>) {
    const alter = (what: 'disable' | 'enable') =>
      stores.asOwner(
        `alter table agents ${what} trigger agents_changed; alter table agent_secrets ${what} trigger agent_secrets_changed`,
      )
    await alter('disable')
    try {
      await work()
    } finally {
      await alter('enable')
    }
  }

  test('sign with the same key and publish the same documents', async () => {
    for (const path of ['/oauth/jwks.json', '/.well-known/oauth-authorization-server'])
      expect((await send(here.url, { path })).text).toBe((await send(otherInstance.url, { path })).text)
  })

  test('reject a token that was revoked at the other', async () => {
    const { agent, token } = await knownToBoth()
    expect(await activeAt(token)).toEqual([true, true])
    expect((await revoke(otherInstance, agent, token)).status).toBe(200)
    expect(await activeAt(token)).toEqual([false, false])
  })

  test('a client deleted at one instance is rejected at the other, with all its tokens', async () => {
    const { agent, token } = await knownToBoth()
    expect((await deleteAgent(otherInstance, agent)).status).toBe(204)
    expect(await activeAt(token)).toEqual([false, false])
    await expect.poll(async () => (await requestToken(here, agent)).status).toBe(401)
  })

  test('rejects a deleted client’s tokens, also one issued by an instance with a stale cache', async () => {
    const { agent, token } = await knownToBoth()
    await whileNobodyHears(async () => {
      expect((await deleteAgent(otherInstance, agent)).status).toBe(204)
      const late = await getToken(here, agent)
      expect(await activeAt(token)).toEqual([false, false])
      expect(await activeAt(late)).toEqual([false, false])
    })
  })

  test('rejects tokens issued during a deletion once its response is sent', async () => {
    const { agent } = await knownToBoth()
    const issuing = Array.from({ length: 20 }, () => requestToken(here, agent))
    expect((await deleteAgent(otherInstance, agent)).status).toBe(204)
    const issued = (await Promise.all(issuing)).filter(({ status }) => status === 200)
    for (const { text } of issued) {
      const { access_token } = JSON.parse(text) as { access_token: string }
      here.confidential.add(access_token)
      expect(await activeAt(access_token)).toEqual([false, false])
    }
  })

  test('revokes a token that is newer than the instance’s cached client', async () => {
    const { agent } = await knownToBoth()
    await whileNobodyHears(async () => {
      await setStatus(agent, 'disabled')
      await setStatus(agent, 'active')
      await stores.redis?.lose('generation:*')
      const third = await startInstance(stores)
      const token = await getToken(third, agent)
      expect(await isActive(third, token)).toBe(true)
      expect((await revoke(here, agent, token)).status).toBe(200)
      expect(await isActive(third, token)).toBe(false)
      await third[Symbol.asyncDispose]()
    })
  })

  test('both receive the notification of a changed row', async () => {
    const { agent } = await knownToBoth()
    await setStatus(agent, 'disabled')
    for (const each of [here, otherInstance])
      await expect.poll(async () => (await requestToken(each, agent)).status).toBe(401)
    await setStatus(agent, 'active')
    for (const each of [here, otherInstance])
      await expect.poll(async () => (await requestToken(each, agent)).status).toBe(200)
  })

  test('reads changes that were made while notifications were disconnected', async () => {
    const { agent } = await knownToBoth()
    await whileNobodyHears(async () => {
      await setStatus(agent, 'disabled')
      expect((await requestToken(here, agent)).status).toBe(200)
      await stores.asAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plainpath listen'`,
      )
      await expect.poll(async () => (await requestToken(here, agent)).status).toBe(401)
    })
  })
})

describe.for(TOKEN_PLACES.filter((place) => place === 'Redis'))('two instances that share %s', (tokens) => {
  test('share a limit', async () => {
    await using stores = await openAuthStores(tokens)
    await using first = await startInstance(stores, { env: { AUTH_LIMITS_FACTOR: '1' } })
    await using second = await startInstance(stores, { env: { AUTH_LIMITS_FACTOR: '1' } })
    const signUp = (auth: RunningAuth) => send(auth.url, { method: 'POST', path: '/api/agent/register' })
    const responses = await Promise.all(Array.from({ length: 30 }, (_, n) => signUp(n % 2 ? first : second)))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(10)
  })
})
