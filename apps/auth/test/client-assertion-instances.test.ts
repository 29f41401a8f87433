import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLOCK_TOLERANCE_SECONDS } from '../src/clients/parse-jwt.ts'
import { sweepUsedJtis } from '../src/clients/used-jti-store.ts'
import {
  agentAuthHeader,
  createJsonContent,
  type RegisteredAgent,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import {
  createAssertionFields,
  generateTestKeyPair,
  type KeyAgent,
  type KeyPair,
  registerKeys,
  requestTokenWithFields,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed, TOKEN_STORES } from './open-auth-testbed.ts'
import { send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

describe.for(TOKEN_STORES)(
  'client assertions at two instances on one database, tokens in %s:',
  (tokenStore) => {
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
      for (const each of [auth, otherInstance, testbed]) await each[Symbol.asyncDispose]()
    })

    test('accepts exactly one of ten simultaneous uses of an assertion, over both instances', async () => {
      const agent = await registerKeys(auth)
      for (let round = 0; round < 5; round++) {
        const fields = createAssertionFields(await signAssertion(auth, agent))
        const uses = Array.from({ length: 10 }, (_, n) =>
          requestTokenWithFields(n % 2 ? auth : otherInstance, fields),
        )
        const responses = await Promise.all(uses)
        expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(401)])
        for (const refused of responses.filter(({ status }) => status === 401))
          expectProblem(refused, invalidClient)
      }
    })

    test('accepts the same jti from two clients, once from each', async () => {
      const [agent, otherAgent] = [await registerKeys(auth), await registerKeys(auth)]
      const useJti = async (client: KeyAgent, jti = 'the-same') =>
        (
          await requestTokenWithFields(
            auth,
            createAssertionFields(await signAssertion(auth, client, { jti })),
          )
        ).status
      expect([await useJti(agent), await useJti(otherAgent), await useJti(agent)]).toEqual([200, 200, 401])
      // These jtis are only similar to 'the-same', and their use by one client does not affect the other client.
      const { client_id: otherId } = otherAgent
      const similarJtis = [`${otherId}the-same`, `${otherId}\nthe-same`, 'the-same\n', 'the-same ']
      for (const jti of similarJtis)
        expect([jti, await useJti(agent, jti), await useJti(agent, jti)]).toEqual([jti, 200, 401])
      expect(await useJti(otherAgent, 'the-same\n')).toBe(200)
    })

    test('rejects a used assertion until it expires, even after a sweep', async () => {
      const clock = { now: new Date() }
      await using instance = await startInstance(testbed, { now: () => clock.now })
      const agent = await registerKeys(instance)
      const exp = Math.floor(clock.now.getTime() / 1000) + 60
      const usedFields = createAssertionFields(await signAssertion(instance, agent, { exp }))
      expect((await requestTokenWithFields(instance, usedFields)).status).toBe(200)
      // The last second in which an instance accepts an assertion with this `exp`.
      clock.now = new Date((exp + CLOCK_TOLERANCE_SECONDS - 1) * 1000)
      await sweepUsedJtis(testbed.db, clock.now)
      expectProblem(await requestTokenWithFields(instance, usedFields), invalidClient)
      // A new assertion with the same `exp` is accepted, so the used one was refused for its jti.
      const response = await requestTokenWithFields(
        instance,
        createAssertionFields(await signAssertion(instance, agent, { exp })),
      )
      expect(response.status).toBe(200)
      clock.now = new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000)
      expectProblem(
        await requestTokenWithFields(
          instance,
          createAssertionFields(await signAssertion(instance, agent, { exp })),
        ),
        invalidClient,
      )
    })

    test('rejects a used assertion even after a restart and the loss of all data in Redis', async () => {
      const agent = await registerKeys(auth)
      const stoppedInstance = await startInstance(testbed)
      const fields = createAssertionFields(await signAssertion(stoppedInstance, agent))
      expect((await requestTokenWithFields(stoppedInstance, fields)).status).toBe(200)
      await stoppedInstance[Symbol.asyncDispose]()
      await testbed.redis?.loseKeys()
      await using restartedInstance = await startInstance(testbed)
      for (const each of [restartedInstance, auth, otherInstance])
        expectProblem(await requestTokenWithFields(each, fields), invalidClient)
      expect((await requestTokenWithNewAssertion(restartedInstance, agent)).status).toBe(200)
    })

    const replaceKeys = async (agent: KeyAgent | RegisteredAgent, key: KeyPair) => {
      const { headers, body } = createJsonContent({ keys: [key.jwk] })
      const authentication =
        'key' in agent
          ? { 'client-assertion': await signAssertion(auth, agent as KeyAgent) }
          : agentAuthHeader(agent)
      return send(auth.url, {
        method: 'PUT',
        path: '/api/agent/jwks',
        headers: { ...headers, ...authentication },
        body,
      })
    }

    test('rejects a replaced key at an instance with a stale cache', async () => {
      const agent = await registerKeys(auth)
      expect((await requestTokenWithNewAssertion(otherInstance, agent)).status).toBe(200)
      // Without this trigger, the other instance is not notified of the change, and keeps the old key in its cache.
      await testbed.runAsOwner('alter table agents disable trigger agents_changed')
      try {
        expect((await replaceKeys(agent, await generateTestKeyPair())).status).toBe(200)
        expectProblem(await requestTokenWithNewAssertion(otherInstance, agent), invalidClient)
      } finally {
        await testbed.runAsOwner('alter table agents enable trigger agents_changed')
      }
    })

    test('accepts at one instance the keys that replaced a secret at the other', async () => {
      const agent = await register(auth)
      expect((await requestToken(otherInstance, agent)).status).toBe(200)
      const key = await generateTestKeyPair()
      expect((await replaceKeys(agent, key)).status).toBe(200)
      await expect.poll(async () => (await requestToken(otherInstance, agent)).status).toBe(401)
      await expect
        .poll(
          async () =>
            (await requestTokenWithNewAssertion(otherInstance, { client_id: agent.client_id, key })).status,
        )
        .toBe(200)
    })

    test('accepts only one of two keys that simultaneous requests set, and rejects the secret', async () => {
      const agent = await register(auth)
      const keys = await Promise.all([generateTestKeyPair(), generateTestKeyPair()])
      const statuses = (await Promise.all(keys.map((key) => replaceKeys(agent, key)))).map(
        ({ status }) => status,
      )
      expect(statuses).toContain(200)
      await expect.poll(async () => (await requestToken(auth, agent)).status).toBe(401)
      const keyStatuses = await Promise.all(
        keys.map(
          async (key) =>
            (await requestTokenWithNewAssertion(auth, { client_id: agent.client_id, key })).status,
        ),
      )
      expect(keyStatuses.toSorted()).toEqual([200, 401])
    })
  },
)
