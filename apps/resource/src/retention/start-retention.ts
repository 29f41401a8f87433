import type { Log, Metrics } from '@plainpath/http'

/** Erases a batch of rows that are past their retention. @returns how many it erased; 0 when none are left */
type Erase = (now: Date) => Promise<number>

/** The label of this job in `retention_last_success_timestamp_seconds`. */
const SWEEP = 'links and messages'
const EVERY_MS = 600_000
/** Enough for the rows of a flood of hours: a batch has a thousand rows or more. */
const MOST_ROUNDS = 1_000

/**
 * Erases every ten minutes what `docs/retention.md` no longer allows to store, until disposed. Several instances may do so at
 * the same time, because each batch is one statement.
 */
export function startRetention(
  erasers: readonly Erase[],
  deps: {
    now: () => Date
    log: Log
    /** Tells whether the clock agrees with that of the database; a skewed clock would erase too much. */
    clockAgrees: () => Promise<boolean>
    metrics: Pick<Metrics, 'swept'>
  },
) {
  async function enforce(): Promise<void> {
    for (const erase of erasers) await eraseAll(erase, deps.now())
    deps.metrics.swept(SWEEP)
  }
  async function enforceIfClockAgrees(): Promise<void> {
    if (await deps.clockAgrees()) await enforce()
    else deps.log.error('nothing was erased: the clock is wrong')
  }
  deps.metrics.swept(SWEEP)
  let running: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    running = enforceIfClockAgrees().catch((error: unknown) =>
      deps.log.error('nothing was erased', { error }),
    )
  }, EVERY_MS)
  return {
    /** Erases now, as every ten minutes. */
    enforce,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}

/** @throws {Error} when rows are left after the largest number of batches */
async function eraseAll(erase: Erase, now: Date): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) if ((await erase(now)) === 0) return
  throw new Error('more is over than could be erased at a time')
}

export type Retention = ReturnType<typeof startRetention>
