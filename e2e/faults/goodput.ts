import type { Entry } from './load.ts'

/** Good answers a second, of all operations. */
export interface Goodput {
  readonly before: number
  /** From the recovery on. */
  readonly after: number
  /** From the end of the fault until enough answers were good, and remained so. */
  readonly recoveredSeconds: number
}

/** Of the goodput before a fault. */
const LEAST_SHARE = 0.8
const WINDOW_MS = 1_000

/**
 * What an outage leaves behind: retries that feed on each other would keep goodput low for good.
 *
 * @param backAt when the part that failed was back
 * @returns undefined when goodput never was 80 % of what it had been for a second, and on average until the load ended
 */
export function goodputOf(
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
