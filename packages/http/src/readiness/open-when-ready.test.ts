import { expect, test, vi } from 'vitest'
import { createLog } from '../observability/log.ts'
import { type Finding, type OpenWhenReadyOptions, openWhenReady } from './readiness.ts'

class NotNow extends Error {}

function waiting(options: Partial<OpenWhenReadyOptions<string>> = {}) {
  const logged: string[] = []
  const stores: { database: Finding } = { database: { awaited: 'PostgreSQL' } }
  const stop = new AbortController()
  const app = openWhenReady({
    startupDependencies: { database: async () => stores.database, redis: async () => true },
    open: async () => 'opened',
    isTransient: (error) => error instanceof NotNow,
    log: createLog({ service: 'test', write: (line) => logged.push(line) }),
    ...options,
  })
  return { stores, stop, app, logged, opened: app.open(stop.signal) }
}

test('logs each missing dependency once, and opens when all are available', async () => {
  const { stores, app, logged, opened } = waiting()
  await expect
    .poll(() => app.readiness.check())
    .toEqual({
      ready: false,
      checks: { database: 'failed', redis: 'ok' },
      awaited: { database: 'PostgreSQL' },
    })
  stores.database = { awaited: 'migrations' }
  await expect
    .poll(() => app.readiness.check())
    .toMatchObject({ ready: false, awaited: { database: 'migrations' } })
  stores.database = true
  expect(await opened).toBe('opened')
  expect(logged.map((line) => (JSON.parse(line) as { awaited: unknown }).awaited)).toEqual([
    { database: 'PostgreSQL' },
    { database: 'migrations' },
  ])
})

test('opens at once and logs nothing when no dependency is missing', async () => {
  const { logged, opened } = waiting({ startupDependencies: {} })
  expect(await opened).toBe('opened')
  expect(logged).toEqual([])
})

test('tries again after a transient error of open, and throws any other', async () => {
  const open = vi.fn<() => Promise<string>>()
  open.mockRejectedValueOnce(new NotNow()).mockResolvedValueOnce('opened')
  expect(await waiting({ startupDependencies: {}, open }).opened).toBe('opened')
  expect(open).toHaveBeenCalledTimes(2)
  open.mockRejectedValueOnce(new TypeError('ours'))
  await expect(waiting({ startupDependencies: {}, open }).opened).rejects.toThrow('ours')
})

test('checks again soon, and settles at one check a second', async () => {
  vi.useFakeTimers()
  try {
    let checks = 0
    const startupDependencies = {
      async database() {
        checks += 1
        return false
      },
    }
    const { stop, opened } = waiting({ startupDependencies })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(checks).toBeGreaterThanOrEqual(4)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(checks).toBeLessThanOrEqual(66)
    expect(checks).toBeGreaterThanOrEqual(58)
    stop.abort()
    await vi.advanceTimersByTimeAsync(0)
    expect(await opened).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})
