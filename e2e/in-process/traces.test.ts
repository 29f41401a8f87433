import { type CollectedSpan, type Collector, startCollector } from '@plainpath/tracing/testing'
import { expect, inject, test } from 'vitest'
import { basic, createSender, form } from '../send.ts'
import { startSystem } from './start-system.ts'

/** The service names of the apps in traces. */
const RESOURCE_SERVICE = 'plainpath-resource'
const AUTH_SERVICE = 'plainpath-auth'
const EMAIL = 'canary-mailbox@canary.example'
/** Private values in the requests, which no trace may contain. */
const CANARIES = { email: EMAIL, mailbox: 'canary-mailbox', query: 'canary-query', name: 'canary-agent' }
const CLIENT_TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CLIENT_TRACEPARENT = `00-${CLIENT_TRACE_ID}-00f067aa0ba902b7-01`
const redisUrl = inject('redisUrl')

const createTracingOptions = (collectorUrl: string, moreSettings: Readonly<Record<string, string>> = {}) => ({
  env: { AUTH_OTLP_URL: collectorUrl, RESOURCE_OTLP_URL: collectorUrl, ...moreSettings },
})

/**
 * Registers an agent, requests a token, joins the waitlist and reads guides.
 *
 * @returns the id, the secret and the token, which no trace may contain
 */
async function runAgentRequests(origin: string, headers: Readonly<Record<string, string>> = {}) {
  using sender = createSender(origin)
  const json = { 'content-type': 'application/json' }
  const registration = await sender.send({
    method: 'POST',
    path: `/api/agent/register?q=${CANARIES.query}`,
    headers: { ...json, ...headers },
    body: JSON.stringify({ client_name: CANARIES.name }),
  })
  const client = JSON.parse(registration.text) as { client_id: string; client_secret: string }
  const tokenRequest = form({ grant_type: 'client_credentials' })
  const tokenResponse = await sender.send({
    method: 'POST',
    path: '/oauth/token',
    ...tokenRequest,
    headers: { ...tokenRequest.headers, ...basic(client.client_id, client.client_secret), ...headers },
  })
  const { access_token: token } = JSON.parse(tokenResponse.text) as { access_token: string }
  const joinResponse = await sender.send({
    method: 'POST',
    path: `/api/waitlist?q=${CANARIES.query}`,
    headers: { ...json, ...headers, authorization: `Bearer ${token}` },
    body: JSON.stringify({ email: EMAIL }),
  })
  // The fast path serves the second read, before Koa. It must be traced too.
  const readResponses = [
    await sender.send({ path: '/api/guides', headers }),
    await sender.send({ path: '/api/guides', headers }),
  ]
  expect([registration, tokenResponse, joinResponse, ...readResponses].map(({ status }) => status)).toEqual([
    201, 200, 201, 200, 200,
  ])
  return { id: client.client_id, secret: client.client_secret, token }
}

const findRootSpans = (collector: Collector, name: string) =>
  collector.listSpans().filter((span) => span.name === name && span.parentSpanId === undefined)
const isPostgresStatement = (span: CollectedSpan) => span.attributes['db.system.name'] === 'postgresql'
const isRedisCommand = (span: CollectedSpan) => span.attributes['db.system.name'] === 'redis'

