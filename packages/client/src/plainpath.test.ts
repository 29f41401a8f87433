import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { FakeService } from '../test/fake-service.ts'
import { createProblem, createRefusal, GUIDE_PATH, SECRET, startTokenService } from '../test/token-service.ts'
import { type Message, Plainpath, type PlainpathOptions } from './index.ts'

const MESSAGE: Message = { topic: 'question', message: 'When do I renew?' }

const createRegisteredClient = ({ origin }: FakeService, options: PlainpathOptions = {}) =>
  new Plainpath(origin, { credentials: { origin, client_id: 'agt_1', client_secret: SECRET }, ...options })

const listAuthorizations = ({ received }: FakeService, path: string) =>
  received.filter((request) => request.path === path).map(({ headers }) => headers['authorization'])

describe('tokens', () => {
  test('are shared by concurrent calls and later calls', async () => {
    await using service = await startTokenService()
    const client = createRegisteredClient(service)
    await Promise.all(Array.from({ length: 20 }, () => client.guide('work-permit')))
    await client.guide('work-permit')
    expect(service.count('/oauth/token')).toBe(1)
    expect(new Set(listAuthorizations(service, GUIDE_PATH))).toEqual(new Set(['Bearer ppt_1']))
  })

  // The client renews a token a minute before it expires.
  test('that expire within a minute are used for one call', async () => {
    let tokenCount = 0
    await using service = await startTokenService({
      '/oauth/token': () => ({ body: { access_token: `ppt_${(tokenCount += 1)}`, expires_in: 60 } }),
    })
    const client = createRegisteredClient(service)
    for (let call = 0; call < 2; call += 1) await client.guide('work-permit')
    expect(listAuthorizations(service, GUIDE_PATH)).toEqual(['Bearer ppt_1', 'Bearer ppt_2'])
  })

  test('that the API refuses are replaced with one token request for all concurrent calls', async () => {
    await using service = await startTokenService({
      [GUIDE_PATH]: ({ headers }) =>
        headers['authorization'] === 'Bearer ppt_1' ? createRefusal(401, 'invalid-token') : { body: {} },
    })
    const client = createRegisteredClient(service)
    await Promise.all(Array.from({ length: 10 }, () => client.guide('work-permit')))
    expect(service.count('/oauth/token')).toBe(2)
  })

  test('are replaced only once in a call if the API refuses the second one too', async () => {
    await using service = await startTokenService({ [GUIDE_PATH]: () => createRefusal(401, 'invalid-token') })
    await expect(createRegisteredClient(service).guide('work-permit')).rejects.toMatchObject({ status: 401 })
    expect([service.count(GUIDE_PATH), service.count('/oauth/token')]).toEqual([2, 2])
  })

  test('are requested again 30 s after a token request failed, and calls until then are sent without one', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    let remainingFailures = 1
    await using service = await startTokenService({
      '/oauth/token': () =>
        (remainingFailures -= 1) >= 0
          ? createRefusal(500, 'internal-error')
          : { body: { access_token: 'ppt_2', expires_in: 3600 } },
    })
    const client = createRegisteredClient(service)
    for (const ms of [0, 29_999, 1]) {
      vi.advanceTimersByTime(ms)
      await client.guide('work-permit')
    }
    expect(listAuthorizations(service, GUIDE_PATH)).toEqual([undefined, undefined, 'Bearer ppt_2'])
  })

  test('are sent once a client is registered', async () => {
    await using service = await startTokenService()
    const client = new Plainpath(service.origin)
    await client.guide('work-permit')
    await client.register()
    await client.guide('work-permit')
    expect(listAuthorizations(service, GUIDE_PATH)).toEqual([undefined, 'Bearer ppt_1'])
  })
})

