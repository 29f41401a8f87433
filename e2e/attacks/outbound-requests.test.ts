import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { basic, form, type HttpRequest, json } from '../send.ts'
import { openTargets, type Targets } from './target.ts'

const resources = new AsyncDisposableStack()
/** The requests that the listener of this test received, such as `GET /plain`. The service has no reason to send any. */
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

/** Lists spellings of the listener's URL with which an attacker might make the service send a request to it. */
const listListenerUrls = () => [
  `http://127.0.0.1:${port}/plain`,
  `http://localhost:${port}/name`,
  `http://localhost.:${port}/dot`,
  `http://127.1:${port}/short`,
  `http://0:${port}/zero`,
  `http://2130706433:${port}/decimal`,
  `http://0177.0.0.1:${port}/octal`,
  `http://[::1]:${port}/ipv6`,
  `http://[::ffff:127.0.0.1]:${port}/mapped`,
  `http://user@127.0.0.1:${port}/user`,
  `http://plainpath.example@127.0.0.1:${port}/at`,
  `http://127.0.0.1:${port}/\r\nHost: evil.example`,
]

// Every target but introspection has the sender of the public listener.
const send = (request: HttpRequest) => targets.all[0]!.sender.send(request)

test('the listener records requests', async () => {
  await fetch(`http://127.0.0.1:${port}/recorded`)
  expect(receivedRequests.splice(0)).toEqual(['GET /recorded'])
})

test('the service requests none of the URLs that a client sends', async () => {
  const { agent } = targets
  const credentials = basic(agent.client_id, agent.client_secret)
  for (const url of listListenerUrls()) {
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
      const content = form({ grant_type: 'client_credentials', [name]: url })
      await send({
        method: 'POST',
        path: '/oauth/token',
        ...content,
        headers: { ...content.headers, ...credentials },
      })
    }
    const formWithUrlAsClientId = form({
      grant_type: 'client_credentials',
      client_id: url,
      client_secret: 'x'.repeat(20),
    })
    await send({ method: 'POST', path: '/oauth/token', ...formWithUrlAsClientId })
    // Node does not send a header with a line end.
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

test('the API sends no request to a URL that a token names as its issuer or key source', async () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  // Four spellings suffice: the test above tries all of them.
  for (const url of listListenerUrls().slice(0, 4)) {
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

test('responses contain only our own origin, even if the request has forged headers', async () => {
  const forgedHeaders = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
    forwarded: 'host=evil.example',
    origin: 'null',
  }
  const content = json({ email: `links.${process.pid}@example.org` })
  const joinResponse = await send({
    method: 'POST',
    path: '/api/waitlist',
    ...content,
    headers: { ...content.headers, ...forgedHeaders },
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
  const notFoundResponse = await send({ path: '/api/nowhere', headers: forgedHeaders })
  expect(JSON.parse(notFoundResponse.text)).toMatchObject({ type: `${system.origin}/problems/not-found` })
})
