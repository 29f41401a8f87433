import { gzipSync } from 'node:zlib'
import { serve } from '@plainpath/http'
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ask, expectProblem } from './ask.ts'
import { type Answer, deadUrl } from './fake-authorization-server.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await evil[Symbol.asyncDispose]()
})
afterEach(() => api.auth.lie())

const read = (token: string, from = api) =>
  ask(from.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })

const seconds = () => Math.floor(Date.now() / 1000)
const claims = (answer: Answer) => answer.payload.token_introspection as Record<string, unknown>
const changed = (change: Record<string, unknown>) => (answer: Answer) => {
  answer.payload.token_introspection = { ...claims(answer), ...change }
}
const without = (name: string) => (answer: Answer) => {
  const { [name]: _, ...rest } = claims(answer)
  answer.payload.token_introspection = rest
}
/** Where a redirect would lead. */
let evilAsked = 0
const evil = await serve(
  (_request, response) => {
    evilAsked += 1
    response.end()
  },
  { port: 0, host: '127.0.0.1', drainSeconds: 0 },
)
const evilUrl = evil.url
const { privateKey: strangeKey } = await generateKeyPair('ES256')

/** Each differs from an honest answer in one thing. */
const LIES: [why: string, lie: (answer: Answer) => void][] = [
  ['an error', (answer) => (answer.status = 500)],
  ['a 401, when our own credential is wrong', (answer) => (answer.status = 401)],
  [
    'a redirect',
    (answer) => Object.assign(answer, { status: 302, headers: { location: `${evilUrl}/oauth/introspect` } }),
  ],
  ['another status with a good body', (answer) => (answer.status = 201)],
  ['another media type', (answer) => (answer.type = 'application/jwt')],
  ['plain JSON', (answer) => Object.assign(answer, { type: 'application/json', body: '{"active":true}' })],
  ['nothing', (answer) => (answer.body = '')],
  ['what is no JWT', (answer) => (answer.body = 'active')],
  ['10 MB', (answer) => (answer.body = 'A'.repeat(10_000_000))],
  [
    'a few bytes that become 10 MB',
    (answer) =>
      Object.assign(answer, {
        body: gzipSync(Buffer.alloc(10_000_000)),
        headers: { 'content-encoding': 'gzip' },
      }),
  ],
  [
    'thirty encodings',
    (answer) => (answer.headers = { 'content-encoding': Array(30).fill('gzip').join(', ') }),
  ],
  ['more than 64 KiB', (answer) => (answer.payload['more'] = 'A'.repeat(70_000))],
  ['an unsigned JWT', (answer) => (answer.body = new UnsecuredJWT(answer.payload).encode())],
  [
    'an encrypted JWT',
    (answer) => {
      const header = {
        ...answer.header,
        alg: 'PBES2-HS256+A128KW',
        enc: 'A128GCM',
        p2s: 'AAAA',
        p2c: 2_147_483_647,
      }
      answer.body = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.AAAA.AAAA.AAAA.AAAA`
    },
  ],
  ['a JWT signed by somebody else', (answer) => (answer.key = strangeKey)],
  ['a JWT of another type', (answer) => (answer.header.typ = 'JWT')],
  ['an access token', (answer) => (answer.header.typ = 'at+jwt')],
  ['a JWT that names no key', (answer) => delete answer.header.kid],
  ['a JWT that names an unknown key', (answer) => (answer.header.kid = 'unknown')],
  ['another issuer', (answer) => (answer.payload.iss = 'https://other.example')],
  ['an issuer that looks like ours', (answer) => (answer.payload.iss = `${answer.payload.iss}/`)],
  ['no issuer', (answer) => delete answer.payload.iss],
  ['another audience', (answer) => (answer.payload.aud = 'another-api')],
  ['no audience', (answer) => delete answer.payload.aud],
  ['an answer of two minutes ago', (answer) => (answer.payload.iat = seconds() - 120)],
  ['an answer of the future', (answer) => (answer.payload.iat = seconds() + 60)],
  ['an answer of a clock five minutes ahead', (answer) => (answer.payload.iat = seconds() + 300)],
  ['an answer without a time', (answer) => delete answer.payload.iat],
  ['an answer that has expired', (answer) => (answer.payload.exp = seconds() - 60)],
  ['an answer about another token', (answer) => (answer.payload.token_hash = 'A'.repeat(43))],
  ['an answer about no token', (answer) => delete answer.payload.token_hash],
  ['a token_hash of another type', (answer) => (answer.payload.token_hash = 1)],
  ['no token_introspection', (answer) => delete answer.payload.token_introspection],
  ['a list', (answer) => (answer.payload.token_introspection = [])],
  ['active as text', changed({ active: 'true' })],
  ['active as a number', changed({ active: 1 })],
  ['no active', without('active')],
  ...['client_id', 'scope', 'aud', 'exp', 'iat', 'token_type', 'identity_type'].flatMap(
    (name): [string, (answer: Answer) => void][] => [
      [`no ${name}`, without(name)],
      [`a ${name} of another type`, changed({ [name]: { toString: 'x' } })],
      [`a ${name} that is null`, changed({ [name]: null })],
    ],
  ),
  ['a scope that is a list', changed({ scope: ['guides:read'] })],
  ['an exp that is text', changed({ exp: String(seconds() + 60) })],
  ['an unknown identity type', changed({ identity_type: 'admin' })],
  ['another token type', changed({ token_type: 'N_A' })],
  ['the token type DPoP without a key', changed({ token_type: 'DPoP' })],
  ['a key with the token type Bearer', changed({ cnf: { jkt: 'k'.repeat(43) } })],
  ['a cnf that is null', changed({ token_type: 'DPoP', cnf: null })],
  ['a cnf without a thumbprint', changed({ token_type: 'DPoP', cnf: { 'x5t#S256': 'k'.repeat(43) } })],
  ['a thumbprint of another length', changed({ token_type: 'DPoP', cnf: { jkt: 'k' } })],
]

describe('an authorization server that answers wrongly is a failure of ours, never an allow and never a 401:', () => {
  test.for(LIES)('%s', async ([, lie]) => {
    const token = api.auth.issue()
    expect((await read(token)).status).toBe(200)
    api.auth.lie(lie)
    const answered = await read(token)
    expectProblem(answered, { status: 503, code: 'unavailable' })
    expect(answered.headers['retry-after']).toMatch(/^\d+$/)
    expect(answered.headers).not.toHaveProperty('www-authenticate')
    api.auth.lie()
    expect((await read(token)).status).toBe(200)
  })

  test.for([0, 3, -30])('an answer of a clock that is %i s ahead of ours is believed', async (ahead) => {
    api.auth.lie((answer) => (answer.payload.iat = seconds() + ahead))
    expect((await read(api.auth.issue())).status).toBe(200)
    api.auth.lie()
  })

  test('a redirect is followed by nobody', async () => {
    api.auth.lie((answer) => Object.assign(answer, { status: 302, headers: { location: evilUrl } }))
    expect((await read(api.auth.issue())).status).toBe(503)
    expect(evilAsked).toBe(0)
  })

  /** An honest response about this token, replayed by a machine in the middle. */
  async function said(token: string): Promise<string> {
    const answers: Answer[] = []
    api.auth.lie((answer) => void answers.push(answer))
    await read(token)
    api.auth.lie()
    const [answer] = answers
    if (!answer) throw new Error('it was not asked')
    return new SignJWT(answer.payload).setProtectedHeader(answer.header).sign(api.auth.signingKey())
  }

  test('two honest answers that somebody swapped', async () => {
    const [good, ended] = [api.auth.issue(), api.auth.issue()]
    api.auth.revoke(ended)
    const body = await said(good)
    api.auth.lie((answer) => (answer.body = body))
    expectProblem(await read(ended), { status: 503, code: 'unavailable' })
    expect((await read(good)).status).toBe(200)
  })

  test.for([
    [
      'a letter of its payload changed',
      (jwt: string) => jwt.replace(/\.(.{40})./, (_all, kept: string) => `.${kept}_`),
    ],
    ['its signature cut off', (jwt: string) => jwt.replace(/[^.]*$/, '')],
    ['its end missing', (jwt: string) => jwt.slice(0, -10)],
  ] as const)('an honest answer with %s', async ([, spoil]) => {
    const token = api.auth.issue()
    const body = await said(token)
    expect(spoil(body)).not.toBe(body)
    api.auth.lie((answer) => (answer.body = spoil(body)))
    expectProblem(await read(token), { status: 503, code: 'unavailable' })
    api.auth.lie((answer) => (answer.body = body))
    expect((await read(token)).status).toBe(200)
  })

  test('an answer under HS256, with the public key as the secret', async () => {
    const token = api.auth.issue()
    const secret = new TextEncoder().encode(JSON.stringify(api.auth.publishedKey()))
    const [, honest = ''] = (await said(token)).split('.')
    const header = { alg: 'HS256', typ: 'token-introspection+jwt', kid: api.auth.publishedKey().kid }
    const payload = JSON.parse(Buffer.from(honest, 'base64url').toString()) as Answer['payload']
    const body = await new SignJWT(payload).setProtectedHeader(header).sign(secret)
    api.auth.lie((answer) => (answer.body = body))
    expectProblem(await read(token), { status: 503, code: 'unavailable' })
  })

  test('active: false beside every claim of an active token is inactive', async () => {
    const token = api.auth.issue()
    api.auth.lie(changed({ active: false }))
    expectProblem(await read(token), { status: 401, code: 'invalid-token' })
  })

  test('an answer that takes longer than a second costs a second', async () => {
    await using hurried = await startResource({ productionTimeouts: true })
    const token = hurried.auth.issue()
    hurried.auth.lie((answer) => (answer.delayMs = 6_000))
    const startedAt = performance.now()
    expectProblem(await read(token, hurried), { status: 503, code: 'unavailable' })
    const ms = performance.now() - startedAt
    expect(ms).toBeGreaterThan(900)
    expect(ms).toBeLessThan(4_000)
  })

  test('says so in the log, without the token', () => {
    const failures = api.logged.filter((line) => line.includes('"level":"error"'))
    // Those that fail in the same way are logged as one.
    expect(failures.length).toBeGreaterThanOrEqual(LIES.length / 2)
    expect(api.logged.join('')).not.toMatch(/ppt_[A-Za-z0-9_-]{10}/)
  })
})

describe('the keys of the authorization server', () => {
  test('are fetched once, however many ask', async () => {
    await using fresh = await startResource()
    fresh.auth.trustSeconds = 60
    const answers = await Promise.all(Array.from({ length: 20 }, () => read(fresh.auth.issue(), fresh)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(fresh.auth.asked.keys).toBe(1)
  })

  test('are fetched again for an unknown kid, but not for each', async () => {
    await using fresh = await startResource()
    await fresh.auth.changeKeys({ publish: true })
    expect((await read(fresh.auth.issue(), fresh)).status).toBe(200)
    await fresh.auth.changeKeys({ publish: false })
    for (let n = 0; n < 5; n++) expect((await read(fresh.auth.issue(), fresh)).status).toBe(503)
    expect(fresh.auth.asked.keys).toBeLessThan(5)
  })

  test('are asked for again after a failure', async () => {
    await using fresh = await startResource()
    fresh.auth.keySetStatus = 500
    expectProblem(await read(fresh.auth.issue(), fresh), { status: 503, code: 'unavailable' })
    fresh.auth.keySetStatus = 200
    expect((await read(fresh.auth.issue(), fresh)).status).toBe(200)
  })
})

test('how many introspections are under way is shown', async () => {
  const shown = async () => {
    const metrics = await (await fetch(`${api.operations.url}/metrics`)).text()
    return metrics.match(/(?<=^introspections_under_way\{about="token",.*\} )\d+$/m)?.[0]
  }
  const token = api.auth.issue()
  let during: Promise<string | undefined> | undefined
  api.auth.lie((answer) => {
    answer.delayMs = 500
    during = shown()
  })
  await read(token)
  expect(await during).toBe('1')
  expect(await shown()).toBe('0')
})

test('without an authorization server bearer requests are 503; guides, pages and the waitlist work', async () => {
  await using alone = await startResource({ env: { RESOURCE_AUTH_URL: await deadUrl() } })
  expectProblem(await read(`ppt_${'A'.repeat(43)}`, alone), { status: 503, code: 'unavailable' })
  for (const path of [
    '/api/guides',
    '/api/guides/avoid-scams',
    '/',
    '/.well-known/oauth-protected-resource',
  ]) {
    expect((await ask(alone.origin, { path })).status).toBe(200)
  }
  const body = JSON.stringify({ email: 'ana@example.org' })
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  expect((await ask(alone.origin, { method: 'POST', path: '/api/waitlist', headers, body })).status).toBe(201)
})