describe('without a token', () => {
  const readings = [
    ['/api/answers', (client: Plainpath) => client.ask('When do I renew?')],
    ['/api/guides', (client: Plainpath) => client.search('work permit')],
    [GUIDE_PATH, (client: Plainpath) => client.guide('work-permit')],
  ] as const

  test.for([
    ['is unavailable', createRefusal(503, 'unavailable')],
    ['redirects', { status: 307, headers: { location: '/elsewhere' } }],
    ['refuses an expired registration', createRefusal(401, 'client-expired')],
  ] as const)('a client asks, searches and reads if the token endpoint %s', async ([, refusal]) => {
    const reply = () => ({ body: { guides: [] } })
    await using service = await startTokenService({
      '/oauth/token': () => refusal,
      ...Object.fromEntries(readings.map(([path]) => [path, reply])),
    })
    const client = createRegisteredClient(service)
    for (const [, read] of readings) await read(client)
    for (const [path] of readings) expect(listAuthorizations(service, path)).toEqual([undefined])
    expect(service.count('/oauth/token')).toBe(1)
  })

  // During an outage of the authorization server, the API cannot check a token that the client got before.
  test.for([
    { status: 503, code: 'unavailable', retryAfter: '0', sent: ['Bearer ppt_1', undefined, undefined] },
    { status: 429, code: 'rate-limited', retryAfter: '0', sent: ['Bearer ppt_1', 'Bearer ppt_1'] },
    { status: 503, code: 'answers-paused', sent: ['Bearer ppt_1'] },
    { status: 429, code: 'rate-limited', sent: ['Bearer ppt_1'] },
  ])('$sent are sent if the API responds with $status $code, Retry-After $retryAfter', async (row) => {
    await using service = await startTokenService({
      [GUIDE_PATH]: () => createRefusal(row.status, row.code, row.retryAfter),
    })
    const call = createRegisteredClient(service).guide('work-permit')
    await expect(call).rejects.toMatchObject({ code: row.code })
    expect(listAuthorizations(service, GUIDE_PATH)).toEqual(row.sent)
  })

  test('a client reads if the API refuses its token, and it gets no other', async () => {
    await using service = await startTokenService({
      '/oauth/token': (_, { count }) =>
        count('/oauth/token') === 1
          ? { body: { access_token: 'ppt_1', expires_in: 3600 } }
          : createRefusal(401, 'client-expired'),
      [GUIDE_PATH]: ({ headers }) =>
        headers['authorization'] ? createRefusal(401, 'invalid-token') : { body: { slug: 'work-permit' } },
    })
    expect(await createRegisteredClient(service).guide('work-permit')).toEqual({ slug: 'work-permit' })
    expect(listAuthorizations(service, GUIDE_PATH)).toEqual(['Bearer ppt_1', undefined])
  })

  test('a client sends no message, and no read that was aborted', async () => {
    await using service = await startTokenService({
      '/oauth/token': (_, { count }) =>
        count('/oauth/token') === 1 ? new Promise<object>(() => {}) : createRefusal(500, 'internal-error'),
    })
    const client = createRegisteredClient(service)
    const controller = new AbortController()
    const abortedCall = client.guide('work-permit', { signal: controller.signal })
    await expect.poll(() => service.count('/oauth/token')).toBe(1)
    controller.abort(new Error('enough'))
    await expect(abortedCall).rejects.toThrow('enough')
    await expect(client.sendMessage(MESSAGE)).rejects.toMatchObject({ code: 'internal-error' })
    expect([service.count(GUIDE_PATH), service.count('/api/contact')]).toEqual([0, 0])
  })
})

describe('registration', () => {
  test('is requested once for concurrent calls, and not at all with credentials', async () => {
    await using service = await startTokenService()
    const client = new Plainpath(service.origin)
    const credentials = { origin: service.origin, client_id: 'agt_1', client_secret: SECRET }
    const results = await Promise.all([client.register({ client_name: 'A' }), client.register()])
    expect(results).toEqual([credentials, credentials])
    expect([await client.register(), client.credentials]).toEqual([credentials, credentials])
    expect(await createRegisteredClient(service).register()).toEqual(credentials)
    expect(service.received.map(({ body }) => body)).toEqual(['{"client_name":"A"}'])
  })

  test('is deleted together with the credentials and tokens of the client', async () => {
    await using service = await startTokenService({ '/api/agent': () => ({ status: 204 }) })
    const client = createRegisteredClient(service)
    await client.guide('work-permit')
    await client.deleteRegistration()
    expect(client.credentials).toBeUndefined()
    await client.guide('work-permit')
    expect(listAuthorizations(service, GUIDE_PATH)).toEqual(['Bearer ppt_1', undefined])
    await expect(client.messageStatus('1')).rejects.toMatchObject({ status: 0, code: 'not-registered' })
  })
})

