import type { Entry } from './load.ts'

/** The number of good responses per second, over all operations. */
export interface Goodput {
  /** The goodput from the first request until the fault. */
  readonly before: number
  /** The goodput after the recovery. */
  readonly after: number
  /**
   * The time from the end of the fault to the end of the first second with sufficient goodput. From that second on,
   * goodput is sufficient on average.
   */
  readonly recoveredSeconds: number
}

/** Goodput has recovered when it is at least this share of the goodput before the fault. */
const MIN_RECOVERED_SHARE = 0.8
/** The length of the period in which goodput must first be sufficient. The periods that are tried begin half of it apart. */
const WINDOW_MS = 1_000

/**
 * Measures whether the service recovers from an outage. A retry storm would keep goodput low permanently.
 *
 * @param repairedAt the time at which the failed components worked again
 * @returns undefined unless goodput reached 80 % of its former value for a second, and on average from then until the
 *   load ended
 */
export function measureGoodput(
  entries: readonly Entry[],
  { faultedAt, repairedAt }: { faultedAt: number; repairedAt: number },
): Goodput | undefined {
  const goodTimes = entries.filter(({ outcome }) => outcome === 'good').map(({ endedAt }) => endedAt)
  const measureRate = (from: number, to: number) =>
    goodTimes.filter((endedAt) => endedAt >= from && endedAt < to).length / ((to - from) / 1_000)
  const starts = entries.map(({ startedAt }) => startedAt)
  const firstAt = Math.min(...starts)
  const lastAt = Math.max(...starts)
  const normalRate = measureRate(firstAt, faultedAt)
  const isEnough = (from: number, to: number) => measureRate(from, to) >= MIN_RECOVERED_SHARE * normalRate
  for (let windowStart = repairedAt; windowStart + WINDOW_MS <= lastAt; windowStart += WINDOW_MS / 2) {
    if (isEnough(windowStart, windowStart + WINDOW_MS) && isEnough(windowStart, lastAt))
      return {
        before: normalRate,
        after: measureRate(windowStart, lastAt),
        recoveredSeconds: (windowStart + WINDOW_MS - repairedAt) / 1_000,
      }
  }
  return undefined
}
