import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, getToken, isActive, register } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import {
  assertionFields,
  assertionOf,
  inHeader,
  type KeyAgent,
  newKey,
  putKeys,
  registerKeys,
  tokenByKey,
  tokenFor,
} from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_PLACES)('PUT /api/agent/jwks, tokens in %s:', (tokens) => {
  let auth: RunningAuth
  let other: RunningAuth
  beforeAll(async () => {
    auth = await startAuth({ tokens })
    other = await startInstance(auth.stores)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await other[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  async function tokenOf(agent: KeyAgent, at = auth): Promise<string> {
    const response = await tokenByKey(at, agent)
    expect(response.status, response.text).toBe(200)
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    return token
  }
  const activeAt = (token: string) => Promise.all([auth, other].map((at) => isActive(at, token)))
  const replace = async (agent: KeyAgent, ...keys: Awaited<ReturnType<typeof newKey>>[]) => {
    const response = await putKeys(auth, await inHeader(auth, agent), { keys })
    expect(response.status, response.text).toBe(200)
  }
  const findGeneration = async ({ client_id }: Pick<KeyAgent, 'client_id'>) => {
    const { rows } = await auth.stores.db.query<{ generation: number }>(
      'select generation from agents where id = $1',
      [client_id],
    )
    return rows[0]?.generation
  }

  test('revokes tokens issued for a removed key, at every instance', async () => {
    const agent = await registerKeys(auth)
    const held = [await tokenOf(agent), await tokenOf(agent, other)]
    const key = await newKey()
    await replace(agent, key)
    for (const token of held) expect(await activeAt(token)).toEqual([false, false])
    const renewed = { ...agent, key }
    await expect.poll(async () => (await tokenByKey(other, renewed)).status).toBe(200)
    for (const at of [auth, other]) expect(await activeAt(await tokenOf(renewed, at))).toEqual([true, true])
  })

  test('revokes them also for a client that keeps another key, and issues that client a new token at once', async () => {
    const [kept, leaked] = [await newKey(), await newKey()]
    const agent = await registerKeys(auth, kept, leaked)
    const token = await tokenOf({ ...agent, key: leaked })
    await replace(agent, kept)
    expect(await activeAt(token)).toEqual([false, false])
    expect(await activeAt(await tokenOf(agent))).toEqual([true, true])
  })

  test('revokes no token for an added key, another kid, another order, or the same set', async () => {
    const agent = await registerKeys(auth)
    const token = await tokenOf(agent)
    const added = await newKey('EdDSA')
    const renamed = { ...agent.key, jwk: { ...agent.key.jwk, kid: 'renamed' } }
    await replace(agent, agent.key, added)
    await replace(agent, added, agent.key)
    await replace({ ...agent, key: added }, added, renamed)
    await replace({ ...agent, key: renamed }, added, renamed)
    expect(await activeAt(token)).toEqual([true, true])
    expect(await findGeneration(agent)).toBe(1)
    await replace({ ...agent, key: added }, added)
    expect(await activeAt(token)).toEqual([false, false])
    expect(await findGeneration(agent)).toBe(2)
  })

  test('revokes tokens issued for a secret when keys replace it', async () => {
    const agent = await register(auth)
    const token = await getToken(other, agent)
    const key = await newKey()
    expect((await putKeys(auth, asAgent(agent), { keys: [key] })).status).toBe(200)
    expect(await activeAt(token)).toEqual([false, false])
    expect(await activeAt(await tokenOf({ client_id: agent.client_id, key }))).toEqual([true, true])
  })

  test('rejects a token that an instance with a stale cache issues for a removed key', async () => {
    const [kept, removed] = [await newKey(), await newKey()]
    const agent = await registerKeys(auth, kept, removed)
    await tokenOf(agent, other)
    await auth.stores.asOwner('alter table agents disable trigger agents_changed')
    try {
      await replace(agent, kept)
      const late = await tokenFor(
        other,
        assertionFields(await assertionOf(other, { ...agent, key: removed })),
      )
      expect(late.status).toBe(401)
      expect(await activeAt(await tokenOf(agent, other))).toEqual([false, false])
    } finally {
      await auth.stores.asOwner('alter table agents enable trigger agents_changed')
    }
  })
})
