import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  basic,
  deleteAgent,
  GRANT,
  type Registered,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { CANARY, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type HttpRequest, type HttpResponse, rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalid: Refusal = { status: 400, code: 'invalid-request' }
const CHALLENGE = 'Basic realm="plainpath", charset="UTF-8"'
const nobody: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  headers: { 'www-authenticate': CHALLENGE },
}
const asBasic = (text: string, scheme = 'Basic') => ({
  authorization: `${scheme} ${Buffer.from(text).toString('base64')}`,
})
const FORM = 'Content-Type: application/x-www-form-urlencoded'
const UNKNOWN_ID = `agt_${'A'.repeat(22)}`
const WRONG_SECRET = `pps_${'A'.repeat(43)}`

let auth: RunningAuth
let agent: Registered
let other: Registered
beforeAll(async () => {
  auth = await startAuth()
  agent = await register(auth)
  other = await register(auth)
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

/** Requests a token with these headers and fields, and no other credentials. */
const requestTokenWith = (
  headers: Record<string, string>,
  fields: Record<string, string> = {},
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers,
    body: new URLSearchParams({ ...GRANT, ...fields }),
  })
const inForm = ({ client_id, client_secret }: Registered) => ({ client_id, client_secret })
const expectGranted = async (response: Promise<HttpResponse>) => expect((await response).status).toBe(200)

describe('a client authenticates', () => {
  test.for([
    ['with HTTP Basic', () => requestTokenWith(asAgent(agent))],
    ['in the form', () => requestTokenWith({}, inForm(agent))],
    [
      'with the scheme in small letters',
      () => requestTokenWith(asBasic(`${agent.client_id}:${agent.client_secret}`, 'basic')),
    ],
    [
      'with two blanks',
      () => requestTokenWith(asBasic(`${agent.client_id}:${agent.client_secret}`, 'Basic ')),
    ],
    [
      'with an encoded id',
      () => requestTokenWith(asBasic(`${agent.client_id.replaceAll('_', '%5F')}:${agent.client_secret}`)),
    ],
    [
      'with Basic and the same id in the form',
      () => requestTokenWith(asAgent(agent), { client_id: agent.client_id }),
    ],
    [
      'with Basic and an empty secret in the form',
      () => requestTokenWith(asAgent(agent), { client_secret: '' }),
    ],
  ] satisfies [string, () => Promise<HttpResponse>][])('%s', async ([_how, sent]) => {
    await expectGranted(sent())
  })
})

describe('is refused, storing nothing,', () => {
  test.for([
    [
      'nothing at all',
      () => requestTokenWith({}),
      { ...nobody, says: 'Send client_id and client_secret with HTTP Basic' },
    ],
    ['an unknown client', () => requestTokenWith(basic(UNKNOWN_ID, agent.client_secret)), nobody],
    ['a wrong secret', () => requestTokenWith(basic(agent.client_id, WRONG_SECRET)), nobody],
    [
      'the secret of another client',
      () => requestTokenWith(basic(agent.client_id, other.client_secret)),
      nobody,
    ],
    [
      'a letter less',
      () => requestTokenWith(basic(agent.client_id, agent.client_secret.slice(0, -1))),
      nobody,
    ],
    ['a letter more', () => requestTokenWith(basic(agent.client_id, `${agent.client_secret}x`)), nobody],
    [
      'other letters',
      () => requestTokenWith(basic(agent.client_id, agent.client_secret.toUpperCase())),
      nobody,
    ],
    [
      'an id in other letters',
      () => requestTokenWith(basic(agent.client_id.toUpperCase(), agent.client_secret)),
      nobody,
    ],
    ['an id that is no id', () => requestTokenWith(basic(CANARY, CANARY)), nobody],
    ['an id that looks like SQL', () => requestTokenWith(basic(`' or 1=1 --`, 'x')), nobody],
    ['an id and no secret in the form', () => requestTokenWith({}, { client_id: agent.client_id }), nobody],
    [
      'a secret and no id in the form',
      () => requestTokenWith({}, { client_secret: agent.client_secret }),
      nobody,
    ],
    [
      'another id in the form',
      () => requestTokenWith(asAgent(agent), { client_id: other.client_id }),
      invalid,
    ],
    [
      'a secret in both places',
      () => requestTokenWith(asAgent(agent), { client_secret: agent.client_secret }),
      invalid,
    ],
    ['two clients in two places', () => requestTokenWith(asAgent(agent), inForm(other)), invalid],
    ['no base64', () => requestTokenWith({ authorization: `Basic ${CANARY}` }), nobody],
    ['no colon', () => requestTokenWith(asBasic(agent.client_id)), nobody],
    ['an empty secret', () => requestTokenWith(asBasic(`${agent.client_id}:`)), nobody],
    ['a bad escape', () => requestTokenWith(asBasic(`${agent.client_id}:%zz`)), nobody],
    ['other letters than ASCII', () => requestTokenWith(asBasic(`${agent.client_id}:pässword`)), nobody],
    ['NUL', () => requestTokenWith(asBasic(`${agent.client_id}:a\0`)), nobody],
    ['8 kB', () => requestTokenWith(asBasic(`${agent.client_id}:${'x'.repeat(8_000)}`)), nobody],
    ['Bearer', () => requestTokenWith({ authorization: `Bearer ${agent.client_secret}` }), nobody],
    ['an empty header', () => requestTokenWith({ authorization: '' }, inForm(agent)), invalid],
    ['credentials in the query', () => askInQuery(), nobody],
    ['two Authorization headers', () => askTwice(agent, agent), invalid],
    ['two Authorization headers, the second wrong', () => askTwice(agent, other), invalid],
    [
      'two Authorizations in one header',
      () =>
        requestTokenWith({
          authorization: `${asAgent(agent).authorization}, ${asAgent(agent).authorization}`,
        }),
      nobody,
    ],
    [
      'a client assertion',
      () =>
        requestTokenWith(
          {},
          {
            client_assertion: 'e30.e30.',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          },
        ),
      nobody,
    ],
    ['a resource server', () => requestTokenWith(basic('rs_api', auth.stores.secrets.rs_api)), nobody],
  ] satisfies [string, () => Promise<HttpResponse>, Refusal][])('%s', async ([_why, sent, expected]) => {
    await expectRefusal(auth, sent, expected)
    await expectGranted(requestTokenWith(asAgent(agent)))
  })

  const askInQuery = () =>
    send(auth.url, {
      method: 'POST',
      path: `/oauth/token?${new URLSearchParams({ ...GRANT, ...inForm(agent) })}`,
      body: new URLSearchParams(GRANT),
    })
  async function askTwice(first: Registered, second: Registered) {
    const body = 'grant_type=client_credentials'
    const headers = [first, second].map((each) => `Authorization: ${asAgent(each).authorization}`)
    const request = rawRequest(
      'POST /oauth/token',
      [...headers, FORM, `Content-Length: ${body.length}`],
      body,
    )
    const [response] = await sendRaw(auth.url, request)
    return response!
  }
})

describe('an unknown, a wrong, a deleted and a disabled client', () => {
  const ENDPOINTS: [string, (headers: Record<string, string>) => HttpRequest][] = [
    [
      'POST /oauth/token',
      (headers) => ({ method: 'POST', path: '/oauth/token', headers, body: new URLSearchParams(GRANT) }),
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
  /** A response without the parts that differ from one request to the next. */
  const lasting = ({ status, headers, text }: HttpResponse) => ({
    status,
    headers: Object.fromEntries(
      [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
    ),
    text: text.replaceAll(headers.get('x-request-id') ?? '', '<id>'),
  })

  test.for(ENDPOINTS)('get the same response from %s', async ([_endpoint, request]) => {
    const [deleted, disabled] = [await register(auth), await register(auth)]
    await requestToken(auth, disabled)
    await deleteAgent(auth, deleted)
    await auth.stores.db.query(`update agents set status = 'disabled' where id = $1`, [disabled.client_id])
    await expect.poll(async () => (await requestToken(auth, disabled)).status).toBe(401)
    const responses = []
    for (const headers of [
      basic(UNKNOWN_ID, WRONG_SECRET),
      basic(agent.client_id, WRONG_SECRET),
      asAgent(deleted),
      asAgent(disabled),
    ])
      responses.push(lasting(await send(auth.url, request(headers))))
    const [unknown, ...others] = responses
    expect(unknown?.status).toBe(401)
    expect(unknown?.headers['www-authenticate']).toBe(CHALLENGE)
    expect(others).toEqual([unknown, unknown, unknown])
  })

  test('accepts a disabled client again after it was enabled', async () => {
    const client = await register(auth)
    await auth.stores.db.query(`update agents set status = 'disabled' where id = $1`, [client.client_id])
    await expect.poll(async () => (await requestToken(auth, client)).status).toBe(401)
    await auth.stores.db.query(`update agents set status = 'active' where id = $1`, [client.client_id])
    await expect.poll(async () => (await requestToken(auth, client)).status).toBe(200)
  })
})
