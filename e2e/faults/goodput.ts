import type { Entry } from './load.ts'

/** Good responses a second, over all operations. */
export interface Goodput {
  readonly before: number
  /** After the recovery. */
  readonly after: number
  /** The time from the end of the fault until goodput was high enough and remained so. */
  readonly recoveredSeconds: number
}

/** The share of the goodput before the fault that counts as recovered. */
const LEAST_SHARE = 0.8
const WINDOW_MS = 1_000

/**
 * Measures whether the service recovers from an outage. A retry storm would keep goodput low permanently.
 *
 * @param backAt when the failed part worked again
 * @returns undefined unless goodput reached 80 % of its former value for a second, and on average until the load ended
 */
export function measureGoodput(
  entries: readonly Entry[],
  { faultedAt, backAt }: { faultedAt: number; backAt: number },
): Goodput | undefined {
  const good = entries.filter(({ outcome }) => outcome === 'good').map(({ endedAt }) => endedAt)
  const rate = (from: number, to: number) =>
    good.filter((endedAt) => endedAt >= from && endedAt < to).length / ((to - from) / 1_000)
  const starts = entries.map(({ startedAt }) => startedAt)
  const [first, last] = [Math.min(...starts), Math.max(...starts)]
  const before = rate(first, faultedAt)
  const isEnough = (from: number, to: number) => rate(from, to) >= LEAST_SHARE * before
  for (let at = backAt; at + WINDOW_MS <= last; at += WINDOW_MS / 2) {
    if (isEnough(at, at + WINDOW_MS) && isEnough(at, last))
      return { before, after: rate(at, last), recoveredSeconds: (at + WINDOW_MS - backAt) / 1_000 }
  }
  return undefined
}
