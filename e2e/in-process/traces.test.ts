import { type CollectedSpan, type Collector, startCollector } from '@plainpath/tracing/testing'
import { expect, inject, test } from 'vitest'
import { basic, createSender, form } from '../send.ts'
import { startSystem } from './start-system.ts'

const [RESOURCE, AUTH] = ['plainpath-resource', 'plainpath-auth']
const EMAIL = 'canary-mailbox@canary.example'
const CANARIES = { email: EMAIL, mailbox: 'canary-mailbox', query: 'canary-query', name: 'canary-agent' }
const CLIENT_TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const redis = inject('redisUrl')

const settings = (url: string, more: Readonly<Record<string, string>> = {}) => ({
  env: { AUTH_OTLP_URL: url, RESOURCE_OTLP_URL: url, ...more },
})

/** Lets an agent with a token join the waitlist. Returns what it sent and no trace may contain. */
async function visit(origin: string, headers: Readonly<Record<string, string>> = {}) {
  using sender = createSender(origin)
  const json = { 'content-type': 'application/json' }
  const registered = await sender.send({
    method: 'POST',
    path: `/api/agent/register?q=${CANARIES.query}`,
    headers: { ...json, ...headers },
    body: JSON.stringify({ client_name: CANARIES.name }),
  })
  const client = JSON.parse(registered.text) as { client_id: string; client_secret: string }
  const tokenRequest = form({ grant_type: 'client_credentials' })
  const issued = await sender.send({
    method: 'POST',
    path: '/oauth/token',
    ...tokenRequest,
    headers: { ...tokenRequest.headers, ...basic(client.client_id, client.client_secret), ...headers },
  })
  const { access_token: token } = JSON.parse(issued.text) as { access_token: string }
  const joined = await sender.send({
    method: 'POST',
    path: `/api/waitlist?q=${CANARIES.query}`,
    headers: { ...json, ...headers, authorization: `Bearer ${token}` },
    body: JSON.stringify({ email: EMAIL }),
  })
  // The fast path serves the second read, before Koa.
  const read = [
    await sender.send({ path: '/api/guides', headers }),
    await sender.send({ path: '/api/guides', headers }),
  ]
  expect([registered, issued, joined, ...read].map(({ status }) => status)).toEqual([201, 200, 201, 200, 200])
  return { id: client.client_id, secret: client.client_secret, token }
}

const findRootSpans = (collector: Collector, name: string) =>
  collector.spans().filter((span) => span.name === name && span.parentSpanId === undefined)
const isStatement = (span: CollectedSpan) => span.attributes['db.system.name'] === 'postgresql'
const isRedisCommand = (span: CollectedSpan) => span.attributes['db.system.name'] === 'redis'

