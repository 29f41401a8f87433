import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { measureCpuMs } from '../../test/cpu-time.ts'
import { startService } from '../../test/start-service.ts'
import { createWhoRoute } from '../../test/who-route.ts'
import { defineRoute, type RawRoute, type Route } from './route.ts'

const start = (...routes: Route[]) => startService({ routes })

const JoinBody = z.strictObject({
  email: z.string(),
  age: z.int().min(18),
  tags: z.array(z.string()).optional(),
})
const joinRoute = defineRoute({
  method: 'post',
  path: '/join/{slug}',
  operationId: 'join',
  summary: 'Takes all kinds of input',
  access: 'open',
  limits: {},
  request: {
    body: JoinBody,
    query: z.object({ limit: z.coerce.number().int().max(100).optional(), q: z.string().optional() }),
    params: z.object({ slug: z.string().regex(/^[a-z]+$/) }),
  },
  responses: { 200: z.object({ body: JoinBody, query: z.looseObject({}), params: z.looseObject({}) }) },
  handle: ({ body, query, params }) => ({ status: 200, body: { body, query, params } }),
})

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

describe('input', () => {
  test('is parsed by its schemas, in all its parts', async () => {
    await using service = await start(joinRoute)
    const response = await post(`${service.url}/join/abc?limit=5&unknown=1&q=%F0%9F%98%80`, {
      email: 'a',
      age: 20,
    })
    expect(await response.json()).toEqual({
      body: { email: 'a', age: 20 },
      query: { limit: 5, q: '😀' },
      params: { slug: 'abc' },
    })
  })

  test('is refused with all its mistakes, and names unknown members', async () => {
    await using service = await start(joinRoute)
    const response = await post(`${service.url}/join/abc`, {
      age: 3,
      tags: ['a', 1],
      'un/known~': 1,
      ümlaut: 2,
    })
    expect(response.status).toBe(400)
    const problem = (await response.json()) as {
      detail: string
      errors: { pointer: string; detail: string }[]
    }
    expect(problem.errors).toEqual([
      { pointer: '#/email', detail: 'is missing; it must be a string' },
      { pointer: '#/age', detail: expect.stringContaining('18') },
      { pointer: '#/tags/1', detail: 'must be a string' },
      { pointer: '#/un~1known~0', detail: 'is unknown; leave it out' },
      { pointer: '#/%C3%BCmlaut', detail: 'is unknown; leave it out' },
    ])
    expect(problem.detail).toBe('#/email: is missing; it must be a string. There are 4 more mistakes.')
  })

  test.for([
    { body: null, detail: '#: must be an object.' },
    { body: [], detail: '#: must be an object.' },
    { body: 'text', detail: '#: must be an object.' },
    { body: { email: ['a@b'], age: 20 }, detail: '#/email: must be a string.' },
    { body: { email: { toString: 1 }, age: 20 }, detail: '#/email: must be a string.' },
    { body: { email: true, age: 20 }, detail: '#/email: must be a string.' },
    { body: { email: 'a', age: '20' }, detail: '#/age: must be a number.' },
    { body: { email: 'a', age: 20.5 }, detail: '#/age: must be an int.' },
    { body: { email: 'a', age: null }, detail: '#/age: must be a number.' },
    { body: { email: 'a', age: 3, x: 1 }, detail: expect.stringMatching(/ There is 1 more mistake\.$/) },
  ])('is refused with a detail that names its first mistake: $body', async ({ body, detail }) => {
    await using service = await start(joinRoute)
    const response = await post(`${service.url}/join/abc`, body)
    expect(await response.json()).toMatchObject({ status: 400, code: 'invalid-request', detail })
  })

  test('is refused with at most fifty mistakes, each with a short name', async () => {
    await using service = await start(joinRoute)
    const unknownMembers = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`${'😀'.repeat(5)}${index}`, 1]),
    )
    const longName = `a${'😀'.repeat(1_000)}`
    const response = await post(`${service.url}/join/abc`, { ...unknownMembers, [longName]: 1 })
    expect(response.status).toBe(400)
    const { detail, errors } = (await response.json()) as { detail: string; errors: { pointer: string }[] }
    // 401 unknown members and two missing ones, of which the detail describes the first.
    expect(errors).toHaveLength(50)
    expect(detail).toContain('There are 402 more mistakes.')
    // A name is cut after 60 UTF-16 units. If that is in the middle of a surrogate pair, the name must still be valid text.
    const longNameResponse = await post(`${service.url}/join/abc`, { email: 'a', age: 20, [longName]: 1 })
    const [mistake] = ((await longNameResponse.json()) as { errors: { pointer: string }[] }).errors
    expect(decodeURIComponent(mistake?.pointer ?? '')).toBe(`#/a${'😀'.repeat(29)}\uFFFD`)
  })

  test('is refused with the name of a wrong query parameter', async () => {
    await using service = await start(joinRoute)
    for (const query of ['limit=101', 'limit=x', 'limit=1&limit=2', 'limit=1.5']) {
      const response = await post(`${service.url}/join/abc?${query}`, { email: 'a', age: 20 })
      expect(await response.json()).toMatchObject({ status: 400, errors: [{ pointer: '?limit' }] })
    }
  })

  test('is 404 if a path parameter does not match its schema', async () => {
    await using service = await start(joinRoute)
    for (const slug of ['ABC', 'a1', '%zz', '%E0%A4%A', '%00', 'a%2fb', 'a%20b']) {
      const response = await post(`${service.url}/join/${slug}`, { email: 'a', age: 20 })
      expect(await response.json()).toMatchObject({ status: 404, code: 'not-found' })
    }
  })

  test('is refused within 0.4 s of CPU time if it has thousands of query parameters', async () => {
    await using service = await start(joinRoute)
    const ms = await measureCpuMs(async () => {
      const response = await post(`${service.url}/join/abc?${'q&'.repeat(7_000)}`, { email: 'a', age: 20 })
      expect(response.status).toBe(400)
    })
    expect(ms).toBeLessThan(400)
  })

  test('may have query parameters named like members of Object', async () => {
    await using service = await start(joinRoute)
    const response = await post(`${service.url}/join/abc?__proto__=1&constructor=2&__proto__[q]=3`, {
      email: 'a',
      age: 20,
    })
    expect(await response.json()).toMatchObject({ query: {} })
  })
})

