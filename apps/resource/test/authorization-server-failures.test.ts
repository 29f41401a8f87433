import { generateKeyPair, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ask, expectProblem } from './ask.ts'
import { type Answer, deadUrl } from './fake-authorization-server.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())
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
const { privateKey: strangeKey } = await generateKeyPair('ES256')

/** Each differs from an honest answer in one thing. */
const LIES: [why: string, lie: (answer: Answer) => void][] = [
  ['an error', (answer) => (answer.status = 500)],
  ['a 401, when our own credential is wrong', (answer) => (answer.status = 401)],
  ['a redirect', (answer) => (answer.status = 302)],
  ['another status with a good body', (answer) => (answer.status = 201)],
  ['another media type', (answer) => (answer.type = 'application/jwt')],
  ['plain JSON', (answer) => Object.assign(answer, { type: 'application/json', body: '{"active":true}' })],
  ['nothing', (answer) => (answer.body = '')],
  ['what is no JWT', (answer) => (answer.body = 'active')],
  ['more than 64 KiB', (answer) => (answer.payload['more'] = 'A'.repeat(70_000))],
  ['an unsigned JWT', (answer) => (answer.body = new UnsecuredJWT(answer.payload).encode())],
  ['a JWT signed by somebody else', (answer) => (answer.key = strangeKey)],
  ['a JWT of another type', (answer) => (answer.header.typ = 'JWT')],
  ['a JWT that names no key', (answer) => delete answer.header.kid],
  ['a JWT that names an unknown key', (answer) => (answer.header.kid = 'unknown')],
  ['another issuer', (answer) => (answer.payload.iss = 'https://other.example')],
  ['no issuer', (answer) => delete answer.payload.iss],
  ['another audience', (answer) => (answer.payload.aud = 'another-api')],
  ['no audience', (answer) => delete answer.payload.aud],
  ['an answer of two minutes ago', (answer) => (answer.payload.iat = seconds() - 120)],
  ['an answer of the future', (answer) => (answer.payload.iat = seconds() + 60)],
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
  ['another token type', changed({ token_type: 'DPoP' })],
]

describe('N-069, N-070 an authorization server that answers wrongly is a failure of ours, never an allow and never a 401:', () => {
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

  test('N-070 active: false beside every claim of an active token is inactive', async () => {
    const token = api.auth.issue()
    api.auth.lie(changed({ active: false }))
    expectProblem(await read(token), { status: 401, code: 'invalid-token' })
  })

  test('an answer that takes longer than a second costs a second', async () => {
    const token = api.auth.issue()
    api.auth.lie((answer) => (answer.delayMs = 3_000))
    const startedAt = performance.now()
    expectProblem(await read(token), { status: 503, code: 'unavailable' })
    expect(performance.now() - startedAt).toBeLessThan(2_500)
  })

  test('says so in the log, without the token', () => {
    const failures = api.logged.filter((line) => line.includes('"level":"error"'))
    expect(failures.length).toBeGreaterThanOrEqual(LIES.length)
    expect(api.logged.join('')).not.toMatch(/ppt_[A-Za-z0-9_-]{10}/)
  })
})

describe('the keys of the authorization server', () => {
  test('are fetched once, however many ask', async () => {
    await using fresh = await startResource()
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
