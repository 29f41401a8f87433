import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const UNKNOWN_TOKEN = `ppt_${'A'.repeat(43)}`
const formatChallenge = (error?: string) =>
  `Bearer realm="plainpath", ${error ? `error="${error}", ` : ''}scope="guides:read waitlist:write", ` +
  `resource_metadata="${api.origin}/.well-known/oauth-protected-resource/api"`
const readGuides = (authorization: string | string[]) =>
  sendRequest(api.origin, { path: '/api/guides', headers: { authorization: authorization as string } })
const countIntrospections = () => api.auth.requests.introspection

describe('a token on a public route', () => {
  test('is accepted if it is valid, and the response must not be cached', async () => {
    const response = await readGuides(`Bearer ${api.auth.issue()}`)
    expect(response.status).toBe(200)
    expect(response.headers['cache-control']).toBe('private, no-store')
    expect(response.headers).not.toHaveProperty('www-authenticate')
  })

  test.for(['bearer ', 'BEARER ', 'Bearer  '])(
    'may follow the scheme "%s" (RFC 6750 §2.1)',
    async (scheme) => {
      expect((await readGuides(`${scheme}${api.auth.issue()}`)).status).toBe(200)
    },
  )

  test('may have no scope', async () => {
    expect((await readGuides(`Bearer ${api.auth.issue({ scope: '' })}`)).status).toBe(200)
  })

  test('may name this API among other audiences', async () => {
    const aud = ['https://other.example', `${api.origin}/api`]
    expect((await readGuides(`Bearer ${api.auth.issue({ aud })}`)).status).toBe(200)
  })

  test('counts as absent if the Authorization header is empty', async () => {
    expect((await readGuides('')).headers['cache-control']).toBe('public, max-age=300')
  })

  test('is refused in the next request after it was revoked', async () => {
    const token = api.auth.issue()
    expect((await readGuides(`Bearer ${token}`)).status).toBe(200)
    api.auth.revoke(token)
    expectProblem(await readGuides(`Bearer ${token}`), { status: 401, code: 'invalid-token' })
  })

  test('is introspected with the credential of the API, and without the headers that the caller added', async () => {
    const authorization = `Bearer ${api.auth.issue()}`
    await sendRequest(api.origin, {
      path: '/api/guides',
      headers: { authorization, 'x-evil': 'yes', cookie: 'a=b' },
    })
    expect(Object.keys(api.auth.lastHeaders)).not.toContain('x-evil')
    expect(Object.keys(api.auth.lastHeaders)).not.toContain('cookie')
    expect(api.auth.lastHeaders['authorization']).toMatch(/^Basic /)
  })
})

/** An encrypted JWT. If the API decrypted it, PBKDF2 would run for 2,147,483,647 iterations. */
const ENCRYPTED_JWT = `${Buffer.from(
  JSON.stringify({
    alg: 'PBES2-HS256+A128KW',
    enc: 'A128GCM',
    p2s: 'AAAAAAAAAAA',
    p2c: 2_147_483_647,
    zip: 'DEF',
  }),
).toString('base64url')}.AAAA.AAAA.AAAA.AAAA`

