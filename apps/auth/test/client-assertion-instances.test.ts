import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLOCK_TOLERANCE_SECONDS } from '../src/clients/read-jwt.ts'
import { sweepUsedJtis } from '../src/clients/used-jti-store.ts'
import { asAgent, json, type Registered, register, requestToken } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import {
  assertionFields,
  assertionOf,
  type KeyAgent,
  newKey,
  registerKeys,
  tokenByKey,
  tokenFor,
} from './key-agent.ts'
import { type AuthStores, openAuthStores, TOKEN_PLACES } from './open-auth-stores.ts'
import { send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

const nobody: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

describe.for(TOKEN_PLACES)('assertions at two instances on one database, tokens in %s:', (tokens) => {
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
    for (const each of [here, otherInstance, stores]) await each[Symbol.asyncDispose]()
  })

  test('accepts exactly one of ten simultaneous uses of an assertion, over both instances', async () => {
    const agent = await registerKeys(here)
    for (let round = 0; round < 5; round++) {
      const fields = assertionFields(await assertionOf(here, agent))
      const uses = Array.from({ length: 10 }, (_, n) => tokenFor(n % 2 ? here : otherInstance, fields))
      const responses = await Promise.all(uses)
      expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(401)])
      for (const refused of responses.filter(({ status }) => status === 401)) expectProblem(refused, nobody)
    }
  })

  test('accepts the same jti from two clients, once from each', async () => {
    const [one, other] = [await registerKeys(here), await registerKeys(here)]
    const using = async (agent: KeyAgent, jti = 'the-same') =>
      (await tokenFor(here, assertionFields(await assertionOf(here, agent, { jti })))).status
    expect([await using(one), await using(other), await using(one)]).toEqual([200, 200, 401])
    // With any text before or behind it, a jti is another jti of the same client, and of no other client.
    const alike = [`${other.client_id}the-same`, `${other.client_id}\nthe-same`, 'the-same\n', 'the-same ']
    for (const jti of alike)
      expect([jti, await using(one, jti), await using(one, jti)]).toEqual([jti, 200, 401])
    expect(await using(other, 'the-same\n')).toBe(200)
  })

  test('rejects a used assertion while it would be valid, even after a sweep', async () => {
    const clock = { now: new Date() }
    await using timed = await startInstance(stores, { now: () => clock.now })
    const agent = await registerKeys(timed)
    const exp = Math.floor(clock.now.getTime() / 1000) + 60
    const spent = assertionFields(await assertionOf(timed, agent, { exp }))
    expect((await tokenFor(timed, spent)).status).toBe(200)
    clock.now = new Date((exp + CLOCK_TOLERANCE_SECONDS - 1) * 1000)
    await sweepUsedJtis(stores.db, clock.now)
    expectProblem(await tokenFor(timed, spent), nobody)
    const response = await tokenFor(timed, assertionFields(await assertionOf(timed, agent, { exp })))
    expect(response.status).toBe(200)
    clock.now = new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000)
    expectProblem(await tokenFor(timed, assertionFields(await assertionOf(timed, agent, { exp }))), nobody)
  })

  test('rejects a used assertion after a restart and a flushed Redis', async () => {
    const agent = await registerKeys(here)
    const first = await startInstance(stores)
    const fields = assertionFields(await assertionOf(first, agent))
    expect((await tokenFor(first, fields)).status).toBe(200)
    await first[Symbol.asyncDispose]()
    await stores.redis?.lose()
    await using again = await startInstance(stores)
    for (const each of [again, here, otherInstance]) expectProblem(await tokenFor(each, fields), nobody)
    expect((await tokenByKey(again, agent)).status).toBe(200)
  })

  const replaceKeys = async (agent: KeyAgent | Registered, key: Awaited<ReturnType<typeof newKey>>) => {
    const { headers, body } = json({ keys: [key.jwk] })
    const authentication =
      'key' in agent ? { 'client-assertion': await assertionOf(here, agent as KeyAgent) } : asAgent(agent)
    return send(here.url, {
      method: 'PUT',
      path: '/api/agent/jwks',
      headers: { ...headers, ...authentication },
      body,
    })
  }

  test('rejects a replaced key at an instance with a stale cache', async () => {
    const agent = await registerKeys(here)
    expect((await tokenByKey(otherInstance, agent)).status).toBe(200)
    await stores.asOwner('alter table agents disable trigger agents_changed')
    try {
      expect((await replaceKeys(agent, await newKey())).status).toBe(200)
      expectProblem(await tokenByKey(otherInstance, agent), nobody)
    } finally {
      await stores.asOwner('alter table agents enable trigger agents_changed')
    }
  })

  test('accepts keys that replace a secret at the other instance', async () => {
    const agent = await register(here)
    expect((await requestToken(otherInstance, agent)).status).toBe(200)
    const key = await newKey()
    expect((await replaceKeys(agent, key)).status).toBe(200)
    await expect.poll(async () => (await requestToken(otherInstance, agent)).status).toBe(401)
    await expect
      .poll(async () => (await tokenByKey(otherInstance, { client_id: agent.client_id, key })).status)
      .toBe(200)
  })

  test('applies one of two simultaneous replacements completely', async () => {
    const agent = await register(here)
    const keys = await Promise.all([newKey(), newKey()])
    const statuses = (await Promise.all(keys.map((key) => replaceKeys(agent, key)))).map(
      ({ status }) => status,
    )
    expect(statuses).toContain(200)
    await expect.poll(async () => (await requestToken(here, agent)).status).toBe(401)
    const good = await Promise.all(
      keys.map(async (key) => (await tokenByKey(here, { client_id: agent.client_id, key })).status),
    )
    expect(good.toSorted()).toEqual([200, 401])
  })
})
