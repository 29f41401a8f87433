import type { Context } from 'koa'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'

/*
 * Compares the wall clock of this machine with the clock of PostgreSQL, by which all instances agree on expiry, and stops
 * decisions about time while the two differ too much. It measures only; nobody's clock is corrected here.
 */

/** The wall clock of this machine, compared with that of the database. */
export interface WatchedClock extends AsyncDisposable {
  /** How far our clock is ahead, in milliseconds. A step of it shows at once. */
  skewMs(): number
  /** False while the skew is too large (30 s) to decide what has expired. */
  isSynchronised(): boolean
  /** @throws {Problem} `unavailable` while the clock is not synchronised */
  requireSynchronised(): void
}

interface WatchClockDeps {
  /** Reads the clock of the database. Failures are ignored. */
  readonly storeTime: () => Promise<Date>
  readonly log: Log
  /** Called with the skew in seconds after each comparison. */
  readonly onSkew?: (seconds: number) => void
  readonly everyMs?: number
  /** The clock that is compared, in milliseconds. */
  readonly wall?: () => number
  /** A clock that never goes back, in milliseconds. */
  readonly monotonic?: () => number
}

const EVERY_MS = 2_000
/** A larger skew is logged. */
const REPORTED_MS = 2_000
/** With a larger skew, the clock does not count as synchronised. */
const TOLERATED_MS = 30_000
/** A slower response does not tell the database's time exactly enough. */
const LONGEST_RESPONSE_MS = 1_000

/**
 * Compares the clocks every two seconds until disposed. While the database does not respond, the last comparison is carried
 * forward by the monotonic clock.
 */
export function watchClock(deps: WatchClockDeps): WatchedClock {
  // oxlint-disable-next-line no-restricted-properties -- the clock that is compared
  const { storeTime, log, onSkew, wall = Date.now, monotonic = () => performance.now() } = deps
  /** The difference between the wall clock and the monotonic clock if the wall clock were right. */
  let rightOffset = wall() - monotonic()
  let reported = false
  let comparing: Promise<void> | undefined

  const skewMs = () => wall() - monotonic() - rightOffset

  async function compare(): Promise<void> {
    const sentAt = monotonic()
    const storeMs = (await storeTime()).getTime()
    const receivedAt = monotonic()
    if (receivedAt - sentAt <= LONGEST_RESPONSE_MS) rightOffset = storeMs - (sentAt + receivedAt) / 2
  }

  function report(): void {
    const seconds = skewMs() / 1_000
    onSkew?.(seconds)
    const tooFar = Math.abs(seconds * 1_000) > REPORTED_MS
    if (tooFar === reported) return
    reported = tooFar
    if (tooFar) log.error('the clock of this machine differs from that of the database', { seconds })
    else log.info('the clock of this machine agrees with that of the database again')
  }

  function compareAndReport(): void {
    comparing ??= compare()
      .catch(() => undefined)
      .then(report)
      .finally(() => {
        comparing = undefined
      })
  }

  compareAndReport()
  const timer = setInterval(compareAndReport, deps.everyMs ?? EVERY_MS)
  const isSynchronised = () => Math.abs(skewMs()) <= TOLERATED_MS
  return {
    skewMs,
    isSynchronised,
    requireSynchronised() {
      if (!isSynchronised()) throw new Problem('unavailable')
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await comparing
    },
  }
}

const READ_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Runs `decide`, and withholds its result, also a refusal, unless the clock is synchronised both before and after it.
 *
 * @throws {Problem} `unavailable`. As with a lost response, the work of `decide` may have been done.
 */
export async function withSynchronisedClock<T>(
  clock: Pick<WatchedClock, 'requireSynchronised'>,
  decide: () => Promise<T>,
): Promise<T> {
  clock.requireSynchronised()
  try {
    return await decide()
  } finally {
    clock.requireSynchronised()
  }
}

/** Middleware that refuses writes while the clock is not synchronised, since they store times and decide by them. Reads pass. */
export function refuseWritesUnderClockSkew(clock: Pick<WatchedClock, 'requireSynchronised'>) {
  return async ({ method }: Pick<Context, 'method'>, next: () => Promise<unknown>): Promise<void> => {
    await (READ_METHODS.has(method) ? next() : withSynchronisedClock(clock, next))
  }
}
