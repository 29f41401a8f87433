import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAuthHeader, getToken, isActive, register } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import {
  createAssertionFields,
  createAssertionHeader,
  type KeyAgent,
  newKey,
  putKeys,
  registerKeys,
  requestTokenByKey,
  requestTokenWith,
  signAssertion,
} from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_PLACES)('PUT /api/agent/jwks, tokens in %s:', (tokens) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  beforeAll(async () => {
    auth = await startAuth({ tokens })
    otherInstance = await startInstance(auth.stores)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  async function getTokenByKey(agent: KeyAgent, instance = auth): Promise<string> {
    const response = await requestTokenByKey(instance, agent)
    expect(response.status, response.text).toBe(200)
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    return token
  }
  const isActiveAtEach = (token: string) =>
    Promise.all([auth, otherInstance].map((instance) => isActive(instance, token)))
  const replaceKeys = async (agent: KeyAgent, ...keys: Awaited<ReturnType<typeof newKey>>[]) => {
    const response = await putKeys(auth, await createAssertionHeader(auth, agent), { keys })
    expect(response.status, response.text).toBe(200)
  }
  /** Finds the credential version, which is in the column `generation`. */
  const findCredentialVersion = async ({ client_id }: Pick<KeyAgent, 'client_id'>) => {
    const { rows } = await auth.stores.db.query<{ generation: number }>(
      'select generation from agents where id = $1',
      [client_id],
    )
    return rows[0]?.generation
  }

  test('revokes tokens issued for a removed key, at every instance', async () => {
    const agent = await registerKeys(auth)
    const tokensBefore = [await getTokenByKey(agent), await getTokenByKey(agent, otherInstance)]
    const key = await newKey()
    await replaceKeys(agent, key)
    for (const token of tokensBefore) expect(await isActiveAtEach(token)).toEqual([false, false])
    const renewedAgent = { ...agent, key }
    await expect.poll(async () => (await requestTokenByKey(otherInstance, renewedAgent)).status).toBe(200)
    for (const instance of [auth, otherInstance])
      expect(await isActiveAtEach(await getTokenByKey(renewedAgent, instance))).toEqual([true, true])
  })

  test('revokes tokens of a client that retains another key, and issues new tokens for that key', async () => {
    const [retained, leaked] = [await newKey(), await newKey()]
    const agent = await registerKeys(auth, retained, leaked)
    const token = await getTokenByKey({ ...agent, key: leaked })
    await replaceKeys(agent, retained)
    expect(await isActiveAtEach(token)).toEqual([false, false])
    expect(await isActiveAtEach(await getTokenByKey(agent))).toEqual([true, true])
  })

  test('revokes no token when a key is added, renamed or reordered, but revokes all when a key is removed', async () => {
    const agent = await registerKeys(auth)
    const token = await getTokenByKey(agent)
    const addedKey = await newKey('EdDSA')
    const renamedKey = { ...agent.key, jwk: { ...agent.key.jwk, kid: 'renamed' } }
    await replaceKeys(agent, agent.key, addedKey)
    await replaceKeys(agent, addedKey, agent.key)
    await replaceKeys({ ...agent, key: addedKey }, addedKey, renamedKey)
    await replaceKeys({ ...agent, key: renamedKey }, addedKey, renamedKey)
    expect(await isActiveAtEach(token)).toEqual([true, true])
    expect(await findCredentialVersion(agent)).toBe(1)
    await replaceKeys({ ...agent, key: addedKey }, addedKey)
    expect(await isActiveAtEach(token)).toEqual([false, false])
    expect(await findCredentialVersion(agent)).toBe(2)
  })

  test('revokes tokens issued for a secret when keys replace it', async () => {
    const agent = await register(auth)
    const token = await getToken(otherInstance, agent)
    const key = await newKey()
    expect((await putKeys(auth, agentAuthHeader(agent), { keys: [key] })).status).toBe(200)
    expect(await isActiveAtEach(token)).toEqual([false, false])
    expect(await isActiveAtEach(await getTokenByKey({ client_id: agent.client_id, key }))).toEqual([
      true,
      true,
    ])
  })

  test('an instance with a stale cache rejects a removed key, and issues no active token for a retained key', async () => {
    const [retained, removed] = [await newKey(), await newKey()]
    const agent = await registerKeys(auth, retained, removed)
    await getTokenByKey(agent, otherInstance)
    await auth.stores.asOwner('alter table agents disable trigger agents_changed')
    try {
      await replaceKeys(agent, retained)
      const response = await requestTokenWith(
        otherInstance,
        createAssertionFields(await signAssertion(otherInstance, { ...agent, key: removed })),
      )
      expect(response.status).toBe(401)
      expect(await isActiveAtEach(await getTokenByKey(agent, otherInstance))).toEqual([false, false])
    } finally {
      await auth.stores.asOwner('alter table agents enable trigger agents_changed')
    }
  })
})
