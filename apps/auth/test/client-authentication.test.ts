import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  CLIENT_CREDENTIALS_GRANT,
  deleteAgent,
  type RegisteredAgent,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, expectRefusal, type Refusal } from './expect-refusal.ts'
import { formatRawRequest, type HttpRequest, type HttpResponse, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalidRequest: Refusal = { status: 400, code: 'invalid-request' }
const CHALLENGE = 'Basic realm="plainpath", charset="UTF-8"'
const invalidClient: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  headers: { 'www-authenticate': CHALLENGE },
}
/** Creates an Authorization header with any text as the credentials, before base64. */
const asBasic = (text: string, scheme = 'Basic') => ({
  authorization: `${scheme} ${Buffer.from(text).toString('base64')}`,
})
const FORM_TYPE_HEADER = 'Content-Type: application/x-www-form-urlencoded'
const UNKNOWN_ID = `agt_${'A'.repeat(22)}`
const WRONG_SECRET = `pps_${'A'.repeat(43)}`

let auth: RunningAuth
let agent: RegisteredAgent
let otherAgent: RegisteredAgent
beforeAll(async () => {
  auth = await startAuth()
  agent = await register(auth)
  otherAgent = await register(auth)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

/** Requests a token with credentials in the headers, in the form fields, or in both. */
const requestTokenWithFields = (
  headers: Record<string, string>,
  fields: Record<string, string> = {},
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers,
    body: new URLSearchParams({ ...CLIENT_CREDENTIALS_GRANT, ...fields }),
  })
const toFormFields = ({ client_id, client_secret }: RegisteredAgent) => ({ client_id, client_secret })
const expectGranted = async (response: Promise<HttpResponse>) => expect((await response).status).toBe(200)

describe('a client authenticates', () => {
  test.for([
    ['with HTTP Basic', () => requestTokenWithFields(agentAuthHeader(agent))],
    ['in the form', () => requestTokenWithFields({}, toFormFields(agent))],
    [
      'with the scheme in lower case',
      () => requestTokenWithFields(asBasic(`${agent.client_id}:${agent.client_secret}`, 'basic')),
    ],
    [
      'with two spaces after the scheme',
      () => requestTokenWithFields(asBasic(`${agent.client_id}:${agent.client_secret}`, 'Basic ')),
    ],
    [
      'with a percent-encoded id',
      () =>
        requestTokenWithFields(asBasic(`${agent.client_id.replaceAll('_', '%5F')}:${agent.client_secret}`)),
    ],
    [
      'with Basic and the same id in the form',
      () => requestTokenWithFields(agentAuthHeader(agent), { client_id: agent.client_id }),
    ],
    [
      'with Basic and an empty secret in the form',
      () => requestTokenWithFields(agentAuthHeader(agent), { client_secret: '' }),
    ],
  ] satisfies [string, () => Promise<HttpResponse>][])('%s', async ([_title, sendRequest]) => {
    await expectGranted(sendRequest())
  })
})

describe('the token endpoint refuses, storing nothing,', () => {
  test.for([
    [
      'no credentials',
      () => requestTokenWithFields({}),
      { ...invalidClient, says: 'Send client_id and client_secret with HTTP Basic' },
    ],
    [
      'an unknown client',
      () => requestTokenWithFields(basicAuth(UNKNOWN_ID, agent.client_secret)),
      invalidClient,
    ],
    ['a wrong secret', () => requestTokenWithFields(basicAuth(agent.client_id, WRONG_SECRET)), invalidClient],
    [
      'the secret of another client',
      () => requestTokenWithFields(basicAuth(agent.client_id, otherAgent.client_secret)),
      invalidClient,
    ],
    [
      'a secret without its last letter',
      () => requestTokenWithFields(basicAuth(agent.client_id, agent.client_secret.slice(0, -1))),
      invalidClient,
    ],
    [
      'a secret with one additional letter',
      () => requestTokenWithFields(basicAuth(agent.client_id, `${agent.client_secret}x`)),
      invalidClient,
    ],
    [
      'a secret in capitals',
      () => requestTokenWithFields(basicAuth(agent.client_id, agent.client_secret.toUpperCase())),
      invalidClient,
    ],
    [
      'an id in capitals',
      () => requestTokenWithFields(basicAuth(agent.client_id.toUpperCase(), agent.client_secret)),
      invalidClient,
    ],
    ['an id in another form', () => requestTokenWithFields(basicAuth(CANARY, CANARY)), invalidClient],
    ['an id that looks like SQL', () => requestTokenWithFields(basicAuth(`' or 1=1 --`, 'x')), invalidClient],
    [
      'an id and no secret in the form',
      () => requestTokenWithFields({}, { client_id: agent.client_id }),
      invalidClient,
    ],
    [
      'a secret and no id in the form',
      () => requestTokenWithFields({}, { client_secret: agent.client_secret }),
      invalidClient,
    ],
    [
      'Basic credentials and another id in the form',
      () => requestTokenWithFields(agentAuthHeader(agent), { client_id: otherAgent.client_id }),
      invalidRequest,
    ],
    [
      'a secret in the header and in the form',
      () => requestTokenWithFields(agentAuthHeader(agent), { client_secret: agent.client_secret }),
      invalidRequest,
    ],
    [
      'one client in the header and another in the form',
      () => requestTokenWithFields(agentAuthHeader(agent), toFormFields(otherAgent)),
      invalidRequest,
    ],
    [
      'Basic credentials that are not base64',
      () => requestTokenWithFields({ authorization: `Basic ${CANARY}` }),
      invalidClient,
    ],
    [
      'Basic credentials without a colon',
      () => requestTokenWithFields(asBasic(agent.client_id)),
      invalidClient,
    ],
    ['an empty secret', () => requestTokenWithFields(asBasic(`${agent.client_id}:`)), invalidClient],
    [
      'a secret with an invalid escape',
      () => requestTokenWithFields(asBasic(`${agent.client_id}:%zz`)),
      invalidClient,
    ],
    [
      'a secret with letters outside ASCII',
      () => requestTokenWithFields(asBasic(`${agent.client_id}:pässword`)),
      invalidClient,
    ],
    ['a secret with NUL', () => requestTokenWithFields(asBasic(`${agent.client_id}:a\0`)), invalidClient],
    [
      'a secret of 8 kB',
      () => requestTokenWithFields(asBasic(`${agent.client_id}:${'x'.repeat(8_000)}`)),
      invalidClient,
    ],
    [
      'a secret with the scheme Bearer',
      () => requestTokenWithFields({ authorization: `Bearer ${agent.client_secret}` }),
      invalidClient,
    ],
    [
      'an empty Authorization header and credentials in the form',
      () => requestTokenWithFields({ authorization: '' }, toFormFields(agent)),
      invalidRequest,
    ],
    ['credentials in the query', () => requestInQuery(), invalidClient],
    ['two Authorization headers', () => requestWithTwoHeaders(agent, agent), invalidRequest],
    [
      'two Authorization headers, the second wrong',
      () => requestWithTwoHeaders(agent, otherAgent),
      invalidRequest,
    ],
    [
      'two credentials in one Authorization header',
      () =>
        requestTokenWithFields({
          authorization: `${agentAuthHeader(agent).authorization}, ${agentAuthHeader(agent).authorization}`,
        }),
      invalidClient,
    ],
    [
      'an unsigned client assertion',
      () =>
        requestTokenWithFields(
          {},
          {
            client_assertion: 'e30.e30.',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          },
        ),
      invalidClient,
    ],
    [
      'the credentials of a resource server',
      () => requestTokenWithFields(basicAuth('rs_api', auth.testbed.secrets.rs_api)),
      invalidClient,
    ],
  ] satisfies [string, () => Promise<HttpResponse>, Refusal][])(
    '%s',
    async ([_title, sendRequest, refusal]) => {
      await expectRefusal(auth, sendRequest, refusal)
      await expectGranted(requestTokenWithFields(agentAuthHeader(agent)))
    },
  )

  const requestInQuery = () =>
    send(auth.url, {
      method: 'POST',
      path: `/oauth/token?${new URLSearchParams({ ...CLIENT_CREDENTIALS_GRANT, ...toFormFields(agent) })}`,
      body: new URLSearchParams(CLIENT_CREDENTIALS_GRANT),
    })
  async function requestWithTwoHeaders(firstAgent: RegisteredAgent, secondAgent: RegisteredAgent) {
    const body = 'grant_type=client_credentials'
    const headers = [firstAgent, secondAgent].map(
      (each) => `Authorization: ${agentAuthHeader(each).authorization}`,
    )
    const request = formatRawRequest(
      'POST /oauth/token',
      [...headers, FORM_TYPE_HEADER, `Content-Length: ${body.length}`],
      body,
    )
    const [response] = await sendRaw(auth.url, request)
    return response!
  }
})

describe('an unknown, a deleted and a disabled client, and one with a wrong secret,', () => {
  const ENDPOINTS: [string, (headers: Record<string, string>) => HttpRequest][] = [
    [
      'POST /oauth/token',
      (headers) => ({
        method: 'POST',
        path: '/oauth/token',
        headers,
        body: new URLSearchParams(CLIENT_CREDENTIALS_GRANT),
      }),
    ],
    [
      'POST /oauth/revoke',
      (headers) => ({
        method: 'POST',
        path: '/oauth/revoke',
        headers,
        body: new URLSearchParams({ token: 'x' }),
      }),
    ],
    ['GET /api/agent', (headers) => ({ path: '/api/agent', headers })],
    ['DELETE /api/agent', (headers) => ({ method: 'DELETE', path: '/api/agent', headers })],
  ]
  /** Removes from a response the parts that differ between any two responses. */
  const removeVariableParts = ({ status, headers, text }: HttpResponse) => ({
    status,
    headers: Object.fromEntries(
      [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
    ),
    text: text.replaceAll(headers.get('x-request-id') ?? '', '<id>'),
  })

  test.for(ENDPOINTS)('get the same response from %s', async ([_endpoint, request]) => {
    const [deletedAgent, disabledAgent] = [await register(auth), await register(auth)]
    // Lets the instance cache the client. The poll below waits until a notification has invalidated the cache.
    await requestToken(auth, disabledAgent)
    await deleteAgent(auth, deletedAgent)
    await auth.testbed.db.query(`update agents set status = 'disabled' where id = $1`, [
      disabledAgent.client_id,
    ])
    await expect.poll(async () => (await requestToken(auth, disabledAgent)).status).toBe(401)
    const responses = []
    for (const headers of [
      basicAuth(UNKNOWN_ID, WRONG_SECRET),
      basicAuth(agent.client_id, WRONG_SECRET),
      agentAuthHeader(deletedAgent),
      agentAuthHeader(disabledAgent),
    ])
      responses.push(removeVariableParts(await send(auth.url, request(headers))))
    const [unknown, ...others] = responses
    expect(unknown?.status).toBe(401)
    expect(unknown?.headers['www-authenticate']).toBe(CHALLENGE)
    expect(others).toEqual([unknown, unknown, unknown])
  })
})

test('a disabled client gets tokens again once it is enabled', async () => {
  const client = await register(auth)
  await auth.testbed.db.query(`update agents set status = 'disabled' where id = $1`, [client.client_id])
  await expect.poll(async () => (await requestToken(auth, client)).status).toBe(401)
  await auth.testbed.db.query(`update agents set status = 'active' where id = $1`, [client.client_id])
  await expect.poll(async () => (await requestToken(auth, client)).status).toBe(200)
})
