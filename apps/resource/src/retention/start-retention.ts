import { createRepeatedWork, type Log, type Metrics } from '@plainpath/http'

/** Erases a batch of rows that are past their retention. Returns the number of erased rows, which is 0 when none are left. */
type EraseBatch = (now: Date) => Promise<number>

/** The recurring job that erases data past its retention. Disposing stops it after the batch in progress. */
export interface Retention extends AsyncDisposable {
  /**
   * Erases immediately everything that is past its retention. Does not check the clock.
   *
   * @throws {Error} if a batch fails, or if rows are left after `MAX_BATCHES`
   */
  enforce(): Promise<void>
}

/** The label of this job in `retention_last_success_timestamp_seconds`. */
const SWEEP_LABEL = 'links and messages'
const INTERVAL_MS = 600_000
/** A full batch has at least a thousand rows, so this many batches are enough even after hours of abuse. */
const MAX_BATCHES = 1_000

/**
 * Erases data that is past its retention (`docs/retention.md`), every ten minutes. Several instances may do this at the same time,
 * because each statement erases its rows atomically. A run that fails is logged, and the next run tries again.
 */
export function startRetention(
  erasers: readonly EraseBatch[],
  deps: {
    now: () => Date
    log: Log
    /** Returns whether the clocks of this machine and the database agree. With a skewed clock, too much could be erased. */
    isClockSynchronised: () => Promise<boolean>
    metrics: Pick<Metrics, 'recordSweep'>
  },
): Retention {
  async function enforce(isStopped = () => false): Promise<void> {
    for (const eraseBatch of erasers) await eraseAll(eraseBatch, deps.now(), isStopped)
    if (!isStopped()) deps.metrics.recordSweep(SWEEP_LABEL)
  }
  async function enforceIfClockIsSynchronised(isStopped: () => boolean): Promise<void> {
    try {
      if (await deps.isClockSynchronised()) await enforce(isStopped)
      else deps.log.error('nothing was erased, because the clock is skewed')
    } catch (error) {
      deps.log.error('erasing stopped before everything due was erased', { error })
    }
  }
  // Until the first run, the metric shows when the process started.
  deps.metrics.recordSweep(SWEEP_LABEL)
  const erasing = createRepeatedWork(enforceIfClockIsSynchronised)
  erasing.start(INTERVAL_MS)
  return { enforce: () => enforce(), [Symbol.asyncDispose]: () => erasing[Symbol.asyncDispose]() }
}

/**
 * Erases batches until no rows are left, or until `isStopped` returns true.
 *
 * @throws {Error} when rows are left after `MAX_BATCHES`
 */
async function eraseAll(eraseBatch: EraseBatch, now: Date, isStopped: () => boolean): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    if (isStopped() || (await eraseBatch(now)) === 0) return
  }
  throw new Error(`rows past their retention are left after ${MAX_BATCHES} batches`)
}
