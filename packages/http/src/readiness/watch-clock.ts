import { MAX_CLOCK_SKEW_MS } from '@plainpath/domain'
import type { Context } from 'koa'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'

/*
 * Compares this machine's wall clock with PostgreSQL's clock. Each instance judges expiry by its own clock, so the clocks of all
 * instances must agree. While
 * this machine's clock differs too much from PostgreSQL's, requests that depend on the time are refused. No clock is corrected.
 * docs/decisions/0019-clock-skew-stops-time-based-decisions.md explains why.
 */

/** This machine's wall clock, compared with the database's clock. */
export interface WatchedClock extends AsyncDisposable {
  /** Returns by how many milliseconds our clock is ahead. A step of the clock takes effect immediately. */
  getSkewMs(): number
  /** Returns false while the skew exceeds 30 s, because decisions about expiry could then be wrong. */
  isSynchronised(): boolean
  /**
   * Requires a synchronised clock.
   *
   * @throws {Problem} `unavailable` while the clock is not synchronised
   */
  requireSynchronised(): void
}

interface WatchClockDeps {
  /** Reads the database's clock. Failures are ignored. */
  readonly readTime: () => Promise<Date>
  readonly log: Log
  /** Called with the skew in seconds after each comparison, even a failed one. */
  readonly onSkew?: (seconds: number) => void
  /** The time between two comparisons; by default 2 s. */
  readonly everyMs?: number
  /** Reads this machine's wall clock, in milliseconds since 1970. */
  readonly readWallMs?: () => number
  /** Reads a clock that never goes back, in milliseconds. */
  readonly readMonotonicMs?: () => number
}

const INTERVAL_MS = 2_000
/** A larger skew is logged. */
const REPORT_THRESHOLD_MS = 2_000
/** Slower responses are ignored, because a comparison with them would be too imprecise. */
const MAX_RESPONSE_MS = 1_000

/**
 * Compares the clocks, by default every two seconds, until the returned object is disposed of. Until the first comparison
 * succeeds, the time at the start counts as correct. While the database does not respond, the monotonic clock carries the last
 * comparison forward.
 */
export function watchClock(deps: WatchClockDeps): WatchedClock {
  const {
    readTime,
    log,
    onSkew,
    // oxlint-disable-next-line no-restricted-properties -- the clock that is compared
    readWallMs = Date.now,
    readMonotonicMs = () => performance.now(),
  } = deps
  /** The difference that the wall clock and the monotonic clock would have without skew. */
  let synchronisedOffsetMs = readWallMs() - readMonotonicMs()
  let isReported = false
  let currentRun: Promise<void> | undefined

  const getSkewMs = () => readWallMs() - readMonotonicMs() - synchronisedOffsetMs

  async function compare(): Promise<void> {
    const sentAt = readMonotonicMs()
    const databaseMs = (await readTime()).getTime()
    const receivedAt = readMonotonicMs()
    if (receivedAt - sentAt <= MAX_RESPONSE_MS) synchronisedOffsetMs = databaseMs - (sentAt + receivedAt) / 2
  }

  function report(): void {
    const seconds = getSkewMs() / 1_000
    onSkew?.(seconds)
    const isLarge = Math.abs(seconds * 1_000) > REPORT_THRESHOLD_MS
    if (isLarge === isReported) return
    isReported = isLarge
    if (isLarge) log.error('the clock of this machine differs from that of the database', { seconds })
    else log.info('the clock of this machine agrees with that of the database again')
  }

  function compareAndReport(): void {
    // If the database does not respond, the previous offset stays in use, and the skew is reported all the same.
    currentRun ??= compare()
      .catch(() => undefined)
      .then(report)
      .finally(() => {
        currentRun = undefined
      })
  }

  compareAndReport()
  const timer = setInterval(compareAndReport, deps.everyMs ?? INTERVAL_MS)
  const isSynchronised = () => Math.abs(getSkewMs()) <= MAX_CLOCK_SKEW_MS
  return {
    getSkewMs,
    isSynchronised,
    requireSynchronised() {
      if (!isSynchronised()) throw new Problem('unavailable')
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await currentRun
    },
  }
}

const READ_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Runs `action` if the clock is synchronised. Withholds its result, even an error, if the clock is no longer
 * synchronised afterwards.
 *
 * @throws {Problem} `unavailable` if the clock is not synchronised before or after `action`. If it is thrown after `action`
 *   ran, `action` may have taken effect
 */
export async function withSynchronisedClock<T>(
  clock: Pick<WatchedClock, 'requireSynchronised'>,
  action: () => Promise<T>,
): Promise<T> {
  clock.requireSynchronised()
  try {
    return await action()
  } finally {
    clock.requireSynchronised()
  }
}

/** Creates the middleware that refuses writes while the clock is not synchronised, because they depend on time. */
export function refuseWritesUnderClockSkew(clock: Pick<WatchedClock, 'requireSynchronised'>) {
  return async ({ method }: Pick<Context, 'method'>, next: () => Promise<unknown>): Promise<void> => {
    await (READ_METHODS.has(method) ? next() : withSynchronisedClock(clock, next))
  }
}
