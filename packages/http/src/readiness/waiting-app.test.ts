import { expect, test, vi } from 'vitest'
import { createLog } from '../observability/log.ts'
import { createWaitingApp, type Finding, type WaitingAppOptions } from './readiness.ts'

class TransientError extends Error {}

/**
 * Starts to open an app that waits for PostgreSQL. The test changes `findings.database` to let the check pass, or aborts `stop`.
 */
function startWaiting(options: Partial<WaitingAppOptions<string>> = {}) {
  const logLines: string[] = []
  const findings: { database: Finding } = { database: { awaited: 'PostgreSQL' } }
  const stop = new AbortController()
  const app = createWaitingApp({
    startupDependencies: { database: async () => findings.database, redis: async () => true },
    open: async () => 'opened',
    isTransient: (error) => error instanceof TransientError,
    log: createLog({ service: 'test', write: (line) => logLines.push(line) }),
    ...options,
  })
  return { findings, stop, app, logLines, result: app.open(stop.signal) }
}

test('logs each missing dependency once, and opens when all are available', async () => {
  const { findings, app, logLines, result } = startWaiting()
  await expect
    .poll(() => app.readiness.check())
    .toEqual({
      ready: false,
      checks: { database: 'failed', redis: 'ok' },
      awaited: { database: 'PostgreSQL' },
    })
  findings.database = { awaited: 'migrations' }
  await expect
    .poll(() => app.readiness.check())
    .toMatchObject({ ready: false, awaited: { database: 'migrations' } })
  findings.database = true
  expect(await result).toBe('opened')
  expect(logLines.map((line) => (JSON.parse(line) as { awaited: unknown }).awaited)).toEqual([
    { database: 'PostgreSQL' },
    { database: 'migrations' },
  ])
})

test('opens and logs nothing when no dependency is missing', async () => {
  const { logLines, result } = startWaiting({ startupDependencies: {} })
  expect(await result).toBe('opened')
  expect(logLines).toEqual([])
})

test('tries again after a transient error of `open`, and throws any other error', async () => {
  const open = vi.fn<() => Promise<string>>()
  open.mockRejectedValueOnce(new TransientError()).mockResolvedValueOnce('opened')
  expect(await startWaiting({ startupDependencies: {}, open }).result).toBe('opened')
  expect(open).toHaveBeenCalledTimes(2)
  open.mockRejectedValueOnce(new TypeError('ours'))
  await expect(startWaiting({ startupDependencies: {}, open }).result).rejects.toThrow('ours')
})

test('checks several times in the first second, and then about once a second', async () => {
  vi.useFakeTimers()
  try {
    let checkCount = 0
    const startupDependencies = {
      async database() {
        checkCount += 1
        return false
      },
    }
    const { stop, result } = startWaiting({ startupDependencies })
    // The pauses double from 100 ms to 1 s, so the app checks after 0, 100, 300 and 700 ms.
    await vi.advanceTimersByTimeAsync(1_000)
    expect(checkCount).toBeGreaterThanOrEqual(4)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(checkCount).toBeLessThanOrEqual(66)
    expect(checkCount).toBeGreaterThanOrEqual(58)
    stop.abort()
    await vi.advanceTimersByTimeAsync(0)
    expect(await result).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})
