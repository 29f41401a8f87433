import childProcess from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import timersPromises from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import type { FileTimeline } from './timeline-reporter.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** Shorter timers only yield to the event loop. */
const SHORTEST_TIMER_MS = 10

interface Counts {
  processes: number
  databases: number
  databaseMs: number
  /** Milliseconds that timers ran, by the place in our code that set them. */
  timers: Record<string, number>
}

// The files of a worker share its modules, and this file runs again for each of them, so it counts in one object.
const shared = globalThis as { timelineCounts?: Counts }
const isFirst = shared.timelineCounts === undefined
shared.timelineCounts ??= noCounts()
const counts = shared.timelineCounts
if (isFirst) watch()

let cpu = process.cpuUsage()
let loop = performance.eventLoopUtilization()
let startedAt = performance.now()
beforeAll(() => {
  Object.assign(counts, noCounts())
  cpu = process.cpuUsage()
  loop = performance.eventLoopUtilization()
  startedAt = performance.now()
})
afterAll(() => {
  const { user, system } = process.cpuUsage(cpu)
  const line: FileTimeline = {
    file: path.relative(ROOT, expect.getState().testPath ?? ''),
    ms: performance.now() - startedAt,
    cpuMs: (user + system) / 1_000,
    idleMs: performance.eventLoopUtilization(loop).idle,
    ...counts,
  }
  appendFileSync(process.env['TEST_TIMELINE_FILE'] ?? '', `${JSON.stringify(line)}\n`)
})

function noCounts(): Counts {
  return { processes: 0, databases: 0, databaseMs: 0, timers: {} }
}

function watch(): void {
  subscribe('child_process', () => {
    counts.processes += 1
  })
  // The diagnostics channel does not report these.
  for (const name of ['spawnSync', 'execSync', 'execFileSync'] as const) {
    const start = childProcess[name] as (...args: unknown[]) => unknown
    const counted = (...args: unknown[]) => {
      counts.processes += 1
      return start(...args)
    }
    Object.assign(childProcess, { [name]: counted })
  }
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntriesByName('make a test database')) {
      counts.databases += 1
      counts.databaseMs += duration
    }
  }).observe({ entryTypes: ['measure'] })
  const { setTimeout: set } = globalThis
  const watched = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const place = ms < SHORTEST_TIMER_MS ? undefined : callerOutside()
    return set(
      (...given: unknown[]) => {
        if (place) counts.timers[place] = (counts.timers[place] ?? 0) + ms
        work(...given)
      },
      ms,
      ...args,
    )
  }
  Object.assign(globalThis, { setTimeout: Object.assign(watched, set) })
  const { setTimeout: sleep } = timersPromises
  timersPromises.setTimeout = (async (ms = 0, ...rest: [value?: unknown, options?: object]) => {
    const place = callerOutside()
    const value = await sleep(ms, ...rest)
    counts.timers[place] = (counts.timers[place] ?? 0) + ms
    return value
  }) as typeof sleep
  syncBuiltinESMExports()
}

/** Finds the caller in our code outside of this file, or else in a package. */
function callerOutside(): string {
  const lines = (new Error().stack ?? '').split('\n').filter((line) => !line.includes('timeline-setup'))
  const place = lines.find((line) => line.includes(ROOT) && !line.includes('node_modules')) ?? lines[1] ?? ''
  return place
    .replace(/^\s*at /, '')
    .replaceAll(`${ROOT}/`, '')
    .replace(/.*node_modules\/(?=[^.])/, '')
    .replace(/[()]|file:\/\//g, '')
    .replace(/:\d+$/, '')
}
