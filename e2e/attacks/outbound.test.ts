import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { basic, form, type HttpRequest, json } from '../send.ts'
import { openTargets, type Targets } from './target.ts'

const resources = new AsyncDisposableStack()
const receivedRequests: string[] = []
let system: System
let targets: Targets
let port: number
beforeAll(async () => {
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  targets = resources.use(await openTargets(system))
  const server = createServer((request, response) => {
    receivedRequests.push(`${request.method} ${request.url}`)
    response.end('{}')
  })
  server.listen(0, '::')
  await once(server, 'listening')
  resources.defer(() => void server.close())
  port = (server.address() as AddressInfo).port
})
afterAll(() => resources.disposeAsync())

/** Lists URLs of this machine, spelled as an attacker would spell them to make the service fetch them. */
const listUrls = () => [
  `http://127.0.0.1:${port}/plain`,
  `http://localhost:${port}/name`,
  `http://localhost.:${port}/dot`,
  `http://127.1:${port}/short`,
  `http://0:${port}/zero`,
  `http://2130706433:${port}/decimal`,
  `http://0177.0.0.1:${port}/octal`,
  `http://[::1]:${port}/six`,
  `http://[::ffff:127.0.0.1]:${port}/mapped`,
  `http://user@127.0.0.1:${port}/user`,
  `http://plainpath.example@127.0.0.1:${port}/at`,
  `http://127.0.0.1:${port}/\r\nHost: evil.example`,
]

const send = (request: HttpRequest) => targets.all[0]!.sender.send(request)

test('the listener records requests', async () => {
  await fetch(`http://127.0.0.1:${port}/heard`)
  expect(receivedRequests.splice(0)).toEqual(['GET /heard'])
})

test('the service requests none of the URLs that a client sends', async () => {
  const { agent } = targets
  const credentials = basic(agent.client_id, agent.client_secret)
  for (const url of listUrls()) {
    const members = Object.fromEntries(
      [
        'jwks_uri',
        'logo_uri',
        'client_uri',
        'sector_identifier_uri',
        'redirect_uris',
        'software_statement',
        'initiate_login_uri',
      ].map((name) => [name, name === 'redirect_uris' ? [url] : url]),
    )
    await send({
      method: 'POST',
      path: '/api/agent/register',
      ...json({ client_name: url.split('\r')[0], ...members }),
    })
    await send({
      method: 'POST',
      path: '/api/waitlist',
      ...json({ email: 'a@example.org', referredBySlug: url }),
    })
    for (const name of [
      'request_uri',
      'jwks_uri',
      'resource',
      'scope',
      'redirect_uri',
      'client_assertion',
      'audience',
    ]) {
      const body = form({ grant_type: 'client_credentials', [name]: url })
      await send({
        method: 'POST',
        path: '/oauth/token',
        ...body,
        headers: { ...body.headers, ...credentials },
      })
    }
    const asClient = form({
      grant_type: 'client_credentials',
      client_id: url,
      client_secret: 'x'.repeat(20),
    })
    await send({ method: 'POST', path: '/oauth/token', ...asClient })
    const headerValue = url.split('\r')[0] ?? ''
    for (const name of [
      'referer',
      'origin',
      'x-forwarded-host',
      'forwarded',
      'x-callback-url',
      'link',
      'from',
      'traceparent',
    ])
      await send({ path: '/api/guides', headers: { [name]: headerValue } })
    await send({
      path: `/oauth/authorize?${new URLSearchParams({ client_id: url, request_uri: url, redirect_uri: url }).toString()}`,
    })
  }
  expect(receivedRequests).toEqual([])
})

test('no token makes the API use another authorization server', async () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const url of listUrls().slice(0, 4)) {
    const header = {
      alg: 'RS256',
      kid: 'x',
      jku: url,
      x5u: url,
      jwk: { kty: 'RSA', n: 'AQAB', e: 'AQAB' },
    }
    const claims = {
      iss: url.replace(/\/[^/]*$/, ''),
      aud: `${system.origin}/api`,
      active: true,
      scope: 'guides:read',
    }
    const token = `${encode(header)}.${encode(claims)}.AAAA`
    const { status } = await send({ path: '/api/guides', headers: { authorization: `Bearer ${token}` } })
    expect(status).toBe(401)
  }
  expect(receivedRequests).toEqual([])
})

test('responses contain our own origin, whatever the request claims', async () => {
  const forgedHeaders = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
    forwarded: 'host=evil.example',
    origin: 'null',
  }
  const body = json({ email: `links.${process.pid}@example.org` })
  const joinResponse = await send({
    method: 'POST',
    path: '/api/waitlist',
    ...body,
    headers: { ...body.headers, ...forgedHeaders },
  })
  expect(joinResponse.status).toBe(201)
  const { referralUrl } = JSON.parse(joinResponse.text) as { referralUrl: string }
  expect(new URL(referralUrl).origin).toBe(system.origin)
  const registrationResponse = await send({
    method: 'POST',
    path: '/api/agent/register',
    headers: forgedHeaders,
  })
  expect(registrationResponse.text).not.toContain('evil')
  expect(JSON.parse(registrationResponse.text)).toMatchObject({
    token_endpoint: `${system.origin}/oauth/token`,
  })
  const refusal = await send({ path: '/api/nowhere', headers: forgedHeaders })
  expect(JSON.parse(refusal.text)).toMatchObject({ type: `${system.origin}/problems/not-found` })
})
