import { isDeepStrictEqual } from 'node:util'
import type { Log } from './log.ts'
import { createReadiness, type Findings, type Readiness, type ReadinessChecks } from './operations.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000

export interface OpenWhenReadyOptions<Opened> {
  /** What it cannot be opened without. */
  readonly needs: ReadinessChecks
  readonly open: () => Promise<Opened>
  /** Whether what `open` threw says "not now". */
  readonly isPassing: (error: unknown) => boolean
  readonly log: Log
}

export interface Waiting<Opened> {
  /** Never ready; says what is waited for. */
  readonly readiness: Readiness
  /**
   * Looks for what is needed at once, then after 100 ms, doubling to 1 s, for as long as it takes.
   *
   * @returns undefined when stopped before @throws what no waiting mends
   */
  openAtLast(stop: AbortSignal): Promise<Opened | undefined>
}

/** Opens an app once everything that it needs is there. */
export function openWhenReady<Opened>(options: OpenWhenReadyOptions<Opened>): Waiting<Opened> {
  const { log } = options
  const needs = createReadiness(options.needs)
  let found: Findings = { ready: false, checks: {} }
  let told: Findings | undefined

  function tell(): void {
    if (isDeepStrictEqual(found, told)) return
    const { checks, awaited } = found
    log.warn('waits for what it cannot start without', { checks, ...(awaited && { awaited }) })
    told = found
  }

  async function openOnce(stop: AbortSignal): Promise<Opened | undefined> {
    const { ready, ...rest } = await needs.check()
    found = { ready: false, ...rest }
    if (ready && !stop.aborted) {
      try {
        return await options.open()
      } catch (error) {
        if (!options.isPassing(error)) throw error
        found = { ...found, awaited: { start: 'a part went away while the app started' } }
      }
    }
    tell()
    return undefined
  }

  async function openAtLast(stop: AbortSignal): Promise<Opened | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; !stop.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const opened = await openOnce(stop)
      if (opened !== undefined) return opened
      await pause(pauseMs, stop)
    }
    return undefined
  }

  return { readiness: { drain: () => undefined, check: async () => found }, openAtLast }
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const over = () => resolve()
  const timer = setTimeout(over, ms)
  stop.addEventListener('abort', over)
  await promise
  clearTimeout(timer)
  stop.removeEventListener('abort', over)
}
