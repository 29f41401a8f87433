import { gzipSync } from 'node:zlib'
import { serve } from '@plainpath/http'
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findUnusedUrl, type IntrospectionReply } from './fake-authorization-server.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await redirectTarget[Symbol.asyncDispose]()
})
afterEach(() => api.auth.stopTampering())

const readGuides = (token: string, target = api) =>
  sendRequest(target.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })

const nowSeconds = () => Math.floor(Date.now() / 1000)
const getClaims = (reply: IntrospectionReply) => reply.payload.token_introspection as Record<string, unknown>
const replaceClaims = (change: Record<string, unknown>) => (reply: IntrospectionReply) => {
  reply.payload.token_introspection = { ...getClaims(reply), ...change }
}
const removeClaim = (name: string) => (reply: IntrospectionReply) => {
  const { [name]: _, ...otherClaims } = getClaims(reply)
  reply.payload.token_introspection = otherClaims
}
let redirectedRequestCount = 0
/** The server to which the redirects lead. A request to it would mean that the API followed a redirect. */
const redirectTarget = await serve(
  (_request, response) => {
    redirectedRequestCount += 1
    response.end()
  },
  { port: 0, host: '127.0.0.1', drainSeconds: 0 },
)
const { privateKey: unknownKey } = await generateKeyPair('ES256')