test('a request is one trace through both apps and their stores, without private data', async () => {
  await using collector = await startCollector()
  let secrets: Awaited<ReturnType<typeof visit>>
  let logged: readonly string[] = []
  {
    await using system = await startSystem(settings(collector.url))
    secrets = await visit(system.origin, { traceparent: `00-${CLIENT_TRACE_ID}-00f067aa0ba902b7-01` })
    logged = system.logged
  }
  const [request, ...others] = findRootSpans(collector, 'POST /api/waitlist')
  expect(others).toEqual([])
  expect(request).toMatchObject({ service: RESOURCE, parentSpanId: undefined })
  const trace = collector.spans().filter(({ traceId }) => traceId === request?.traceId)
  const findChildren = (parent: CollectedSpan | undefined, service: string | undefined) =>
    trace.filter((span) => span.parentSpanId === parent?.spanId && span.service === service)

  const introspect = findChildren(request, RESOURCE).find(({ name }) => name === 'introspect')
  const [introspectionSpan, ...more] = findChildren(introspect, AUTH)
  expect(more).toEqual([])
  expect(introspectionSpan).toMatchObject({ name: 'POST /oauth/introspect' })
  expect(
    findChildren(request, RESOURCE)
      .filter(isStatement)
      .map(({ name }) => name),
  ).toEqual(expect.arrayContaining(['with']))
  const store = redis ? isRedisCommand : isStatement
  expect(findChildren(introspectionSpan, AUTH).filter(store).length).toBeGreaterThan(0)
  const listRedisCommands = (span: CollectedSpan | undefined, service: string | undefined) =>
    findChildren(span, service)
      .filter(isRedisCommand)
      .map(({ name }) => name)
  if (redis) expect(listRedisCommands(introspectionSpan, AUTH)).toContain('evalsha')
  if (redis) expect(listRedisCommands(request, RESOURCE)).toContain('eval')
  // A client that is not a trusted proxy does not start our traces.
  expect(collector.spans().map(({ traceId }) => traceId)).not.toContain(CLIENT_TRACE_ID)

  expect(findRootSpans(collector, 'GET /api/guides')).toHaveLength(2)

  const lines = logged.map((each) => JSON.parse(each) as Record<string, unknown>)
  expect(lines.find(({ route }) => route === '/api/waitlist')?.['trace_id']).toBe(request?.traceId)
  expect(lines.find(({ route }) => route === '/oauth/introspect')?.['trace_id']).toBe(request?.traceId)

  const exported = collector.bodies.join('\n')
  expect(exported).toContain('insert into waitlist_entries')
  for (const [name, secret] of Object.entries({ ...CANARIES, ...secrets })) {
    expect(exported.includes(secret), name).toBe(false)
    expect(exported.includes(Buffer.from(secret).toString('base64url')), name).toBe(false)
  }
  expect(Array.from(exported.matchAll(/"key":"([^"]+)"/g), ([, key]) => key)).toSatisfy((keys: string[]) =>
    keys.every((key) => ATTRIBUTES.has(key)),
  )
})

/** Every attribute that may be exported. Review a new one before you add it. */
const ATTRIBUTES = new Set([
  'service.name',
  'service.version',
  'service.instance.id',
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'url.template',
  'db.system.name',
  'db.query.text',
  'db.operation.name',
  'error.type',
])

test('continues the trace of a trusted proxy', async () => {
  await using collector = await startCollector()
  {
    const proxies = { AUTH_TRUSTED_PROXIES: '127.0.0.1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' }
    await using system = await startSystem(settings(collector.url, proxies))
    await visit(system.origin, { traceparent: `00-${CLIENT_TRACE_ID}-00f067aa0ba902b7-01` })
  }
  const continuedSpans = collector.spans().filter(({ traceId }) => traceId === CLIENT_TRACE_ID)
  const otherSpans = collector.spans().filter(({ traceId }) => traceId !== CLIENT_TRACE_ID)
  expect(continuedSpans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['POST /api/agent/register', 'POST /oauth/token', 'POST /api/waitlist']),
  )
  // The API fetches the key set when it needs it, not as part of a request.
  expect(otherSpans.filter(({ name }) => name !== 'GET /oauth/jwks.json')).toEqual([])
})

test('exports nothing without the setting, and logs no trace ids', async () => {
  await using collector = await startCollector()
  await using system = await startSystem()
  await visit(system.origin)
  expect(collector.bodies).toEqual([])
  expect(system.logged.join()).not.toContain('trace_id')
})

test.for(['away', 'mute'] as const)('a collector that is %s affects no request', async (kind) => {
  await using mute = await startCollector({ responds: false })
  const url = kind === 'mute' ? mute.url : 'http://127.0.0.1:9'
  let logged: readonly string[] = []
  {
    await using system = await startSystem(settings(url))
    await visit(system.origin)
    using sender = createSender(system.origin)
    const responses = await Promise.all(
      Array.from({ length: 200 }, () => sender.send({ path: '/api/guides?limit=1' })),
    )
    expect(responses.filter(({ status }) => status !== 200)).toEqual([])
    logged = system.logged
  }
  await expect
    .poll(() => logged.filter((line) => line.includes('traces cannot be delivered')).length, {
      timeout: 10_000,
    })
    .toBe(2)
})