describe('retries', () => {
  test.for([
    { status: 429, retryAfter: '0', attempts: 2 },
    { status: 503, retryAfter: '0', attempts: 2 },
    // The client waits for at most 5 s.
    { status: 503, retryAfter: '6', attempts: 1 },
    { status: 503, retryAfter: undefined, attempts: 1 },
    { status: 500, retryAfter: '0', attempts: 1 },
  ])('$status with Retry-After $retryAfter: $attempts attempts', async ({ status, retryAfter, attempts }) => {
    await using service = await startTokenService({
      [GUIDE_PATH]: () => createRefusal(status, 'failed', retryAfter),
    })
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject({
      status,
      retryAfter: retryAfter && Number(retryAfter),
    })
    expect(service.count(GUIDE_PATH)).toBe(attempts)
  })

  test('make a call succeed if its second attempt succeeds', async () => {
    await using service = await startTokenService({
      [GUIDE_PATH]: (_, { count }) =>
        count(GUIDE_PATH) === 1 ? createRefusal(429, 'rate-limited', '0') : { body: { slug: 'x' } },
    })
    expect(await new Plainpath(service.origin).guide('work-permit')).toEqual({ slug: 'x' })
  })

  test.for([
    ['register', '/api/agent/register', (client: Plainpath) => client.register()],
    [
      'beginVerification',
      '/api/agent/claim',
      (client: Plainpath) => client.beginVerification('a@example.org'),
    ],
    [
      'completeVerification',
      '/api/agent/claim/complete',
      (client: Plainpath) => client.completeVerification('1'),
    ],
    ['deleteRegistration', '/api/agent', (client: Plainpath) => client.deleteRegistration()],
  ] as const)('are not made for %s', async ([name, path, call]) => {
    await using service = await startTokenService({ [path]: () => createRefusal(503, 'unavailable', '0') })
    const client = name === 'register' ? new Plainpath(service.origin) : createRegisteredClient(service)
    await expect(call(client)).rejects.toMatchObject({ status: 503 })
    expect(service.count(path)).toBe(1)
  })
})

describe('a message', () => {
  const listIdempotencyKeys = ({ received }: FakeService) =>
    received.filter(({ path }) => path === '/api/contact').map(({ headers }) => headers['idempotency-key'])

  test('has the same key each time, even from another client, and a different message has another key', async () => {
    await using service = await startTokenService()
    const client = createRegisteredClient(service)
    await client.sendMessage(MESSAGE)
    await client.sendMessage({ message: MESSAGE.message, topic: MESSAGE.topic, guideSlug: null })
    await createRegisteredClient(service).sendMessage(MESSAGE)
    await client.sendMessage({ ...MESSAGE, topic: 'other' })
    await client.sendMessage(MESSAGE, { idempotencyKey: 'mine' })
    const [key, repeatedKey, otherClientKey, otherMessageKey, ownKey] = listIdempotencyKeys(service)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect([repeatedKey, otherClientKey, ownKey]).toEqual([key, key, 'mine'])
    expect(otherMessageKey).not.toBe(key)
  })

  test('needs a token, for which the client exchanges an identity assertion', async () => {
    await using service = await startTokenService()
    await createRegisteredClient(service).sendMessage(MESSAGE)
    const form = service.received.find(({ path }) => path === '/oauth/token')?.body
    expect(Object.fromEntries(new URLSearchParams(form))).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'a.b.c',
    })
  })

  test('is not sent before the person has confirmed', async () => {
    await using service = await startTokenService({
      '/api/agent/assertion': () => createRefusal(409, 'no-claim'),
    })
    const call = createRegisteredClient(service).sendMessage(MESSAGE)
    await expect(call).rejects.toMatchObject({ code: 'no-claim' })
    expect(service.count('/api/contact')).toBe(0)
  })
})

describe('an error', () => {
  test.for([
    { form: 'a problem', body: createProblem('not-found'), code: 'not-found', detail: 'What to do.' },
    {
      form: 'an OAuth error',
      body: {
        error: 'invalid_client',
        error_description: 'Why.',
        error_uri: 'https://x.example/problems/client-expired',
      },
      code: 'client-expired',
      detail: 'Why.',
    },
    {
      form: 'a page of a proxy',
      body: '<h1>Bad gateway</h1>',
      code: 'unexpected-response',
      detail: expect.any(String),
    },
    { form: 'a JSON list', body: [1], code: 'unexpected-response', detail: expect.any(String) },
  ])('is read from $form', async ({ body, code, detail }) => {
    await using service = await startTokenService({
      [GUIDE_PATH]: () => ({ status: 404, headers: { 'x-request-id': 'r-2' }, body }),
    })
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject({
      name: 'PlainpathError',
      message: expect.stringContaining(`404 ${code}: `),
      status: 404,
      code,
      detail,
      requestId: 'r-2',
    })
  })

  test('has the other members of the problem', async () => {
    await using service = await startTokenService({ [GUIDE_PATH]: () => createRefusal(410, 'guide-retired') })
    const call = new Plainpath(service.origin).guide('work-permit')
    await expect(call).rejects.toMatchObject({ requestId: 'r-1', problem: { extra: 1 } })
  })

  test('is thrown for a successful response that is not JSON', async () => {
    await using service = await startTokenService({ [GUIDE_PATH]: () => ({ body: '<html>' }) })
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject({
      code: 'unexpected-response',
    })
  })

  test('is thrown for a redirect, which is not followed, and for a missing response', async () => {
    await using service = await startTokenService({
      [GUIDE_PATH]: () => ({ status: 307, headers: { location: '/elsewhere' } }),
    })
    const networkError = { status: 0, code: 'network-error' }
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject(networkError)
    expect(service.received.length).toBe(1)
    // Nothing listens on port 9.
    await expect(new Plainpath('http://127.0.0.1:9').guide('x')).rejects.toMatchObject(networkError)
  })
})