test('refuses a body with the problem code of its route', async () => {
  await using service = await start({ ...joinRoute, bodyProblem: 'invalid-client-metadata' })
  expect(await (await post(`${service.url}/join/abc`, {})).json()).toMatchObject({
    code: 'invalid-client-metadata',
  })
})

describe('a response', () => {
  const startReplying = (reply: () => unknown, responses: Record<number, z.ZodType | null>) =>
    start({
      method: 'get',
      path: '/',
      operationId: 'reply',
      summary: '',
      access: 'open',
      limits: {},
      responses,
      handle: reply as Route['handle'],
    })
  const Person = z.object({ name: z.string() })

  test('omits the members that its schema does not list', async () => {
    const reply = { status: 200, body: { name: 'a', secret: 'canary' } }
    await using service = await startReplying(() => reply, { 200: Person })
    expect(await (await fetch(service.url)).text()).toBe('{"name":"a"}')
  })

  test.for([
    {
      kind: 'with an unlisted member, where the schema is strict',
      reply: { status: 200, body: { name: 'a', secret: 'canary' } },
      schema: z.strictObject({ name: z.string() }),
    },
    { kind: 'without a member', reply: { status: 200, body: {} }, schema: Person },
    {
      kind: 'with a member of another type',
      reply: { status: 200, body: { name: { canary: 1 } } },
      schema: Person,
    },
    { kind: 'without a body', reply: { status: 200 }, schema: Person },
    {
      kind: 'of a status that is not listed',
      reply: { status: 201, body: { name: 'canary' } },
      schema: Person,
    },
  ])('$kind is a 500 that reveals nothing', async ({ reply, schema }) => {
    await using service = await startReplying(
      () => ({ ...reply, headers: { location: '/canary', 'x-canary': '1' } }),
      { 200: schema },
    )
    const response = await fetch(service.url)
    expect(response.status).toBe(500)
    expect(JSON.stringify([...response.headers]) + (await response.text())).not.toContain('canary')
    expect(service.logLines.join('')).not.toContain('canary')
  })

  test('without a schema has no body', async () => {
    await using service = await startReplying(() => ({ status: 204 }), { 204: null })
    const response = await fetch(service.url)
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  test('of 202 without a schema stays 202 and has no body', async () => {
    await using service = await startReplying(() => ({ status: 202 }), { 202: null })
    const response = await fetch(service.url)
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      202,
      '0',
      '',
    ])
  })

  test('of text is sent unchanged', async () => {
    const text = { type: 'text/markdown; charset=utf-8', content: '# <Título>' }
    await using service = await startReplying(() => ({ status: 200, text }), { 200: z.string() })
    const response = await fetch(service.url)
    expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(await response.text()).toBe('# <Título>')
  })

  test('has the headers of the reply', async () => {
    await using service = await startReplying(
      () => ({ status: 200, body: { name: 'a' }, headers: { link: '</x>' } }),
      { 200: Person },
    )
    expect((await fetch(service.url)).headers.get('link')).toBe('</x>')
  })
})

