import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAuthHeader, getToken, isActive, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import {
  createAssertionFields,
  createAssertionHeader,
  generateTestKeyPair,
  type KeyAgent,
  type KeyPair,
  putKeys,
  registerKeys,
  requestTokenWithFields,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_STORES)('PUT /api/agent/jwks, tokens in %s:', (tokenStore) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  beforeAll(async () => {
    auth = await startAuth({ tokenStore })
    otherInstance = await startInstance(auth.testbed)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  async function getTokenByKey(agent: KeyAgent, instance = auth): Promise<string> {
    const response = await requestTokenWithNewAssertion(instance, agent)
    expect(response.status, response.text).toBe(200)
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    return token
  }
  const isActiveAtEachInstance = (token: string) =>
    Promise.all([auth, otherInstance].map((instance) => isActive(instance, token)))
  const replaceKeys = async (agent: KeyAgent, ...keys: KeyPair[]) => {
    const response = await putKeys(auth, await createAssertionHeader(auth, agent), { keys })
    expect(response.status, response.text).toBe(200)
  }
  /** Finds the credential version, which is in the column `generation`. */
  const findCredentialVersion = async ({ client_id }: Pick<KeyAgent, 'client_id'>) => {
    const { rows } = await auth.testbed.db.query<{ generation: number }>(
      'select generation from agents where id = $1',
      [client_id],
    )
    return rows[0]?.generation
  }

  test('revokes tokens issued for a removed key, at every instance', async () => {
    const agent = await registerKeys(auth)
    const tokensBefore = [await getTokenByKey(agent), await getTokenByKey(agent, otherInstance)]
    const key = await generateTestKeyPair()
    await replaceKeys(agent, key)
    for (const token of tokensBefore) expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    const renewedAgent = { ...agent, key }
    // The other instance is notified of the new key a moment later.
    await expect
      .poll(async () => (await requestTokenWithNewAssertion(otherInstance, renewedAgent)).status)
      .toBe(200)
    for (const instance of [auth, otherInstance])
      expect(await isActiveAtEachInstance(await getTokenByKey(renewedAgent, instance))).toEqual([true, true])
  })

  test('revokes the tokens of a client when one of its two keys is removed, and issues new tokens for the other', async () => {
    const [retained, leaked] = [await generateTestKeyPair(), await generateTestKeyPair()]
    const agent = await registerKeys(auth, retained, leaked)
    const token = await getTokenByKey({ ...agent, key: leaked })
    await replaceKeys(agent, retained)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    expect(await isActiveAtEachInstance(await getTokenByKey(agent))).toEqual([true, true])
  })

  test('revokes no token when a key is added, renamed or reordered, but revokes all when a key is removed', async () => {
    const agent = await registerKeys(auth)
    const token = await getTokenByKey(agent)
    const addedKey = await generateTestKeyPair('EdDSA')
    const renamedKey = { ...agent.key, jwk: { ...agent.key.jwk, kid: 'renamed' } }
    await replaceKeys(agent, agent.key, addedKey)
    await replaceKeys(agent, addedKey, agent.key)
    await replaceKeys({ ...agent, key: addedKey }, addedKey, renamedKey)
    await replaceKeys({ ...agent, key: renamedKey }, addedKey, renamedKey)
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    expect(await findCredentialVersion(agent)).toBe(1)
    await replaceKeys({ ...agent, key: addedKey }, addedKey)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    expect(await findCredentialVersion(agent)).toBe(2)
  })

  test('revokes tokens issued for a secret when keys replace it', async () => {
    const agent = await register(auth)
    const token = await getToken(otherInstance, agent)
    const key = await generateTestKeyPair()
    expect((await putKeys(auth, agentAuthHeader(agent), { keys: [key] })).status).toBe(200)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    expect(await isActiveAtEachInstance(await getTokenByKey({ client_id: agent.client_id, key }))).toEqual([
      true,
      true,
    ])
  })

  test('an instance with a stale cache rejects a removed key, and issues no active token for a retained key', async () => {
    const [retained, removed] = [await generateTestKeyPair(), await generateTestKeyPair()]
    const agent = await registerKeys(auth, retained, removed)
    // The other instance caches the agent. Without the trigger, it is not notified of the change.
    await getTokenByKey(agent, otherInstance)
    await auth.testbed.runAsOwner('alter table agents disable trigger agents_changed')
    try {
      await replaceKeys(agent, retained)
      const response = await requestTokenWithFields(
        otherInstance,
        createAssertionFields(await signAssertion(otherInstance, { ...agent, key: removed })),
      )
      expect(response.status).toBe(401)
      expect(await isActiveAtEachInstance(await getTokenByKey(agent, otherInstance))).toEqual([false, false])
    } finally {
      await auth.testbed.runAsOwner('alter table agents enable trigger agents_changed')
    }
  })
})
