import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createMetrics } from '../observability/metrics.ts'
import { serve } from '../server/server.ts'
import { createOperationsApp, createReadiness, type ReadinessChecks } from './readiness.ts'

/** Starts an operations app with a page of its own, `/own`. */
async function startOperationsApp(checks: ReadinessChecks) {
  const readiness = createReadiness(checks)
  const metrics = createMetrics('test')
  const pages = { '/own': () => 'made for operators' }
  const app = createOperationsApp({ readiness, registry: metrics.registry, pages })
  const server = await serve(app.callback(), { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`${server.url}${path}`, { method })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  return { ...server, readiness, metrics, get, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const pass = async () => true

describe('/ready', () => {
  test('is 200 when every check passes', async () => {
    await using app = await startOperationsApp({ database: pass, redis: pass })
    const { status, headers, body } = await app.get('/ready')
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(JSON.parse(body)).toEqual({ status: 'ready', checks: { database: 'ok', redis: 'ok' } })
  })

  test.for([
    { outcome: 'returns false', check: async () => false },
    { outcome: 'rejects', check: () => Promise.reject(new Error('canary')) },
    {
      outcome: 'throws synchronously',
      check: () => {
        throw new Error('canary')
      },
    },
  ])('is 503 when a check $outcome, and shows only the name of the check', async ({ check }) => {
    await using app = await startOperationsApp({ database: pass, redis: check })
    const { status, body } = await app.get('/ready')
    expect(status).toBe(503)
    expect(JSON.parse(body)).toEqual({ status: 'not ready', checks: { database: 'ok', redis: 'failed' } })
  })

  test('says what the app waits for, if a check names it', async () => {
    await using app = await startOperationsApp({
      database: async () => ({ awaited: 'PostgreSQL' }),
      redis: pass,
    })
    const { status, body } = await app.get('/ready')
    expect(status).toBe(503)
    expect(JSON.parse(body)).toEqual({
      status: 'not ready',
      checks: { database: 'failed', redis: 'ok' },
      awaited: { database: 'PostgreSQL' },
    })
  })

  test('is 503 from the moment the app drains, even if every check passes', async () => {
    await using app = await startOperationsApp({ database: pass })
    app.readiness.drain()
    expect(await app.get('/ready')).toMatchObject({ status: 503 })
    expect(await app.get('/live')).toMatchObject({ status: 200 })
  })
})

describe('a check that hangs', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('fails after 2 s, and is not started again before it ends', async () => {
    let runCount = 0
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const readiness = createReadiness({
      slow() {
        runCount += 1
        return promise
      },
    })
    const firstCheck = readiness.check()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await firstCheck).toEqual({ ready: false, checks: { slow: 'failed' } })
    // The first run still hangs, so this check waits for the same run.
    const secondCheck = readiness.check()
    await vi.advanceTimersByTimeAsync(2_000)
    expect((await secondCheck).ready).toBe(false)
    expect(runCount).toBe(1)
    resolve(true)
    await vi.advanceTimersByTimeAsync(0)
    expect((await readiness.check()).ready).toBe(true)
    expect(runCount).toBe(2)
  })
})

test('/live is 200 while a check fails', async () => {
  await using app = await startOperationsApp({ database: async () => false })
  expect(await app.get('/live')).toMatchObject({ status: 200, body: '{"status":"ok"}' })
})

test('/metrics shows counts with the name of the service', async () => {
  await using app = await startOperationsApp({})
  app.metrics.countResponse({ method: 'GET', route: '/guides/{slug}', status: 200, seconds: 0.003 })
  app.metrics.countLimitDecision('register-address', 'refused')
  const { status, headers, body } = await app.get('/metrics')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toMatch(/^text\/plain/)
  expect(body).toMatch(
    /^http_request_duration_seconds_bucket\{le="0\.005",service="test",method="GET",route="\/guides\/\{slug\}",status="200"\} 1$/m,
  )
  expect(body).toContain(
    'limit_decisions_total{policy="register-address",decision="refused",service="test"} 1',
  )
})

test('/metrics counts each limit decision once, however often it is scraped', async () => {
  await using app = await startOperationsApp({})
  app.metrics.countLimitDecision('reads', 'allowed')
  app.metrics.countLimitDecision('reads', 'allowed')
  app.metrics.countLimitDecision('reads', 'uncounted')
  await app.get('/metrics')
  app.metrics.countLimitDecision('reads', 'allowed')
  const { body } = await app.get('/metrics')
  expect(body.match(/^limit_decisions_total.*$/gm)).toEqual([
    'limit_decisions_total{policy="reads",decision="allowed",service="test"} 3',
    'limit_decisions_total{policy="reads",decision="uncounted",service="test"} 1',
  ])
})

test('serves the pages of an app as plain text', async () => {
  await using app = await startOperationsApp({})
  const { status, headers, body } = await app.get('/own')
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'text/plain; charset=utf-8',
    'no-store',
  ])
  expect(body).toBe('made for operators')
  // A member that every object inherits, but not a page.
  expect((await app.get('/toString')).status).toBe(404)
})

test('serves no other path, and no method other than GET and HEAD', async () => {
  await using app = await startOperationsApp({})
  for (const path of ['/', '/live/', '/Live', '/debug']) expect((await app.get(path)).status).toBe(404)
  for (const method of ['POST', 'DELETE', 'OPTIONS']) {
    const { status, headers } = await app.get('/ready', method)
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
  expect(await app.get('/live', 'HEAD')).toMatchObject({ status: 200, body: '' })
})
