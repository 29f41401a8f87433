import type { Context } from 'koa'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'

/** How the wall clock of this machine stands to that of the store, which decides for all instances. */
export interface WatchedClock extends AsyncDisposable {
  /** How far ours is ahead, in milliseconds; a step of it shows at once. */
  skewMs(): number
  /** False when it is so wrong that what ends when is not to be decided by it. */
  isSynchronised(): boolean
  /** @throws {Problem} `unavailable` when it is not sound */
  requireSynchronised(): void
}

interface WatchClockDeps {
  /** The time of the store now; a failure is somebody else's business. */
  readonly storeTime: () => Promise<Date>
  readonly log: Log
  /** Told the skew in seconds, after each look. */
  readonly onSkew?: (seconds: number) => void
  readonly everyMs?: number
  /** Both in milliseconds: the clock in question, and one that only rises. */
  readonly wall?: () => number
  readonly monotonic?: () => number
}

const EVERY_MS = 2_000
const REPORTED_MS = 2_000
const BEARABLE_MS = 30_000
/** An answer that was under way for longer says too little. */
const LONGEST_ANSWER_MS = 1_000

/** Watches it until disposed. While the store does not answer, what is known goes on by the monotonic clock. */
export function watchClock(deps: WatchClockDeps): WatchedClock {
  // oxlint-disable-next-line no-restricted-properties -- the clock that is watched
  const { storeTime, log, onSkew, wall = Date.now, monotonic = () => performance.now() } = deps
  /** The wall clock is right when it is this far ahead of the monotonic one. */
  let rightAhead = wall() - monotonic()
  let reported = false
  let looking: Promise<void> | undefined

  const skewMs = () => wall() - monotonic() - rightAhead

  async function compare(): Promise<void> {
    const askedAt = monotonic()
    const there = (await storeTime()).getTime()
    const answeredAt = monotonic()
    if (answeredAt - askedAt <= LONGEST_ANSWER_MS) rightAhead = there - (askedAt + answeredAt) / 2
  }

  function report(): void {
    const seconds = skewMs() / 1_000
    onSkew?.(seconds)
    const tooFar = Math.abs(seconds * 1_000) > REPORTED_MS
    if (tooFar === reported) return
    reported = tooFar
    if (tooFar) log.error('the clock of this machine differs from that of the database', { seconds })
    else log.info('the clock of this machine is right again')
  }

  function look(): void {
    looking ??= compare()
      .catch(() => undefined)
      .then(report)
      .finally(() => {
        looking = undefined
      })
  }

  look()
  const timer = setInterval(look, deps.everyMs ?? EVERY_MS)
  const isSynchronised = () => Math.abs(skewMs()) <= BEARABLE_MS
  return {
    skewMs,
    isSynchronised,
    requireSynchronised() {
      if (!isSynchronised()) throw new Problem('unavailable')
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}

const READING = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * What `decide` decides by the time, be it a refusal, unless the clock is wrong before or was put wrong meanwhile.
 *
 * @throws {Problem} `unavailable`; whatever was done may be done, as with an answer that is lost
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

/** Refuses whatever may write down a time, or decide by one, while the clock is not sound; what is read goes on. */
export function refuseWritesUnderClockSkew(clock: Pick<WatchedClock, 'requireSynchronised'>) {
  return async ({ method }: Pick<Context, 'method'>, next: () => Promise<unknown>): Promise<void> => {
    await (READING.has(method) ? next() : withSynchronisedClock(clock, next))
  }
}
