import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { json, register } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import {
  assertionFields,
  assertionOf,
  inHeader,
  type KeyAgent,
  newKey,
  registerKeys,
  seconds,
  tokenByKey,
} from './key-agent.ts'
import { type HttpRequest, type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

/*
 * The details that a response to a rejected client assertion discloses, by caller. A caller without a key of the client must not learn whether the
 * client exists (decision 34).
 */

const UNKNOWN_ID = `agt_${'A'.repeat(22)}`

let auth: RunningAuth
beforeAll(async () => {
  auth = await startAuth()
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

const asField = (path: string, fields: Record<string, string>) => (assertion: string) => ({
  method: 'POST',
  path,
  body: new URLSearchParams({ ...fields, ...assertionFields(assertion) }),
})
const asHeader = (request: HttpRequest) => (assertion: string) => ({
  ...request,
  headers: { ...request.headers, 'client-assertion': assertion },
})
const EMAIL = json({ email: 'ana@example.org' })
const ENDPOINTS: [string, 'oauth' | 'agent', (assertion: string) => HttpRequest][] = [
  ['POST /oauth/token', 'oauth', asField('/oauth/token', { grant_type: 'client_credentials' })],
  ['POST /oauth/revoke', 'oauth', asField('/oauth/revoke', { token: 'x' })],
  ['GET /api/agent', 'agent', asHeader({ path: '/api/agent' })],
  ['DELETE /api/agent', 'agent', asHeader({ method: 'DELETE', path: '/api/agent' })],
  ['POST /api/agent/claim', 'agent', asHeader({ method: 'POST', path: '/api/agent/claim', ...EMAIL })],
  ['POST /api/agent/assertion', 'agent', asHeader({ method: 'POST', path: '/api/agent/assertion' })],
]

/** All of a response but what differs from one request to the next. */
const lasting = ({ status, headers, text }: HttpResponse) => ({
  status,
  headers: Object.fromEntries(
    [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
  ),
  text: text.replaceAll(headers.get('x-request-id') ?? '', '<id>'),
})

async function deletedAgent(): Promise<KeyAgent> {
  const agent = await registerKeys(auth)
  const headers = await inHeader(auth, agent)
  expect((await send(auth.url, { method: 'DELETE', path: '/api/agent', headers })).status).toBe(204)
  return agent
}

async function disabledAgent(): Promise<KeyAgent> {
  const agent = await registerKeys(auth)
  await auth.stores.db.query(`update agents set status = 'disabled' where id = $1`, [agent.client_id])
  await expect.poll(async () => (await tokenByKey(auth, agent)).status).toBe(401)
  return agent
}

/** A client whose keys were replaced, with the key that it had. */
async function replacedKey(): Promise<KeyAgent> {
  const agent = await registerKeys(auth)
  const { headers, body } = json({ keys: [(await newKey()).jwk] })
  const put = { method: 'PUT', path: '/api/agent/jwks', body }
  const response = await send(auth.url, { ...put, headers: { ...headers, ...(await inHeader(auth, agent)) } })
  expect(response.status).toBe(200)
  await expect.poll(async () => (await tokenByKey(auth, agent)).status).toBe(401)
  return agent
}

describe.for(ENDPOINTS)('%s', ([_endpoint, shape, request]) => {
  const present = (assertion: string) => send(auth.url, request(assertion))
  const refusal = (says: RegExp): Refusal => ({
    status: 401,
    code: 'invalid-client',
    error: 'invalid_client',
    form: shape,
    says,
  })

  test.for([
    ['with kid', (agent: KeyAgent) => ({ kid: agent.key.jwk.kid }), /it has no key with this kid/],
    ['without kid', () => ({ kid: undefined }), /none of its keys made the signature/],
  ] satisfies [string, (agent: KeyAgent) => object, RegExp][])(
    'responds alike where the client is unknown, deleted, disabled or another, %s',
    async ([_title, header, says]) => {
      const key = await newKey()
      const known = await registerKeys(auth)
      const withSecret = await register(auth)
      const presented: KeyAgent[] = [
        { client_id: UNKNOWN_ID, key },
        { client_id: 'agt_of another form', key },
        { client_id: known.client_id, key },
        { client_id: known.client_id, key: { ...key, jwk: { ...key.jwk, kid: known.key.jwk.kid ?? '' } } },
        { client_id: withSecret.client_id, key },
        await deletedAgent(),
        await disabledAgent(),
        await replacedKey(),
      ]
      const responses = []
      for (const agent of presented)
        responses.push(await present(await assertionOf(auth, agent, {}, header(agent))))
      for (const response of responses) expectProblem(response, refusal(says))
      expect(responses[0]?.text).not.toMatch(/secret/i)
      const [unknown, ...others] = responses.map(lasting)
      expect(others).toEqual(others.map(() => unknown))
      expect((await tokenByKey(auth, known)).status).toBe(200)
    },
  )

  test('names a mistake in the content alike for a known and an unknown client', async () => {
    const known = await registerKeys(auth)
    const mistakes: [Record<string, unknown>, Record<string, unknown>, RegExp][] = [
      [{ exp: seconds() - 60, iat: undefined }, {}, /has expired/],
      [{ aud: `${auth.origin}/oauth/token` }, {}, /^The aud claim must be exactly/],
      [{}, { typ: 'at+jwt' }, /^The header parameter typ/],
    ]
    for (const [claims, header, says] of mistakes) {
      const [one, other] = await Promise.all(
        [known, { ...known, client_id: UNKNOWN_ID }].map(async (agent) =>
          present(await assertionOf(auth, agent, claims, header)),
        ),
      )
      expectProblem(one!, refusal(says))
      expect(lasting(one!)).toEqual(lasting(other!))
    }
  })

  test('describes mistakes in kid and jti only to a caller that signed with a key of the client', async () => {
    const [key, another] = [await newKey(), await newKey()]
    const { client_id } = await registerKeys(auth, key, another)
    const wrongKid = await assertionOf(auth, { client_id, key }, {}, { kid: another.jwk.kid })
    expectProblem(
      await present(wrongKid),
      refusal(/^The signature is valid, but another of your keys made it/),
    )
    const used = await assertionOf(auth, { client_id, key })
    await send(auth.url, { path: '/api/agent', headers: { 'client-assertion': used } })
    expectProblem(await present(used), refusal(/^This assertion was used before \(jti\)/))
    const forged = await assertionOf(auth, { client_id, key: { ...(await newKey()), jwk: key.jwk } })
    expectProblem(await present(forged), refusal(/^The signature cannot be verified/))
  })
})

test.for([
  ['where a form is taken', '/oauth/token', 'oauth', /as form fields, or send a client_assertion/],
  ['where none is', '/api/agent', 'agent', /in the header Client-Assertion/],
] as const)('without credentials, says how to send them %s', async ([_where, path, shape, says]) => {
  const request = path === '/api/agent' ? { path } : { method: 'POST', path, body: new URLSearchParams() }
  const refusal = { status: 401, code: 'invalid-client', error: 'invalid_client', form: shape, says }
  expectProblem(await send(auth.url, request), refusal)
})
