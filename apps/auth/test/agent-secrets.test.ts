import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  basic,
  deleteAgent,
  getToken,
  isActive,
  type Registered,
  register,
  requestIntrospection,
  requestToken,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectRefusal, expectSafe } from './expect-refusal.ts'
import { inHeader, registerKeys, tokenByKey } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const NOBODY = { status: 401, code: 'invalid-client', error: 'invalid_client', form: 'agent' } as const

interface Secret {
  readonly secret_id: string
  readonly created_at: string
  readonly ends_at?: string
}

describe.for(TOKEN_PLACES)('/api/agent/secrets, tokens in %s,', (tokens) => {
  let auth: RunningAuth
  let other: RunningAuth
  const clock = { now: new Date() }
  beforeAll(async () => {
    const now = () => clock.now
    auth = await startAuth({ tokens, now })
    other = await startInstance(auth.stores, { now })
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await other[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const post = (headers: Record<string, string>, at = auth) =>
    send(at.url, { method: 'POST', path: '/api/agent/secrets', headers })
  const end = (agent: Registered, id: string, at = auth) =>
    send(at.url, { method: 'DELETE', path: `/api/agent/secrets/${id}`, headers: asAgent(agent) })
  const findSecrets = async (agent: Registered): Promise<Secret[]> => {
    const { text } = await send(auth.url, { path: '/api/agent', headers: asAgent(agent) })
    return (JSON.parse(text) as { secrets: Secret[] }).secrets
  }
  const status = async (response: Promise<HttpResponse>) => (await response).status

  async function added(
    agent: Registered,
  ): Promise<{ agent: Registered; id: string; response: HttpResponse }> {
    const response = await post(asAgent(agent))
    expect(response.status, response.text).toBe(201)
    const body = JSON.parse(response.text) as { client_secret: string; secret_id: string }
    auth.confidential.add(body.client_secret)
    return { agent: { ...agent, client_secret: body.client_secret }, id: body.secret_id, response }
  }

  test('POST returns a second secret, once; both work, and GET lists them', async () => {
    const old = await register(auth)
    const { agent: renewed, id, response } = await added(old)
    await expectSafe(auth, { ...response, text: '' })
    expect(response.headers.get('cache-control')).toBe('no-store')
    const secrets = await findSecrets(renewed)
    expect(secrets).toEqual([
      {
        secret_id: expect.any(String),
        created_at: expect.stringMatching(/Z$/),
        ends_at: new Date(clock.now.getTime() + 7 * DAY_MS).toISOString(),
      },
      { secret_id: id, created_at: clock.now.toISOString() },
    ])
    expect(JSON.parse(response.text)).toEqual({
      client_id: old.client_id,
      secret_id: id,
      client_secret: expect.stringMatching(/^pps_[A-Za-z0-9_-]{43}$/),
      client_secret_expires_at: 0,
      created_at: clock.now.toISOString(),
      secrets,
    })
    for (const each of [old, renewed])
      for (const at of [auth, other]) await expect.poll(() => status(requestToken(at, each))).toBe(200)
  })

  test('accepts the old secret for seven days, and the new one after that', async () => {
    const old = await register(auth)
    await getToken(other, old)
    const { agent: renewed } = await added(old)
    await expect.poll(() => status(requestToken(other, renewed))).toBe(200)
    clock.now = new Date(clock.now.getTime() + 7 * DAY_MS - 1)
    for (const at of [auth, other]) expect((await requestToken(at, old)).status).toBe(200)
    clock.now = new Date(clock.now.getTime() + 1)
    for (const at of [auth, other]) {
      const refused = await requestToken(at, old)
      expectProblem(refused, { ...NOBODY, form: 'oauth' })
      expect((await requestToken(at, renewed)).status).toBe(200)
    }
    expect(await findSecrets(renewed)).toHaveLength(1)
    const again = await added(renewed)
    expect((await requestToken(auth, again.agent)).status).toBe(200)
    clock.now = new Date()
  })

  test('rejects a removed secret and its tokens at every instance', async () => {
    const old = await register(auth)
    const token = await getToken(other, old)
    const { agent: renewed } = await added(old)
    const [first] = await findSecrets(renewed)
    expect(await isActive(other, token)).toBe(true)
    expect((await end(renewed, first!.secret_id)).status).toBe(204)
    for (const at of [auth, other]) {
      expect(await isActive(at, token)).toBe(false)
      expectProblem(await send(at.url, { path: '/api/agent', headers: asAgent(old) }), NOBODY)
      expectProblem(await post(asAgent(old), at), NOBODY)
      await expect.poll(() => status(requestToken(at, old))).toBe(401)
      expect(await isActive(at, await getToken(at, renewed))).toBe(true)
    }
  })

  test('rejects a token issued for a removed secret by an instance with a stale cache', async () => {
    const old = await register(auth)
    await getToken(other, old)
    const { agent: renewed } = await added(old)
    const [first] = await findSecrets(renewed)
    await getToken(other, old)
    const triggers = (what: 'disable' | 'enable') =>
      auth.stores.asOwner(
        `alter table agents ${what} trigger agents_changed; alter table agent_secrets ${what} trigger agent_secrets_changed`,
      )
    await triggers('disable')
    expect((await end(renewed, first!.secret_id)).status).toBe(204)
    const late = await requestToken(other, old)
    if (late.status === 200) {
      const { access_token: token } = JSON.parse(late.text) as { access_token: string }
      auth.confidential.add(token)
      for (const at of [auth, other]) expect(await isActive(at, token)).toBe(false)
    }
    await triggers('enable')
  })

  test('revokes the unknown secret after a lost response, keeps the known one, and issues another', async () => {
    const agent = await register(auth)
    await added(agent)
    const [known, lost] = await findSecrets(agent)
    expect((await end(agent, lost!.secret_id)).status).toBe(204)
    expect(await findSecrets(agent)).toEqual([{ secret_id: known!.secret_id, created_at: known!.created_at }])
    expect((await added(agent)).response.status).toBe(201)
  })

  test('refuses to remove the last secret, or to add a third', async () => {
    const agent = await register(auth)
    const [only] = await findSecrets(agent)
    const last = { status: 409, code: 'last-secret', error: 'last_secret', form: 'agent' } as const
    await expectRefusal(auth, () => end(agent, only!.secret_id), last)
    const { agent: renewed } = await added(agent)
    const tooMany = {
      status: 409,
      code: 'too-many-secrets',
      error: 'too_many_secrets',
      form: 'agent',
    } as const
    await expectRefusal(auth, () => post(asAgent(renewed)), tooMany)
    const before = await findSecrets(renewed)
    const raced = await Promise.all(before.map(({ secret_id }) => end(renewed, secret_id)))
    expect(raced.map((response) => response.status).sort()).not.toEqual([204, 204])
    const { rows } = await auth.stores.db.query('select id from agent_secrets where agent_id = $1', [
      agent.client_id,
    ])
    expect(rows).toHaveLength(1)
  })

  test('gives a secret to one of many simultaneous requests', async () => {
    const agent = await register(auth)
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, index) => post(asAgent(agent), index % 2 ? auth : other)),
    )
    for (const { text } of responses.filter((response) => response.status === 201))
      auth.confidential.add((JSON.parse(text) as { client_secret: string }).client_secret)
    expect(responses.filter((response) => response.status === 201)).toHaveLength(1)
    expect(await findSecrets(agent)).toHaveLength(2)
  })

  test.for([
    ['no credentials', (): Record<string, string> => ({})],
    ['a wrong secret', (agent: Registered) => basic(agent.client_id, 'pps_wrong')],
    ['an unknown client', (agent: Registered) => basic(`agt_${'A'.repeat(22)}`, agent.client_secret)],
  ] as const)('refuses %s', async ([_why, headers]) => {
    const agent = await register(auth)
    const { agent: renewed } = await added(agent)
    const [{ secret_id: id } = { secret_id: '' }] = await findSecrets(renewed)
    await expectRefusal(auth, () => post(headers(agent)), NOBODY)
    const path = `/api/agent/secrets/${id}`
    await expectRefusal(
      auth,
      () => send(auth.url, { method: 'DELETE', path, headers: headers(agent) }),
      NOBODY,
    )
    expect((await end(renewed, id)).status).toBe(204)
    expect((await added(renewed)).response.status).toBe(201)
  })

  test('refuses to remove a secret that is unknown, removed, of another client, or without an id', async () => {
    const [agent, stranger] = [await register(auth), await register(auth)]
    const { agent: renewed } = await added(agent)
    const { id: theirs } = await added(stranger)
    const [first] = await findSecrets(renewed)
    const nothing = { status: 404, code: 'not-found', form: 'agent' } as const
    for (const id of [theirs, crypto.randomUUID()]) await expectRefusal(auth, () => end(renewed, id), nothing)
    const malformed = await end(renewed, 'x')
    expect([400, 404]).toContain(malformed.status)
    expect((await end(renewed, first!.secret_id)).status).toBe(204)
    await expectRefusal(auth, () => end(renewed, first!.secret_id), nothing)
    expect(await findSecrets(stranger)).toHaveLength(2)
  })

  test('refuses secrets to an agent with keys, and to a deleted one', async () => {
    const keyed = await registerKeys(auth)
    const asKeyed = await inHeader(auth, keyed)
    const refused = await post(asKeyed)
    expectProblem(refused, { status: 409, code: 'client-has-keys', error: 'client_has_keys', form: 'agent' })
    expect((await tokenByKey(auth, keyed)).status).toBe(200)
    const agent = await register(auth)
    expect((await added(agent)).response.status).toBe(201)
    expect((await deleteAgent(auth, agent)).status).toBe(204)
    await expectRefusal(auth, () => post(asAgent(agent)), NOBODY)
    expect((await requestIntrospection(auth, 'ppt_unknown')).status).toBe(200)
  })
})