/** Each response differs from a valid one in one respect. */
const TAMPERED_RESPONSES: [title: string, tamper: (reply: IntrospectionReply) => void][] = [
  ['an error', (reply) => (reply.status = 500)],
  ['a 401, as for a wrong credential of the API', (reply) => (reply.status = 401)],
  [
    'a redirect',
    (reply) =>
      Object.assign(reply, { status: 302, headers: { location: `${redirectTarget.url}/oauth/introspect` } }),
  ],
  ['the status 201 with a valid body', (reply) => (reply.status = 201)],
  ['another media type', (reply) => (reply.type = 'application/jwt')],
  ['plain JSON', (reply) => Object.assign(reply, { type: 'application/json', body: '{"active":true}' })],
  ['an empty body', (reply) => (reply.body = '')],
  ['a body that is not a JWT', (reply) => (reply.body = 'active')],
  ['10 MB', (reply) => (reply.body = 'A'.repeat(10_000_000))],
  [
    'a few bytes that decompress to 10 MB',
    (reply) =>
      Object.assign(reply, {
        body: gzipSync(Buffer.alloc(10_000_000)),
        headers: { 'content-encoding': 'gzip' },
      }),
  ],
  [
    'thirty content encodings',
    (reply) => (reply.headers = { 'content-encoding': Array(30).fill('gzip').join(', ') }),
  ],
  ['more than 64 KiB', (reply) => (reply.payload['more'] = 'A'.repeat(70_000))],
  ['an unsigned JWT', (reply) => (reply.body = new UnsecuredJWT(reply.payload).encode())],
  [
    'an encrypted JWT',
    (reply) => {
      const header = {
        ...reply.header,
        alg: 'PBES2-HS256+A128KW',
        enc: 'A128GCM',
        p2s: 'AAAA',
        // If the API decrypted the response, PBKDF2 would run for this many iterations.
        p2c: 2_147_483_647,
      }
      reply.body = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.AAAA.AAAA.AAAA.AAAA`
    },
  ],
  ['a JWT signed with an unknown key', (reply) => (reply.key = unknownKey)],
  ['a JWT of the type JWT', (reply) => (reply.header.typ = 'JWT')],
  ['a JWT of the type of access tokens', (reply) => (reply.header.typ = 'at+jwt')],
  ['a JWT that names no key', (reply) => delete reply.header.kid],
  ['a JWT that names an unknown key', (reply) => (reply.header.kid = 'unknown')],
  ['another issuer', (reply) => (reply.payload.iss = 'https://other.example')],
  ['an issuer that looks like ours', (reply) => (reply.payload.iss = `${reply.payload.iss}/`)],
  ['no issuer', (reply) => delete reply.payload.iss],
  ['another audience', (reply) => (reply.payload.aud = 'another-api')],
  ['no audience', (reply) => delete reply.payload.aud],
  ['a response from two minutes ago', (reply) => (reply.payload.iat = nowSeconds() - 120)],
  ['a response from a minute in the future', (reply) => (reply.payload.iat = nowSeconds() + 60)],
  ['a response from five minutes in the future', (reply) => (reply.payload.iat = nowSeconds() + 300)],
  ['a response without an iat', (reply) => delete reply.payload.iat],
  ['a response that has expired', (reply) => (reply.payload.exp = nowSeconds() - 60)],
  ['a response about another token', (reply) => (reply.payload.token_hash = 'A'.repeat(43))],
  ['a response about no token', (reply) => delete reply.payload.token_hash],
  ['a token_hash of another type', (reply) => (reply.payload.token_hash = 1)],
  ['no token_introspection', (reply) => delete reply.payload.token_introspection],
  ['a list as token_introspection', (reply) => (reply.payload.token_introspection = [])],
  ['active as a string', replaceClaims({ active: 'true' })],
  ['active as a number', replaceClaims({ active: 1 })],
  ['no active', removeClaim('active')],
  ...['client_id', 'scope', 'aud', 'exp', 'iat', 'token_type', 'identity_type'].flatMap(
    (name): [string, (reply: IntrospectionReply) => void][] => [
      [`no ${name}`, removeClaim(name)],
      // This object cannot be converted to a string: the conversion throws.
      [`a ${name} of another type`, replaceClaims({ [name]: { toString: 'x' } })],
      [`a ${name} that is null`, replaceClaims({ [name]: null })],
    ],
  ),
  ['a scope that is a list', replaceClaims({ scope: ['guides:read'] })],
  ['an exp that is a string', replaceClaims({ exp: String(nowSeconds() + 60) })],
  ['an unknown identity type', replaceClaims({ identity_type: 'admin' })],
  ['another token type', replaceClaims({ token_type: 'N_A' })],
  ['the token type DPoP without a key', replaceClaims({ token_type: 'DPoP' })],
  ['a key with the token type Bearer', replaceClaims({ cnf: { jkt: 'k'.repeat(43) } })],
  ['a cnf that is null', replaceClaims({ token_type: 'DPoP', cnf: null })],
  ['a cnf without a jkt', replaceClaims({ token_type: 'DPoP', cnf: { 'x5t#S256': 'k'.repeat(43) } })],
  ['a thumbprint of another length', replaceClaims({ token_type: 'DPoP', cnf: { jkt: 'k' } })],
]

describe('a correct introspection response', () => {
  test.for([0, 3, -30])('is accepted if its iat differs from the clock by %i s', async (secondsAhead) => {
    api.auth.tamper((reply) => (reply.payload.iat = nowSeconds() + secondsAhead))
    expect((await readGuides(api.auth.issue())).status).toBe(200)
  })

  test('causes a 401 if active is false, even with every claim of an active token', async () => {
    const token = api.auth.issue()
    api.auth.tamper(replaceClaims({ active: false }))
    expectProblem(await readGuides(token), { status: 401, code: 'invalid-token' })
  })
})

describe('a wrong introspection response causes a 503, never a 200 or a 401:', () => {
  test.for(TAMPERED_RESPONSES)('%s', async ([, tamper]) => {
    const token = api.auth.issue()
    expect((await readGuides(token)).status).toBe(200)
    api.auth.tamper(tamper)
    const response = await readGuides(token)
    expectProblem(response, { status: 503, code: 'unavailable' })
    expect(response.headers['retry-after']).toMatch(/^\d+$/)
    expect(response.headers).not.toHaveProperty('www-authenticate')
    api.auth.stopTampering()
    expect((await readGuides(token)).status).toBe(200)
  })

  test('a redirect, which is not followed', async () => {
    api.auth.tamper((reply) =>
      Object.assign(reply, { status: 302, headers: { location: redirectTarget.url } }),
    )
    expect((await readGuides(api.auth.issue())).status).toBe(503)
    expect(redirectedRequestCount).toBe(0)
  })

  /** Gets a valid response about this token, which the next introspection can then return again. */
  async function createValidResponse(token: string): Promise<string> {
    const replies: IntrospectionReply[] = []
    api.auth.tamper((reply) => void replies.push(reply))
    await readGuides(token)
    api.auth.stopTampering()
    const [reply] = replies
    if (!reply) throw new Error('there was no introspection')
    return new SignJWT(reply.payload).setProtectedHeader(reply.header).sign(api.auth.getSigningKey())
  }

  test('a valid response about another token', async () => {
    const [active, revoked] = [api.auth.issue(), api.auth.issue()]
    api.auth.revoke(revoked)
    const body = await createValidResponse(active)
    api.auth.tamper((reply) => (reply.body = body))
    expectProblem(await readGuides(revoked), { status: 503, code: 'unavailable' })
    expect((await readGuides(active)).status).toBe(200)
  })

  test.for([
    [
      'one changed character in its payload',
      // Replaces the character after the first 40 of the payload.
      (jwt: string) => jwt.replace(/\.(.{40})./, (_match, start: string) => `.${start}_`),
    ],
    ['an empty signature', (jwt: string) => jwt.replace(/[^.]*$/, '')],
    ['its last ten characters missing', (jwt: string) => jwt.slice(0, -10)],
  ] as const)('a valid response with %s', async ([, alter]) => {
    const token = api.auth.issue()
    const body = await createValidResponse(token)
    expect(alter(body)).not.toBe(body)
    api.auth.tamper((reply) => (reply.body = alter(body)))
    expectProblem(await readGuides(token), { status: 503, code: 'unavailable' })
    api.auth.tamper((reply) => (reply.body = body))
    expect((await readGuides(token)).status).toBe(200)
  })

  test('a response signed with HS256, with the public key as the secret', async () => {
    const token = api.auth.issue()
    const secret = new TextEncoder().encode(JSON.stringify(api.auth.getPublicKey()))
    const [, encodedPayload = ''] = (await createValidResponse(token)).split('.')
    const header = { alg: 'HS256', typ: 'token-introspection+jwt', kid: api.auth.getPublicKey().kid }
    const payload = JSON.parse(
      Buffer.from(encodedPayload, 'base64url').toString(),
    ) as IntrospectionReply['payload']
    const body = await new SignJWT(payload).setProtectedHeader(header).sign(secret)
    api.auth.tamper((reply) => (reply.body = body))
    expectProblem(await readGuides(token), { status: 503, code: 'unavailable' })
  })

  test('a response that would take six seconds, for which the API waits only about one', async () => {
    await using apiWithShortTimeouts = await startResource({ useProductionTimeouts: true })
    const token = apiWithShortTimeouts.auth.issue()
    apiWithShortTimeouts.auth.tamper((reply) => (reply.delayMs = 6_000))
    const startedAt = performance.now()
    expectProblem(await readGuides(token, apiWithShortTimeouts), { status: 503, code: 'unavailable' })
    const ms = performance.now() - startedAt
    // A busy machine may take longer than a second, but the response would take six.
    expect(ms).toBeGreaterThan(900)
    expect(ms).toBeLessThan(4_000)
  })

  test('and is logged as an error, without the token', () => {
    const failures = api.logLines.filter((line) => line.includes('"level":"error"'))
    // Repeated failures of the same kind are logged together.
    expect(failures.length).toBeGreaterThanOrEqual(TAMPERED_RESPONSES.length / 2)
    expect(api.logLines.join('')).not.toMatch(/ppt_[A-Za-z0-9_-]{10}/)
  })
})

describe('the keys of the authorization server', () => {
  test('are fetched once for 20 simultaneous requests', async () => {
    await using newApi = await startResource()
    // Long enough that the keys are not fetched again during the test.
    newApi.auth.trustSeconds = 60
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => readGuides(newApi.auth.issue(), newApi)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(newApi.auth.requests.keys).toBe(1)
  })

  test('are fetched again for an unknown kid, but not at every request', async () => {
    await using newApi = await startResource()
    await newApi.auth.changeKeys({ publish: true })
    expect((await readGuides(newApi.auth.issue(), newApi)).status).toBe(200)
    await newApi.auth.changeKeys({ publish: false })
    for (let count = 0; count < 5; count++)
      expect((await readGuides(newApi.auth.issue(), newApi)).status).toBe(503)
    expect(newApi.auth.requests.keys).toBeLessThan(5)
  })

  test('are requested again after a failure', async () => {
    await using newApi = await startResource()
    newApi.auth.keySetStatus = 500
    expectProblem(await readGuides(newApi.auth.issue(), newApi), { status: 503, code: 'unavailable' })
    newApi.auth.keySetStatus = 200
    expect((await readGuides(newApi.auth.issue(), newApi)).status).toBe(200)
  })
})

test('a metric shows the number of in-flight introspections', async () => {
  const readInFlightCount = async () => {
    const metrics = await (await fetch(`${api.operations.url}/metrics`)).text()
    return metrics.match(/(?<=^introspections_under_way\{about="token",.*\} )\d+$/m)?.[0]
  }
  const token = api.auth.issue()
  let duringRead: Promise<string | undefined> | undefined
  api.auth.tamper((reply) => {
    reply.delayMs = 500
    duringRead = readInFlightCount()
  })
  await readGuides(token)
  expect(await duringRead).toBe('1')
  expect(await readInFlightCount()).toBe('0')
})

test('without an authorization server, bearer requests get 503, and guides, pages and the waitlist work', async () => {
  await using apiWithoutAuth = await startResource({ env: { RESOURCE_AUTH_URL: await findUnusedUrl() } })
  expectProblem(await readGuides(`ppt_${'A'.repeat(43)}`, apiWithoutAuth), {
    status: 503,
    code: 'unavailable',
  })
  for (const path of [
    '/api/guides',
    '/api/guides/avoid-scams',
    '/',
    '/.well-known/oauth-protected-resource',
  ]) {
    expect((await sendRequest(apiWithoutAuth.origin, { path })).status).toBe(200)
  }
  const body = JSON.stringify({ email: 'ana@example.org' })
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  expect(
    (await sendRequest(apiWithoutAuth.origin, { method: 'POST', path: '/api/waitlist', headers, body }))
      .status,
  ).toBe(201)
})
