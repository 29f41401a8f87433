import childProcess from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import timersPromises from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import type { FileTimeline } from './timeline-reporter.ts'

/*
 * A Vitest setup file that measures each test file, and appends a line of JSON (`FileTimeline`) to the file that
 * TEST_TIMELINE_FILE names. `timeline-reporter.ts` reads the lines.
 */

const ROOT = path.resolve(import.meta.dirname, '../..')
/** Shorter timers of the global `setTimeout` are not counted, since they only yield to the event loop. */
const MIN_TIMER_MS = 10
/** The length of a clock tick in `/proc/self/stat`. It is the same on all current machines with Linux. */
const MS_PER_TICK = 10

interface Counts {
  processes: number
  databases: number
  databaseMs: number
  /** How long timers ran, in milliseconds, by the place that set them. */
  timers: Record<string, number>
}

// This file runs again for each test file of a worker, but counting starts only once. All runs therefore share one object.
const shared = globalThis as { timelineCounts?: Counts }
const isFirstRun = shared.timelineCounts === undefined
shared.timelineCounts ??= createCounts()
const counts = shared.timelineCounts
if (isFirstRun) startCounting()

let cpuAtStart = process.cpuUsage()
let childCpuMsAtStart = readChildCpuMs()
let loopAtStart = performance.eventLoopUtilization()
let startedAt = performance.now()
beforeAll(() => {
  Object.assign(counts, createCounts())
  cpuAtStart = process.cpuUsage()
  childCpuMsAtStart = readChildCpuMs()
  loopAtStart = performance.eventLoopUtilization()
  startedAt = performance.now()
})
afterAll(() => {
  const { user, system } = process.cpuUsage(cpuAtStart)
  const line: FileTimeline = {
    // `__vitest_worker__` is an internal object of Vitest, from which the name of the project can be read.
    project:
      (globalThis as { __vitest_worker__?: { config: { name?: string } } }).__vitest_worker__?.config.name ??
      '',
    file: path.relative(ROOT, expect.getState().testPath ?? ''),
    ms: performance.now() - startedAt,
    cpuMs: (user + system) / 1_000,
    childCpuMs: readChildCpuMs() - childCpuMsAtStart,
    idleMs: performance.eventLoopUtilization(loopAtStart).idle,
    ...counts,
  }
  appendFileSync(process.env['TEST_TIMELINE_FILE'] ?? '', `${JSON.stringify(line)}\n`)
})

/** Returns the CPU time of the ended processes that this worker started; 0 if the system does not report it. */
function readChildCpuMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    // Fields 16 and 17 of proc_pid_stat(5): the times in user mode and in the kernel. The first two fields were cut off.
    return (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK
  } catch {
    return 0
  }
}

function createCounts(): Counts {
  return { processes: 0, databases: 0, databaseMs: 0, timers: {} }
}

/** Counts, from now on, processes that are started, test databases that are created, and timers that run out. */
function startCounting(): void {
  subscribe('child_process', () => {
    counts.processes += 1
  })
  // The diagnostics channel does not report these functions.
  for (const name of ['spawnSync', 'execSync', 'execFileSync'] as const) {
    const start = childProcess[name] as (...args: unknown[]) => unknown
    const countedStart = (...args: unknown[]) => {
      counts.processes += 1
      return start(...args)
    }
    Object.assign(childProcess, { [name]: countedStart })
  }
  new PerformanceObserver((list) => {
    // `packages/postgres/test/test-database.ts` records these entries.
    for (const { duration } of list.getEntriesByName('make a test database')) {
      counts.databases += 1
      counts.databaseMs += duration
    }
  }).observe({ entryTypes: ['measure'] })
  const { setTimeout: originalSetTimeout } = globalThis
  const watchedSetTimeout = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const place = ms < MIN_TIMER_MS ? undefined : findOutsideCaller()
    return originalSetTimeout(
      (...callbackArgs: unknown[]) => {
        if (place) counts.timers[place] = (counts.timers[place] ?? 0) + ms
        callback(...callbackArgs)
      },
      ms,
      ...args,
    )
  }
  Object.assign(globalThis, { setTimeout: Object.assign(watchedSetTimeout, originalSetTimeout) })
  const { setTimeout: sleep } = timersPromises
  timersPromises.setTimeout = (async (ms = 0, ...rest: [value?: unknown, options?: object]) => {
    const place = findOutsideCaller()
    const value = await sleep(ms, ...rest)
    counts.timers[place] = (counts.timers[place] ?? 0) + ms
    return value
  }) as typeof sleep
  syncBuiltinESMExports()
}

/** Finds the nearest caller in our code outside this file, or else in a package. Returns it as `function path:line`. */
function findOutsideCaller(): string {
  const lines = (new Error().stack ?? '').split('\n').filter((line) => !line.includes('timeline-setup'))
  const place = lines.find((line) => line.includes(ROOT) && !line.includes('node_modules')) ?? lines[1] ?? ''
  return place
    .replace(/^\s*at /, '')
    .replaceAll(`${ROOT}/`, '')
    .replace(/.*node_modules\/(?=[^.])/, '')
    .replace(/[()]|file:\/\//g, '')
    .replace(/:\d+$/, '')
}
