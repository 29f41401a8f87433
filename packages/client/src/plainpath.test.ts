import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { FakeService } from '../test/fake-service.ts'
import { GUIDE, problem, refusal, SECRET, startTokenService } from '../test/token-service.ts'
import { type Message, Plainpath, type PlainpathOptions } from './index.ts'

const MESSAGE: Message = { topic: 'question', message: 'When do I renew?' }

const registered = ({ origin }: FakeService, options: PlainpathOptions = {}) =>
  new Plainpath(origin, { credentials: { origin, client_id: 'agt_1', client_secret: SECRET }, ...options })

const bearers = ({ received }: FakeService, path: string) =>
  received.filter((each) => each.path === path).map(({ headers }) => headers['authorization'])

describe('tokens', () => {
  test('are shared by concurrent calls, and used until a minute before they expire', async () => {
    await using service = await startTokenService()
    const client = registered(service)
    await Promise.all(Array.from({ length: 20 }, () => client.guide('work-permit')))
    await client.guide('work-permit')
    expect(service.count('/oauth/token')).toBe(1)
    expect(new Set(bearers(service, GUIDE))).toEqual(new Set(['Bearer ppt_1']))
  })

  test('that expire within a minute are used once', async () => {
    let tokens = 0
    await using service = await startTokenService({
      '/oauth/token': () => ({ body: { access_token: `ppt_${(tokens += 1)}`, expires_in: 60 } }),
    })
    const client = registered(service)
    for (let call = 0; call < 2; call += 1) await client.guide('work-permit')
    expect(bearers(service, GUIDE)).toEqual(['Bearer ppt_1', 'Bearer ppt_2'])
  })

  test('that the API refuses are replaced once, by one request for all calls', async () => {
    await using service = await startTokenService({
      [GUIDE]: ({ headers }) =>
        headers['authorization'] === 'Bearer ppt_1' ? refusal(401, 'invalid-token') : { body: {} },
    })
    const client = registered(service)
    await Promise.all(Array.from({ length: 10 }, () => client.guide('work-permit')))
    expect(service.count('/oauth/token')).toBe(2)
  })

  test('that the API refuses again are not replaced again', async () => {
    await using service = await startTokenService({ [GUIDE]: () => refusal(401, 'invalid-token') })
    await expect(registered(service).guide('work-permit')).rejects.toMatchObject({ status: 401 })
    expect([service.count(GUIDE), service.count('/oauth/token')]).toEqual([2, 2])
  })

  test('are requested again after a request failed', async () => {
    let failures = 1
    await using service = await startTokenService({
      '/oauth/token': () =>
        (failures -= 1) >= 0
          ? refusal(500, 'internal-error')
          : { body: { access_token: 'ppt_2', expires_in: 3600 } },
    })
    const client = registered(service)
    await expect(client.guide('work-permit')).rejects.toMatchObject({ code: 'internal-error' })
    await client.guide('work-permit')
  })

  test('are not sent by a client that is not registered', async () => {
    await using service = await startTokenService()
    await new Plainpath(service.origin).guide('work-permit')
    expect(bearers(service, GUIDE)).toEqual([undefined])
  })
})

describe('registration', () => {
  test('is one for concurrent calls, and none with credentials', async () => {
    await using service = await startTokenService()
    const client = new Plainpath(service.origin)
    const [first, second] = await Promise.all([client.register({ client_name: 'A' }), client.register()])
    expect(first).toEqual({ origin: service.origin, client_id: 'agt_1', client_secret: SECRET })
    expect([second, await client.register(), client.credentials]).toEqual([first, first, first])
    expect(await registered(service).register()).toEqual(first)
    expect(service.received.map(({ body }) => body)).toEqual(['{"client_name":"A"}'])
  })

  test('is deleted with everything that the client holds', async () => {
    await using service = await startTokenService({ '/api/agent': () => ({ status: 204 }) })
    const client = registered(service)
    await client.guide('work-permit')
    await client.deleteRegistration()
    expect(client.credentials).toBeUndefined()
    await client.guide('work-permit')
    expect(bearers(service, GUIDE)).toEqual(['Bearer ppt_1', undefined])
    await expect(client.messageStatus('1')).rejects.toMatchObject({ status: 0, code: 'not-registered' })
  })
})