describe('a token is refused', () => {
  const issue = () => api.auth.issue()
  test.for<[title: string, authorization: () => string, introspectionCount: number]>([
    ['when it is unknown', () => `Bearer ${UNKNOWN_TOKEN}`, 1],
    [
      'when it is for another audience',
      () => `Bearer ${api.auth.issue({ aud: 'https://other.example' })}`,
      1,
    ],
    ['when it has expired', () => `Bearer ${api.auth.issue({ exp: Math.floor(Date.now() / 1000) - 1 })}`, 1],
    ['without its last character', () => `Bearer ${issue().slice(0, -1)}`, 0],
    ['with one character more', () => `Bearer ${issue()}A`, 0],
    ['with its prefix in capital letters', () => `Bearer ${issue().replace('ppt_', 'PPT_')}`, 0],
    ['with a space in it', () => `Bearer ${issue().replace('_', ' ')}`, 0],
    ['with %00 after it', () => `Bearer ${issue()}%00`, 0],
    ['with a parameter after it', () => `Bearer ${issue()}, realm="x"`, 0],
    ['twice in one header', () => `Bearer ${issue()}, Bearer ${issue()}`, 0],
    ['when it is a JWT', () => 'Bearer eyJhbGciOiJub25lIn0.eyJhY3RpdmUiOnRydWV9.', 0],
    [
      'when it is an introspection response',
      () => 'Bearer eyJ0eXAiOiJ0b2tlbi1pbnRyb3NwZWN0aW9uK2p3dCJ9.eyJ0b2tlbl9pbnRyb3NwZWN0aW9uIjp7fX0.AAAA',
      0,
    ],
    ['when it is an encrypted JWT', () => `Bearer ${ENCRYPTED_JWT}`, 0],
    ['when it is 8 kB long', () => `Bearer ppt_${'A'.repeat(8000)}`, 0],
    ['when it is not in the format of a token', () => 'Bearer %zz', 0],
    ['when it is not ASCII', () => 'Bearer \u00e9', 0],
    ['after a tab', () => `Bearer\t${issue()}`, 0],
    ['when the header has only the scheme', () => 'Bearer', 0],
  ])('%s', async ([, authorization, introspectionCount]) => {
    const introspectionsBefore = countIntrospections()
    const response = await readGuides(authorization())
    expectProblem(response, { status: 401, code: 'invalid-token' })
    expect(response.headers['www-authenticate']).toBe(formatChallenge('invalid_token'))
    expect(response.json()['detail']).toMatch(/This operation works without Authorization\.$/)
    expect(countIntrospections() - introspectionsBefore).toBe(introspectionCount)
  })

  test.for([
    ['Basic', 'Basic YTpi'],
    ['Token', `Token ${UNKNOWN_TOKEN}`],
    ['a bare token', UNKNOWN_TOKEN],
  ])(
    'with another scheme, and the challenge names no error (RFC 6750 §3.1): %s',
    async ([, authorization]) => {
      const response = await readGuides(authorization as string)
      expectProblem(response, { status: 401, code: 'invalid-token' })
      expect(response.headers['www-authenticate']).toBe(formatChallenge())
    },
  )

  test('with a second Authorization header', async () => {
    const response = await readGuides([`Bearer ${issue()}`, `Bearer ${issue()}`])
    expectProblem(response, { status: 400, code: 'invalid-request' })
    expect(response.headers['www-authenticate']).toBe(formatChallenge('invalid_request'))
  })

  test.for(['/api/guides', '/api/guides/avoid-scams', '/', '/nowhere'])(
    'in the query, and the response says to revoke it: %s',
    async (path) => {
      // `%61` is an encoded `a`.
      const response = await sendRequest(api.origin, { path: `${path}?%61ccess_token=${issue()}` })
      expectProblem(response, { status: 400, code: 'invalid-request' })
      expect(response.json()['detail']).toMatch(/Revoke this one/)
      expect(response.body).not.toContain('ppt_')
    },
  )

  test('in a body, as an unknown member', async () => {
    const body = { email: 'body@example.org', access_token: issue() }
    const response = await sendRequest(api.origin, { path: '/api/waitlist', ...createPost(body) })
    expectProblem(response, { status: 400, code: 'invalid-request' })
    expect(response.body).not.toContain('ppt_')
  })

  test('on a POST if it is unknown, and nothing is stored', async () => {
    const join = (authorization: string) =>
      sendRequest(api.origin, {
        path: '/api/waitlist',
        ...createPost({ email: 'ana@example.org' }, { authorization }),
      })
    expectProblem(await join(`Bearer ${UNKNOWN_TOKEN}`), { status: 401, code: 'invalid-token' })
    expect(await api.countWaitlistEntries()).toBe(0)
    expect((await join(`Bearer ${issue()}`)).status).toBe(201)
  })

  test('when the headers exceed 16 KiB in total', async () => {
    const response = await readGuides(`Bearer ppt_${'A'.repeat(17_000)}`)
    expect(response.status).toBe(431)
  })
})

test('no token and no credential is logged', async () => {
  const lineCountBefore = api.logLines.length
  for (const authorization of [`Bearer ${api.auth.issue()}`, `Basic ${btoa('a:b')}`])
    await sendRequest(api.origin, {
      path: `/api/waitlist?access_token=${UNKNOWN_TOKEN}`,
      ...createPost({ email: 'log@example.org' }, { authorization }),
    })
  expect(api.logLines.length).toBeGreaterThan(lineCountBefore)
  // How tokens, client secrets, the Basic credentials above, and JWTs begin.
  expect(api.logLines.join('')).not.toMatch(/ppt_|prs_|YTpi|eyJ/)
})
