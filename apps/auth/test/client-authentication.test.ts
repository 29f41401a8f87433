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
import { type Answer, type Request, rawRequest, send, sendRaw } from './send.ts'
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

/** Without credentials but for those given. */
const ask = (headers: Record<string, string>, fields: Record<string, string> = {}): Promise<Answer> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers,
    body: new URLSearchParams({ ...GRANT, ...fields }),
  })
const inForm = ({ client_id, client_secret }: Registered) => ({ client_id, client_secret })
const expectGranted = async (answer: Promise<Answer>) => expect((await answer).status).toBe(200)

describe('a client authenticates', () => {
  test.for([
    ['with HTTP Basic', () => ask(asAgent(agent))],
    ['in the form', () => ask({}, inForm(agent))],
    [
      'with the scheme in small letters',
      () => ask(asBasic(`${agent.client_id}:${agent.client_secret}`, 'basic')),
    ],
    ['with two blanks', () => ask(asBasic(`${agent.client_id}:${agent.client_secret}`, 'Basic '))],
    [
      'with an encoded id',
      () => ask(asBasic(`${agent.client_id.replaceAll('_', '%5F')}:${agent.client_secret}`)),
    ],
    ['with Basic and the same id in the form', () => ask(asAgent(agent), { client_id: agent.client_id })],
    ['with Basic and an empty secret in the form', () => ask(asAgent(agent), { client_secret: '' })],
  ] satisfies [string, () => Promise<Answer>][])('%s', async ([_how, sent]) => {
    await expectGranted(sent())
  })
})

describe('is refused, storing nothing,', () => {
  test.for([
    [
      'nothing at all',
      () => ask({}),
      { ...nobody, says: 'Send client_id and client_secret with HTTP Basic' },
    ],
    ['an unknown client', () => ask(basic(UNKNOWN_ID, agent.client_secret)), nobody],
    ['a wrong secret', () => ask(basic(agent.client_id, WRONG_SECRET)), nobody],
    ['the secret of another client', () => ask(basic(agent.client_id, other.client_secret)), nobody],
    ['a letter less', () => ask(basic(agent.client_id, agent.client_secret.slice(0, -1))), nobody],
    ['a letter more', () => ask(basic(agent.client_id, `${agent.client_secret}x`)), nobody],
    ['other letters', () => ask(basic(agent.client_id, agent.client_secret.toUpperCase())), nobody],
    ['an id in other letters', () => ask(basic(agent.client_id.toUpperCase(), agent.client_secret)), nobody],
    ['an id that is no id', () => ask(basic(CANARY, CANARY)), nobody],
    ['an id that looks like SQL', () => ask(basic(`' or 1=1 --`, 'x')), nobody],
    ['an id and no secret in the form', () => ask({}, { client_id: agent.client_id }), nobody],
    ['a secret and no id in the form', () => ask({}, { client_secret: agent.client_secret }), nobody],
    ['another id in the form', () => ask(asAgent(agent), { client_id: other.client_id }), invalid],
    ['a secret in both places', () => ask(asAgent(agent), { client_secret: agent.client_secret }), invalid],
    ['two clients in two places', () => ask(asAgent(agent), inForm(other)), invalid],
    ['no base64', () => ask({ authorization: `Basic ${CANARY}` }), nobody],
    ['no colon', () => ask(asBasic(agent.client_id)), nobody],
    ['an empty secret', () => ask(asBasic(`${agent.client_id}:`)), nobody],
    ['a bad escape', () => ask(asBasic(`${agent.client_id}:%zz`)), nobody],
    ['other letters than ASCII', () => ask(asBasic(`${agent.client_id}:pässword`)), nobody],
    ['NUL', () => ask(asBasic(`${agent.client_id}:a\0`)), nobody],
    ['8 kB', () => ask(asBasic(`${agent.client_id}:${'x'.repeat(8_000)}`)), nobody],
    ['Bearer', () => ask({ authorization: `Bearer ${agent.client_secret}` }), nobody],
    ['an empty header', () => ask({ authorization: '' }, inForm(agent)), invalid],
    ['credentials in the query', () => askInQuery(), nobody],
    ['two Authorization headers', () => askTwice(agent, agent), invalid],
    ['two Authorization headers, the second wrong', () => askTwice(agent, other), invalid],
    [
      'two Authorizations in one header',
      () => ask({ authorization: `${asAgent(agent).authorization}, ${asAgent(agent).authorization}` }),
      nobody,
    ],
    [
      'a client assertion',
      () =>
        ask(
          {},
          {
            client_assertion: 'e30.e30.',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          },
        ),
      nobody,
    ],
    ['a resource server', () => ask(basic('rs_api', auth.stores.secrets.rs_api)), nobody],
  ] satisfies [string, () => Promise<Answer>, Refusal][])('%s', async ([_why, sent, expected]) => {
    await expectRefusal(auth, sent, expected)
    await expectGranted(ask(asAgent(agent)))
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
    const [answer] = await sendRaw(auth.url, request)
    return answer!
  }
})

describe('an unknown, a wrong, a deleted and a disabled client', () => {
  const ENDPOINTS: [string, (headers: Record<string, string>) => Request][] = [
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
  /** All of an answer but what differs from one request to the next. */
  const lasting = ({ status, headers, text }: Answer) => ({
    status,
    headers: Object.fromEntries(
      [...headers].filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
    ),
    text: text.replaceAll(headers.get('x-request-id') ?? '', '<id>'),
  })

  test.for(ENDPOINTS)('are answered alike by %s', async ([_endpoint, request]) => {
    const [deleted, disabled] = [await register(auth), await register(auth)]
    await requestToken(auth, disabled)
    await deleteAgent(auth, deleted)
    await auth.stores.db.query(`update agents set status = 'disabled' where id = $1`, [disabled.client_id])
    await expect.poll(async () => (await requestToken(auth, disabled)).status).toBe(401)
    const answers = []
    for (const headers of [
      basic(UNKNOWN_ID, WRONG_SECRET),
      basic(agent.client_id, WRONG_SECRET),
      asAgent(deleted),
      asAgent(disabled),
    ])
      answers.push(lasting(await send(auth.url, request(headers))))
    const [unknown, ...others] = answers
    expect(unknown?.status).toBe(401)
    expect(unknown?.headers['www-authenticate']).toBe(CHALLENGE)
    expect(others).toEqual([unknown, unknown, unknown])
  })

  test('a disabled client that is enabled is let in again', async () => {
    const client = await register(auth)
    await auth.stores.db.query(`update agents set status = 'disabled' where id = $1`, [client.client_id])
    await expect.poll(async () => (await requestToken(auth, client)).status).toBe(401)
    await auth.stores.db.query(`update agents set status = 'active' where id = $1`, [client.client_id])
    await expect.poll(async () => (await requestToken(auth, client)).status).toBe(200)
  })
})
