import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createJsonContent, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import {
  createAssertionFields,
  createAssertionHeader,
  generateTestKeyPair,
  type KeyAgent,
  nowSeconds,
  registerKeys,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { type HttpRequest, type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

/*
 * Tests what the response to a rejected client assertion discloses. A caller without a key of the client must not learn
 * whether the client exists (docs/decisions/0034).
 */

const UNKNOWN_ID = `agt_${'A'.repeat(22)}`

let auth: RunningAuth
beforeAll(async () => {
  auth = await startAuth()
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

const asField = (path: string, fields: Record<string, string>) => (assertion: string) => ({
  method: 'POST',
  path,
  body: new URLSearchParams({ ...fields, ...createAssertionFields(assertion) }),
})
const asHeader = (request: HttpRequest) => (assertion: string) => ({
  ...request,
  headers: { ...request.headers, 'client-assertion': assertion },
})
const EMAIL = createJsonContent({ email: 'ana@example.org' })
/** The endpoints: a title, the format of their errors, and how they receive an assertion. */
const ENDPOINTS: [string, 'oauth' | 'agent', (assertion: string) => HttpRequest][] = [
  ['POST /oauth/token', 'oauth', asField('/oauth/token', { grant_type: 'client_credentials' })],
  ['POST /oauth/revoke', 'oauth', asField('/oauth/revoke', { token: 'x' })],
  ['GET /api/agent', 'agent', asHeader({ path: '/api/agent' })],
  ['DELETE /api/agent', 'agent', asHeader({ method: 'DELETE', path: '/api/agent' })],
  ['POST /api/agent/claim', 'agent', asHeader({ method: 'POST', path: '/api/agent/claim', ...EMAIL })],
  ['POST /api/agent/assertion', 'agent', asHeader({ method: 'POST', path: '/api/agent/assertion' })],
]

/** Removes from a response the parts that differ between any two responses. */
const removeVariableParts = ({ status, headers, text }: HttpResponse) => ({
  status,
  headers: Object.fromEntries(
    [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
  ),
  text: text.replaceAll(headers.get('x-request-id') ?? '', '<id>'),
})

async function createDeletedAgent(): Promise<KeyAgent> {
  const agent = await registerKeys(auth)
  const headers = await createAssertionHeader(auth, agent)
  expect((await send(auth.url, { method: 'DELETE', path: '/api/agent', headers })).status).toBe(204)
  return agent
}

async function createDisabledAgent(): Promise<KeyAgent> {
  const agent = await registerKeys(auth)
  await auth.testbed.db.query(`update agents set status = 'disabled' where id = $1`, [agent.client_id])
  // The instance is notified of the change a moment later.
  await expect.poll(async () => (await requestTokenWithNewAssertion(auth, agent)).status).toBe(401)
  return agent
}

/** Creates an agent whose key was replaced. The returned agent still signs with the old key. */
async function createAgentWithReplacedKey(): Promise<KeyAgent> {
  const agent = await registerKeys(auth)
  const { headers, body } = createJsonContent({ keys: [(await generateTestKeyPair()).jwk] })
  const putRequest = { method: 'PUT', path: '/api/agent/jwks', body }
  const response = await send(auth.url, {
    ...putRequest,
    headers: { ...headers, ...(await createAssertionHeader(auth, agent)) },
  })
  expect(response.status).toBe(200)
  await expect.poll(async () => (await requestTokenWithNewAssertion(auth, agent)).status).toBe(401)
  return agent
}

describe.for(ENDPOINTS)('%s', ([_endpoint, errorFormat, request]) => {
  const sendWithAssertion = (assertion: string) => send(auth.url, request(assertion))
  const refusal = (says: RegExp): Refusal => ({
    status: 401,
    code: 'invalid-client',
    error: 'invalid_client',
    errorFormat,
    says,
  })

  test.for([
    ['with kid', (agent: KeyAgent) => ({ kid: agent.key.jwk.kid }), /it has no key with this kid/],
    ['without kid', () => ({ kid: undefined }), /none of its keys made the signature/],
  ] satisfies [string, (agent: KeyAgent) => object, RegExp][])(
    'gives the same response whether the client is unknown, deleted or disabled, or has another key or a secret: %s',
    async ([_title, header, says]) => {
      const key = await generateTestKeyPair()
      const knownAgent = await registerKeys(auth)
      const agentWithSecret = await register(auth)
      const signers: KeyAgent[] = [
        { client_id: UNKNOWN_ID, key },
        { client_id: 'agt_of another form', key },
        { client_id: knownAgent.client_id, key },
        {
          client_id: knownAgent.client_id,
          key: { ...key, jwk: { ...key.jwk, kid: knownAgent.key.jwk.kid ?? '' } },
        },
        { client_id: agentWithSecret.client_id, key },
        await createDeletedAgent(),
        await createDisabledAgent(),
        await createAgentWithReplacedKey(),
      ]
      const responses = []
      for (const agent of signers)
        responses.push(await sendWithAssertion(await signAssertion(auth, agent, {}, header(agent))))
      for (const response of responses) expectProblem(response, refusal(says))
      // Nothing may suggest that one of the clients has a secret.
      expect(responses[0]?.text).not.toMatch(/secret/i)
      const [unknown, ...others] = responses.map(removeVariableParts)
      expect(others).toEqual(others.map(() => unknown))
      expect((await requestTokenWithNewAssertion(auth, knownAgent)).status).toBe(200)
    },
  )

  test('describes a mistake in the claims or the header in the same way for a known and for an unknown client', async () => {
    const knownAgent = await registerKeys(auth)
    const mistakes: [Record<string, unknown>, Record<string, unknown>, RegExp][] = [
      [{ exp: nowSeconds() - 60, iat: undefined }, {}, /has expired/],
      [{ aud: `${auth.origin}/oauth/token` }, {}, /^The aud claim must be exactly/],
      [{}, { typ: 'at+jwt' }, /^The header parameter typ/],
    ]
    for (const [claims, header, says] of mistakes) {
      const [knownResponse, unknownResponse] = await Promise.all(
        [knownAgent, { ...knownAgent, client_id: UNKNOWN_ID }].map(async (agent) =>
          sendWithAssertion(await signAssertion(auth, agent, claims, header)),
        ),
      )
      expectProblem(knownResponse!, refusal(says))
      expect(removeVariableParts(knownResponse!)).toEqual(removeVariableParts(unknownResponse!))
    }
  })

  test('describes mistakes in kid and jti only to a caller that signed with a key of the client', async () => {
    const [key, otherKey] = [await generateTestKeyPair(), await generateTestKeyPair()]
    const { client_id } = await registerKeys(auth, key, otherKey)
    const wrongKid = await signAssertion(auth, { client_id, key }, {}, { kid: otherKey.jwk.kid })
    expectProblem(
      await sendWithAssertion(wrongKid),
      refusal(/^The signature is valid, but another of your keys made it/),
    )
    const usedAssertion = await signAssertion(auth, { client_id, key })
    await send(auth.url, { path: '/api/agent', headers: { 'client-assertion': usedAssertion } })
    expectProblem(await sendWithAssertion(usedAssertion), refusal(/^This assertion was used before \(jti\)/))
    const forgedAssertion = await signAssertion(auth, {
      client_id,
      key: { ...(await generateTestKeyPair()), jwk: key.jwk },
    })
    expectProblem(await sendWithAssertion(forgedAssertion), refusal(/^The signature cannot be verified/))
  })
})

test.for([
  ['at an endpoint with a form', '/oauth/token', 'oauth', /as form fields, or send a client_assertion/],
  ['at an endpoint without a form', '/api/agent', 'agent', /in the header Client-Assertion/],
] as const)(
  'the response to a request without credentials says how to send them, %s',
  async ([_title, path, errorFormat, says]) => {
    const request = path === '/api/agent' ? { path } : { method: 'POST', path, body: new URLSearchParams() }
    const refusal = { status: 401, code: 'invalid-client', error: 'invalid_client', errorFormat, says }
    expectProblem(await send(auth.url, request), refusal)
  },
)