describe('a call that gets no response', () => {
  const neverReply = () => new Promise<object>(() => {})

  test('fails after the timeout', async () => {
    await using service = await startTokenService({ [GUIDE_PATH]: neverReply })
    const call = new Plainpath(service.origin, { timeoutMs: 50 }).guide('work-permit')
    await expect(call).rejects.toMatchObject({ status: 0, code: 'timeout' })
    expect(service.count(GUIDE_PATH)).toBe(1)
  })

  test('fails with the reason of its signal', async () => {
    await using service = await startTokenService({ [GUIDE_PATH]: neverReply })
    const controller = new AbortController()
    const call = new Plainpath(service.origin).guide('work-permit', { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  test('fails without a request if its signal was aborted before', async () => {
    await using service = await startTokenService()
    const signal = AbortSignal.abort(new Error('enough'))
    const unregisteredClient = new Plainpath(service.origin)
    await expect(unregisteredClient.register({}, { signal })).rejects.toThrow('enough')
    await expect(createRegisteredClient(service).guide('work-permit', { signal })).rejects.toThrow('enough')
    expect(service.received).toEqual([])
  })

  test('fails with the reason of its signal, but does not abort the token request that it shares', async () => {
    let issueToken: (reply: object) => void = () => {}
    await using service = await startTokenService({
      '/oauth/token': () => new Promise<object>((resolve) => void (issueToken = resolve)),
    })
    const client = createRegisteredClient(service)
    const controller = new AbortController()
    const abortedCall = client.guide('work-permit', { signal: controller.signal })
    const otherCall = client.guide('work-permit')
    await expect.poll(() => service.count('/oauth/token')).toBe(1)
    controller.abort(new Error('enough'))
    await expect(abortedCall).rejects.toThrow('enough')
    issueToken({ body: { access_token: 'ppt_1', expires_in: 3600 } })
    expect(await otherCall).toEqual({ slug: 'work-permit' })
    expect(service.count('/oauth/token')).toBe(1)
  })
})

describe('secrets', () => {
  test('are not in the printed form of the client or its errors', async () => {
    await using service = await startTokenService({ [GUIDE_PATH]: () => createRefusal(401, 'invalid-token') })
    const client = createRegisteredClient(service)
    const error = await client.guide('work-permit').catch((thrown: unknown) => thrown)
    const options = { depth: null, showHidden: true }
    const texts = [client, error].map(
      (value) => `${inspect(value, options)} ${JSON.stringify(value)} ${String(value)}`,
    )
    for (const text of texts) expect(text).not.toMatch(/pps_|ppt_/)
  })

  test.for(['http://plainpath.example', 'ftp://plainpath.example', 'http://localhost.evil.example'])(
    'cannot be sent to %s',
    (origin) => {
      expect(() => new Plainpath(origin)).toThrow(TypeError)
    },
  )

  test.for([
    'https://plainpath.example',
    'http://localhost:8080',
    'http://127.0.0.1:1',
    'http://[::1]:8080/',
  ])('can be sent to %s', (origin) => {
    expect(() => new Plainpath(origin)).not.toThrow()
  })

  test('of another origin are rejected, like an origin with a path or a user', () => {
    const credentials = { origin: 'https://other.example', client_id: 'agt_1', client_secret: SECRET }
    expect(() => new Plainpath('https://plainpath.example', { credentials })).toThrow(
      'for https://other.example',
    )
    expect(() => new Plainpath('https://plainpath.example/api')).toThrow('leave out what follows')
    expect(() => new Plainpath('https://user:password@plainpath.example')).toThrow(TypeError)
  })
})