describe('retries', () => {
  test.for([
    { status: 429, retryAfter: '0', attempts: 2 },
    { status: 503, retryAfter: '0', attempts: 2 },
    { status: 503, retryAfter: '6', attempts: 1 },
    { status: 503, retryAfter: undefined, attempts: 1 },
    { status: 500, retryAfter: '0', attempts: 1 },
  ])('$status with Retry-After $retryAfter: $attempts attempts', async ({ status, retryAfter, attempts }) => {
    await using service = await startTokenService({ [GUIDE]: () => refusal(status, 'failed', retryAfter) })
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject({
      status,
      retryAfter: retryAfter && Number(retryAfter),
    })
    expect(service.count(GUIDE)).toBe(attempts)
  })

  test('succeed when the second attempt does', async () => {
    await using service = await startTokenService({
      [GUIDE]: (_, { count }) =>
        count(GUIDE) === 1 ? refusal(429, 'rate-limited', '0') : { body: { slug: 'x' } },
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
  ] as const)('are none of %s', async ([name, path, call]) => {
    await using service = await startTokenService({ [path]: () => refusal(503, 'unavailable', '0') })
    const client = name === 'register' ? new Plainpath(service.origin) : registered(service)
    await expect(call(client)).rejects.toMatchObject({ status: 503 })
    expect(service.count(path)).toBe(1)
  })
})

describe('a message', () => {
  const keys = ({ received }: FakeService) =>
    received.filter(({ path }) => path === '/api/contact').map(({ headers }) => headers['idempotency-key'])

  test('has the same key each time, also from another client, and another message has another', async () => {
    await using service = await startTokenService()
    const client = registered(service)
    await client.sendMessage(MESSAGE)
    await client.sendMessage({ message: MESSAGE.message, topic: MESSAGE.topic, guideSlug: null })
    await registered(service).sendMessage(MESSAGE)
    await client.sendMessage({ ...MESSAGE, topic: 'other' })
    await client.sendMessage(MESSAGE, { idempotencyKey: 'mine' })
    const [first, second, third, other, mine] = keys(service)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect([second, third, mine]).toEqual([first, first, 'mine'])
    expect(other).not.toBe(first)
  })

  test('has a token for the person, which an assertion was exchanged for', async () => {
    await using service = await startTokenService()
    await registered(service).sendMessage(MESSAGE)
    const form = service.received.find(({ path }) => path === '/oauth/token')?.body
    expect(Object.fromEntries(new URLSearchParams(form))).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'a.b.c',
    })
  })

  test('is not sent before the person has confirmed', async () => {
    await using service = await startTokenService({ '/api/agent/assertion': () => refusal(409, 'no-claim') })
    await expect(registered(service).sendMessage(MESSAGE)).rejects.toMatchObject({ code: 'no-claim' })
    expect(service.count('/api/contact')).toBe(0)
  })
})

describe('an error', () => {
  test.for([
    { form: 'a problem', body: problem('not-found'), code: 'not-found', detail: 'What to do.' },
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
      [GUIDE]: () => ({ status: 404, headers: { 'x-request-id': 'r-2' }, body }),
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
    await using service = await startTokenService({ [GUIDE]: () => refusal(410, 'guide-retired') })
    const refused = new Plainpath(service.origin).guide('work-permit')
    await expect(refused).rejects.toMatchObject({ requestId: 'r-1', problem: { extra: 1 } })
  })

  test('is thrown for a success that is not JSON', async () => {
    await using service = await startTokenService({ [GUIDE]: () => ({ body: '<html>' }) })
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject({
      code: 'unexpected-response',
    })
  })

  test('is thrown without a response, and without following a redirect', async () => {
    await using service = await startTokenService({
      [GUIDE]: () => ({ status: 307, headers: { location: '/elsewhere' } }),
    })
    const failed = { status: 0, code: 'network-error' }
    await expect(new Plainpath(service.origin).guide('work-permit')).rejects.toMatchObject(failed)
    expect(service.received.length).toBe(1)
    await expect(new Plainpath('http://127.0.0.1:9').guide('x')).rejects.toMatchObject(failed)
  })
})

describe('a call that gets no response', () => {
  const never = () => new Promise<object>(() => {})

  test('ends after the timeout', async () => {
    await using service = await startTokenService({ [GUIDE]: never })
    const call = new Plainpath(service.origin, { timeoutMs: 50 }).guide('work-permit')
    await expect(call).rejects.toMatchObject({ status: 0, code: 'timeout' })
    expect(service.count(GUIDE)).toBe(1)
  })

  test('ends with the reason of its signal', async () => {
    await using service = await startTokenService({ [GUIDE]: never })
    const controller = new AbortController()
    const call = new Plainpath(service.origin).guide('work-permit', { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  test('ends by its signal while it waits for a token that others wait for too', async () => {
    let issue: (reply: object) => void = () => {}
    await using service = await startTokenService({
      '/oauth/token': () => new Promise<object>((resolve) => void (issue = resolve)),
    })
    const client = registered(service)
    const controller = new AbortController()
    const abandoned = client.guide('work-permit', { signal: controller.signal })
    const other = client.guide('work-permit')
    await expect.poll(() => service.count('/oauth/token')).toBe(1)
    controller.abort(new Error('enough'))
    await expect(abandoned).rejects.toThrow('enough')
    issue({ body: { access_token: 'ppt_1', expires_in: 3600 } })
    expect(await other).toEqual({ slug: 'work-permit' })
    expect(service.count('/oauth/token')).toBe(1)
  })
})

describe('secrets', () => {
  test('are in no text about the client or its errors', async () => {
    await using service = await startTokenService({ [GUIDE]: () => refusal(401, 'invalid-token') })
    const client = registered(service)
    const error = await client.guide('work-permit').catch((thrown: unknown) => thrown)
    const options = { depth: null, showHidden: true }
    const texts = [client, error].map(
      (each) => `${inspect(each, options)} ${JSON.stringify(each)} ${String(each)}`,
    )
    for (const text of texts) expect(text).not.toMatch(/pps_|ppt_/)
  })

  test.for(['http://plainpath.example', 'ftp://plainpath.example', 'http://localhost.evil.example'])(
    'are not sent to %s',
    (origin) => {
      expect(() => new Plainpath(origin)).toThrow(TypeError)
    },
  )

  test.for([
    'https://plainpath.example',
    'http://localhost:8080',
    'http://127.0.0.1:1',
    'http://[::1]:8080/',
  ])('may be sent to %s', (origin) => {
    expect(() => new Plainpath(origin)).not.toThrow()
  })

  test('of another origin are refused, and so is an origin with a path or a user', () => {
    const credentials = { origin: 'https://other.example', client_id: 'agt_1', client_secret: SECRET }
    expect(() => new Plainpath('https://plainpath.example', { credentials })).toThrow(
      'for https://other.example',
    )
    expect(() => new Plainpath('https://plainpath.example/api')).toThrow('leave out what follows')
    expect(() => new Plainpath('https://user:password@plainpath.example')).toThrow(TypeError)
  })
})
