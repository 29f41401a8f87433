import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startCollector } from '../test/collector.ts'
import { openTracing, runUnder, type Tracing, traced, traceFields, traceHeaders } from './index.ts'
import type { TracingLog } from './tracing.ts'

const silent = { info: () => undefined, warn: () => undefined }

async function open(url: string, log: TracingLog = silent): Promise<Tracing> {
  const tracing = await openTracing({ url, service: 'plainpath-test', version: '0.1.0', log })
  if (!tracing) throw new Error('no tracing')
  return tracing
}

const CALL = { name: 'select', attributes: { 'db.query.text': 'select $1' } }
const RESPONSE = { method: 'GET', route: '/guides/{slug}', status: 200 }
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

test('records calls as children of their request, and none after the response', async () => {
  await using collector = await startCollector()
  {
    await using tracing = await open(collector.url)
    const { span, endWithResponse } = tracing.startRequest(undefined)
    let inner = {}
    await runUnder(span, async () => {
      await traced(
        () => CALL,
        async () => {
          inner = traceHeaders()
        },
      )
      await expect(
        traced(
          () => CALL,
          () => Promise.reject(Object.assign(new Error('secret text'), { code: '23505' })),
        ),
      ).rejects.toThrow('secret text')
      expect(traceFields()).toEqual({ trace_id: span.traceId })
      endWithResponse(RESPONSE)
      await traced(
        () => CALL,
        async () => undefined,
      )
      expect([traceHeaders(), traceFields()]).toEqual([{}, {}])
    })
    expect(inner).not.toEqual({ traceparent: span.traceparent })
  }
  const [first, second, request, ...others] = collector.spans()
  expect(others).toEqual([])
  expect(request).toMatchObject({ name: 'GET /guides/{slug}', parentSpanId: undefined, failed: false })
  expect(request?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/guides/{slug}',
    'http.response.status_code': 200,
  })
  expect(first).toMatchObject({
    ...CALL,
    service: 'plainpath-test',
    parentSpanId: request?.spanId,
    failed: false,
  })
  expect(second).toMatchObject({ parentSpanId: request?.spanId, failed: true })
  expect(second?.attributes).toEqual({ ...CALL.attributes, 'error.type': '23505' })
  expect(collector.bodies.join()).not.toContain('secret text')
})

test('runs the work without a span when no request is traced', async () => {
  expect(
    await traced(
      () => {
        throw new Error('described the call')
      },
      async () => 7,
    ),
  ).toBe(7)
  expect([traceHeaders(), traceFields()]).toEqual([{}, {}])
})

test.for([
  ['a sampled one', `00-${TRACE}-${PARENT}-01`, TRACE],
  ['none', undefined, undefined],
  ['one with a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`, undefined],
  ['one in upper case', `00-${TRACE.toUpperCase()}-${PARENT}-01`, undefined],
  ['two at once', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`, undefined],
  ['one with 10 kB more', `00-${TRACE}-${PARENT}-01-${'x'.repeat(10_000)}`, undefined],
] as const)(
  'continues the trace of a valid traceparent, and otherwise begins one: %s',
  async ([, traceparent, expected]) => {
    await using collector = await startCollector()
    {
      await using tracing = await open(collector.url)
      tracing.startRequest(traceparent).endWithResponse(RESPONSE)
    }
    const [span] = collector.spans()
    expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(span?.traceId === TRACE).toBe(expected === TRACE)
    expect(span?.parentSpanId).toBe(expected && PARENT)
  },
)

test('delivers no span of a request that its caller did not sample', async () => {
  await using collector = await startCollector()
  {
    await using tracing = await open(collector.url)
    const { span, endWithResponse } = tracing.startRequest(`00-${TRACE}-${PARENT}-00`)
    expect(span.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
    endWithResponse(RESPONSE)
  }
  expect(collector.spans()).toEqual([])
})

test('keeps at most the queue’s size of spans, and at most 200 calls per request', async () => {
  await using collector = await startCollector()
  {
    await using tracing = await open(collector.url)
    for (let each = 0; each < 10_000; each++) tracing.startRequest(undefined).endWithResponse(RESPONSE)
  }
  expect(collector.spans().length).toBeGreaterThan(0)
  expect(collector.spans().length).toBeLessThanOrEqual(2_048 + 512)

  await using other = await startCollector()
  {
    await using tracing = await open(other.url)
    const { span, endWithResponse } = tracing.startRequest(undefined)
    await runUnder(span, async () => {
      for (let each = 0; each < 300; each++)
        await traced(
          () => CALL,
          async () => undefined,
        )
    })
    endWithResponse(RESPONSE)
  }
  expect(other.spans()).toHaveLength(201)
})

test('logs a collector that is down or does not respond once, and delays no request', async () => {
  await using silentCollector = await startCollector({ responds: false })
  for (const url of ['http://127.0.0.1:1', silentCollector.url]) {
    const warnings: string[] = []
    const log = { info: () => undefined, warn: (message: string) => void warnings.push(message) }
    {
      await using tracing = await open(url, log)
      for (let each = 0; each < 2_000; each++) tracing.startRequest(undefined).endWithResponse(RESPONSE)
    }
    await expect.poll(() => warnings).toEqual(['traces cannot be delivered'])
  }
})

test.for([
  ['without a URL', '', false],
  ['with a URL', 'http://127.0.0.1:1', true],
] as const)('loads OpenTelemetry only if traces are delivered: %s', async ([, url, loaded]) => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context) } })
    const { openTracing } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)})
    await openTracing({ url: process.argv[1] || undefined, service: 'x', version: '0', log: console })
    console.log(loaded.some((name) => name.startsWith('@opentelemetry/')))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, url])
  expect(stdout.trim()).toBe(String(loaded))
})