describe('methods and paths:', () => {
  const routes = [
    createWhoRoute('/a', 'open'),
    { ...joinRoute, path: '/a' as const, request: {} },
    createWhoRoute('/b/{id}', 'open'),
  ]
  test.for([
    { method: 'PUT', path: '/a', allow: 'GET, HEAD, POST' },
    { method: 'DELETE', path: '/a', allow: 'GET, HEAD, POST' },
    { method: 'OPTIONS', path: '/a', allow: 'GET, HEAD, POST' },
    { method: 'POST', path: '/b/1', allow: 'GET, HEAD' },
    { method: 'PROPFIND', path: '/b/1', allow: 'GET, HEAD' },
  ])('$method $path is 405 and allows $allow', async ({ method, path, allow }) => {
    await using service = await start(...routes)
    const response = await fetch(`${service.url}${path}`, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(await response.json()).toMatchObject({ code: 'method-not-allowed', detail: `Use ${allow} here.` })
  })

  test.for([
    '/A',
    '/a/',
    '//a',
    '/a;x=1',
    '/%61',
    '/b',
    '/b/',
    '/b/1/',
    '/b/1/2',
    '/a%2f',
    '/a%00',
    '/a/../b/1x/y',
  ])('%s is 404', async (path) => {
    await using service = await start(...routes)
    // Not `fetch`, which would normalise the path.
    const { status } = await new Promise<{ status: number | undefined }>((resolve, reject) => {
      request({ port: service.port, path }, (response) => resolve({ status: response.resume().statusCode }))
        .on('error', reject)
        .end()
    })
    expect(status).toBe(404)
  })

  test('requests for which there is no route (404, 405) count together, and are refused over the limit', async () => {
    const unmatchedLimits = [{ name: 'unmatched', quota: 2, windowSeconds: 60 }]
    await using service = await startService({ routes, unmatchedLimits })
    const send = async (path: string, method = 'GET') => {
      const { status, headers } = await fetch(`${service.url}${path}`, { method })
      return [status, headers.get('ratelimit')?.replace(/;t=\d+$/, '')]
    }
    expect(await send('/nowhere')).toEqual([404, '"unmatched";r=1'])
    expect(await send('/b/1', 'PUT')).toEqual([405, '"unmatched";r=0'])
    expect(await send('/nowhere')).toEqual([429, '"unmatched";r=0'])
    expect(await send('/b/1', 'PUT')).toEqual([429, '"unmatched";r=0'])
    // Requests with a route are not counted.
    expect(await send('/b/1')).toEqual([200, undefined])
    expect(service.recordedResponses.map(({ route }) => route)).toEqual([
      'unmatched',
      '/b/{id}',
      'unmatched',
      '/b/{id}',
      '/b/{id}',
    ])
  })

  test('logs and counts a request under its path pattern', async () => {
    await using service = await start(...routes)
    await fetch(`${service.url}/b/canary`)
    expect(service.recordedResponses).toMatchObject([{ route: '/b/{id}', status: 200 }])
    await fetch(`${service.url}/b/canary`, { method: 'PUT' })
    expect(service.recordedResponses).toMatchObject([
      { route: '/b/{id}', status: 200 },
      { route: '/b/{id}', status: 405 },
    ])
    expect(service.logLines.join('')).not.toContain('canary')
  })
})

describe('a route that reads its request and writes its response itself', () => {
  const rawRoute: RawRoute = {
    methods: ['GET', 'HEAD'],
    path: '/raw',
    limits: [
      { name: 'minute', quota: 2, windowSeconds: 60 },
      { name: 'day', quota: 1, windowSeconds: 86_400 },
    ],
    serve: async (ctx) => void (ctx.body = ctx.querystring),
  }

  test('is served, counted by address, and named in the log', async () => {
    await using service = await startService({ routes: [rawRoute] })
    const response = await fetch(`${service.url}/raw?q=1`)
    expect(await response.text()).toBe('q=1')
    expect(response.headers.get('ratelimit')).toMatch(/^"minute";r=1;t=\d+, "day";r=0;t=\d+$/)
    expect((await fetch(`${service.url}/raw`, { method: 'HEAD' })).status).toBe(429)
    expect(service.recordedResponses).toMatchObject([
      { method: 'GET', route: '/raw', status: 200 },
      { method: 'HEAD', route: '/raw', status: 429 },
    ])
  })

  test('matches its exact path only, and names its methods in a 405', async () => {
    await using service = await startService({ routes: [rawRoute] })
    const response = await fetch(`${service.url}/raw`, { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await fetch(`${service.url}/raw/`)).status).toBe(404)
  })
})