/** Every attribute that may be exported. Before you add one, check that it contains no private data. */
const ALLOWED_ATTRIBUTES = new Set([
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

test('a request is one trace through both apps and their stores, without private data', async () => {
  await using collector = await startCollector()
  let secrets: Readonly<Record<string, string>>
  let logged: readonly string[] = []
  // Closing the system exports its remaining spans.
  {
    await using system = await startSystem(createTracingOptions(collector.url))
    secrets = await runAgentRequests(system.origin, { traceparent: CLIENT_TRACEPARENT })
    logged = system.logged
  }
  const [joinSpan, ...otherJoinSpans] = findRootSpans(collector, 'POST /api/waitlist')
  expect(otherJoinSpans).toEqual([])
  expect(joinSpan).toMatchObject({ service: RESOURCE_SERVICE, parentSpanId: undefined })
  const trace = collector.listSpans().filter(({ traceId }) => traceId === joinSpan?.traceId)
  const findChildren = (parent: CollectedSpan | undefined, service: string | undefined) =>
    trace.filter((span) => span.parentSpanId === parent?.spanId && span.service === service)

  const introspectionClientSpan = findChildren(joinSpan, RESOURCE_SERVICE).find(
    ({ name }) => name === 'introspect',
  )
  const [introspectionServerSpan, ...otherServerSpans] = findChildren(introspectionClientSpan, AUTH_SERVICE)
  expect(otherServerSpans).toEqual([])
  expect(introspectionServerSpan).toMatchObject({ name: 'POST /oauth/introspect' })
  // The statement that adds a waitlist entry begins with a CTE, so its span has the name `with`.
  expect(
    findChildren(joinSpan, RESOURCE_SERVICE)
      .filter(isPostgresStatement)
      .map(({ name }) => name),
  ).toContain('with')
  const isStoreCommand = redisUrl ? isRedisCommand : isPostgresStatement
  expect(findChildren(introspectionServerSpan, AUTH_SERVICE).filter(isStoreCommand).length).toBeGreaterThan(0)
  const listRedisCommands = (span: CollectedSpan | undefined, service: string | undefined) =>
    findChildren(span, service)
      .filter(isRedisCommand)
      .map(({ name }) => name)
  // Both apps run Lua scripts in Redis. The API's spans are named `eval`, even when it sends EVALSHA.
  if (redisUrl) expect(listRedisCommands(introspectionServerSpan, AUTH_SERVICE)).toContain('evalsha')
  if (redisUrl) expect(listRedisCommands(joinSpan, RESOURCE_SERVICE)).toContain('eval')
  // The `traceparent` of an untrusted client is ignored.
  expect(collector.listSpans().map(({ traceId }) => traceId)).not.toContain(CLIENT_TRACE_ID)

  expect(findRootSpans(collector, 'GET /api/guides')).toHaveLength(2)

  const lines = logged.map((each) => JSON.parse(each) as Record<string, unknown>)
  expect(lines.find(({ route }) => route === '/api/waitlist')?.['trace_id']).toBe(joinSpan?.traceId)
  expect(lines.find(({ route }) => route === '/oauth/introspect')?.['trace_id']).toBe(joinSpan?.traceId)

  const exported = collector.bodies.join('\n')
  // Statements are exported, so the checks below cover them.
  expect(exported).toContain('insert into waitlist_entries')
  for (const [name, secret] of Object.entries({ ...CANARIES, ...secrets })) {
    expect(exported.includes(secret), name).toBe(false)
    expect(exported.includes(Buffer.from(secret).toString('base64url')), name).toBe(false)
  }
  expect(Array.from(exported.matchAll(/"key":"([^"]+)"/g), ([, key]) => key)).toSatisfy((keys: string[]) =>
    keys.every((key) => ALLOWED_ATTRIBUTES.has(key)),
  )
})

test('the apps continue the trace of a trusted proxy', async () => {
  await using collector = await startCollector()
  // Closing the system exports its remaining spans.
  {
    const proxies = { AUTH_TRUSTED_PROXIES: '127.0.0.1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' }
    await using system = await startSystem(createTracingOptions(collector.url, proxies))
    await runAgentRequests(system.origin, { traceparent: CLIENT_TRACEPARENT })
  }
  const continuedSpans = collector.listSpans().filter(({ traceId }) => traceId === CLIENT_TRACE_ID)
  const otherSpans = collector.listSpans().filter(({ traceId }) => traceId !== CLIENT_TRACE_ID)
  expect(continuedSpans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['POST /api/agent/register', 'POST /oauth/token', 'POST /api/waitlist']),
  )
  // The API fetches the key set outside of any request.
  expect(otherSpans.filter(({ name }) => name !== 'GET /oauth/jwks.json')).toEqual([])
})

test('without the URL of a collector, no log line has a trace ID', async () => {
  await using system = await startSystem()
  await runAgentRequests(system.origin)
  expect(system.logged.join()).not.toContain('trace_id')
})

const BROKEN_COLLECTORS = ['unreachable', 'unresponsive'] as const
test.for(BROKEN_COLLECTORS)('an %s collector affects no request, and each app warns once', async (kind) => {
  await using unresponsive = await startCollector({ isSilent: true })
  // Nothing listens on port 9.
  const url = kind === 'unresponsive' ? unresponsive.url : 'http://127.0.0.1:9'
  let logged: readonly string[] = []
  {
    await using system = await startSystem(createTracingOptions(url))
    await runAgentRequests(system.origin)
    using sender = createSender(system.origin)
    const responses = await Promise.all(
      Array.from({ length: 200 }, () => sender.send({ path: '/api/guides?limit=1' })),
    )
    expect(responses.filter(({ status }) => status !== 200)).toEqual([])
    logged = system.logged
  }
  // There are two apps, and each logs only its first failure.
  await expect
    .poll(() => logged.filter((line) => line.includes('traces cannot be delivered')).length, {
      timeout: 10_000,
    })
    .toBe(2)
})
