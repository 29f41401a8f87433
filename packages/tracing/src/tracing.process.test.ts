import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startCollector } from '../test/collector.ts'
import {
  getTraceFields,
  getTraceHeaders,
  openTracing,
  runWithSpan,
  type Tracing,
  traceCall,
} from './index.ts'
import type { TracingLog } from './tracing.ts'

const silentLog = { info: () => undefined, warn: () => undefined }

async function open(url: string, log: TracingLog = silentLog): Promise<Tracing> {
  const tracing = await openTracing({ url, service: 'plainpath-test', version: '0.1.0', log })
  if (!tracing) throw new Error('no tracing')
  return tracing
}

const CALL = { name: 'select', attributes: { 'db.query.text': 'select $1' } }
const RESPONSE = { method: 'GET', route: '/guides/{slug}', status: 200 }
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT_SPAN_ID = '00f067aa0ba902b7'

test('records calls as children of their request, and none after the response', async () => {
  await using collector = await startCollector()
  {
    await using tracing = await open(collector.url)
    const { span, endWithResponse } = tracing.startRequest(undefined)
    let headersInCall = {}
    await runWithSpan(span, async () => {
      await traceCall(
        () => CALL,
        async () => {
          headersInCall = getTraceHeaders()
        },
      )
      await expect(
        traceCall(
          () => CALL,
          () => Promise.reject(Object.assign(new Error('secret text'), { code: '23505' })),
        ),
      ).rejects.toThrow('secret text')
      expect(getTraceFields()).toEqual({ trace_id: span.traceId })
      endWithResponse(RESPONSE)
      await traceCall(
        () => CALL,
        async () => undefined,
      )
      expect([getTraceHeaders(), getTraceFields()]).toEqual([{}, {}])
    })
    // The call has a span of its own, which the called service continues.
    expect(headersInCall).not.toEqual({ traceparent: span.traceparent })
  }
  const [call, failedCall, request, ...others] = collector.listSpans()
  expect(others).toEqual([])
  expect(request).toMatchObject({ name: 'GET /guides/{slug}', parentSpanId: undefined, hasFailed: false })
  expect(request?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/guides/{slug}',
    'http.response.status_code': 200,
  })
  expect(call).toMatchObject({
    ...CALL,
    service: 'plainpath-test',
    parentSpanId: request?.spanId,
    hasFailed: false,
  })
  expect(failedCall).toMatchObject({ parentSpanId: request?.spanId, hasFailed: true })
  expect(failedCall?.attributes).toEqual({ ...CALL.attributes, 'error.type': '23505' })
  expect(collector.bodies.join()).not.toContain('secret text')
})

test('runs the work without a span, and does not describe the call, if no request is traced', async () => {
  expect(
    await traceCall(
      () => {
        throw new Error('the call was described')
      },
      async () => 7,
    ),
  ).toBe(7)
  expect([getTraceHeaders(), getTraceFields()]).toEqual([{}, {}])
})

test.for([
  ['a sampled request', `00-${TRACE_ID}-${PARENT_SPAN_ID}-01`, TRACE_ID],
  ['no header', undefined, undefined],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT_SPAN_ID}-01`, undefined],
  ['upper case', `00-${TRACE_ID.toUpperCase()}-${PARENT_SPAN_ID}-01`, undefined],
  ['two values', `00-${TRACE_ID}-${PARENT_SPAN_ID}-01, 00-${TRACE_ID}-${PARENT_SPAN_ID}-01`, undefined],
  ['10 kB of additional text', `00-${TRACE_ID}-${PARENT_SPAN_ID}-01-${'x'.repeat(10_000)}`, undefined],
] as const)(
  'continues the trace of a valid traceparent, and otherwise begins a new trace: %s',
  async ([, traceparent, expected]) => {
    await using collector = await startCollector()
    {
      await using tracing = await open(collector.url)
      tracing.startRequest(traceparent).endWithResponse(RESPONSE)
    }
    const [span] = collector.listSpans()
    expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(span?.traceId === TRACE_ID).toBe(expected === TRACE_ID)
    expect(span?.parentSpanId).toBe(expected && PARENT_SPAN_ID)
  },
)

test('exports no span of a request that its caller did not sample', async () => {
  await using collector = await startCollector()
  {
    await using tracing = await open(collector.url)
    const { span, endWithResponse } = tracing.startRequest(`00-${TRACE_ID}-${PARENT_SPAN_ID}-00`)
    expect(span.traceparent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`))
    endWithResponse(RESPONSE)
  }
  expect(collector.listSpans()).toEqual([])
})

test('exports at most one queue and one batch of spans, and at most 200 calls per request', async () => {
  await using collector = await startCollector()
  {
    await using tracing = await open(collector.url)
    for (let n = 0; n < 10_000; n++) tracing.startRequest(undefined).endWithResponse(RESPONSE)
  }
  expect(collector.listSpans().length).toBeGreaterThan(0)
  // A full queue, and a batch that is already being exported.
  expect(collector.listSpans().length).toBeLessThanOrEqual(2_048 + 512)

  await using otherCollector = await startCollector()
  {
    await using tracing = await open(otherCollector.url)
    const { span, endWithResponse } = tracing.startRequest(undefined)
    await runWithSpan(span, async () => {
      for (let n = 0; n < 300; n++)
        await traceCall(
          () => CALL,
          async () => undefined,
        )
    })
    endWithResponse(RESPONSE)
  }
  // 200 calls, and the request.
  expect(otherCollector.listSpans()).toHaveLength(201)
})

test('logs once that a collector is down or does not respond', async () => {
  await using silentCollector = await startCollector({ isSilent: true })
  for (const url of ['http://127.0.0.1:1', silentCollector.url]) {
    const warnings: string[] = []
    const log = { info: () => undefined, warn: (message: string) => void warnings.push(message) }
    {
      await using tracing = await open(url, log)
      // At least four batches, because a batch has at most 512 spans. None of them can be delivered.
      for (let n = 0; n < 2_000; n++) tracing.startRequest(undefined).endWithResponse(RESPONSE)
    }
    await expect.poll(() => warnings).toEqual(['traces cannot be delivered'])
  }
})

test.for([
  ['without a URL', '', false],
  ['with a URL', 'http://127.0.0.1:1', true],
] as const)('loads OpenTelemetry only with a URL: %s', async ([, url, isLoaded]) => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context) } })
    const { openTracing } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)})
    await openTracing({ url: process.argv[1] || undefined, service: 'x', version: '0', log: console })
    console.log(loaded.some((name) => name.startsWith('@opentelemetry/')))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, url])
  expect(stdout.trim()).toBe(String(isLoaded))
})
