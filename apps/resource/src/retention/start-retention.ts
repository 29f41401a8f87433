import type { Log, Metrics } from '@plainpath/http'

/** Erases what was kept long enough, so much at a time. @returns how many rows it erased; 0 when nothing is left */
type Erase = (now: Date) => Promise<number>

/** Its name in `retention_last_success_timestamp_seconds`. */
const SWEEP = 'links and messages'
const EVERY_MS = 600_000
/** At a thousand rows and more each, what a flood of hours has left. */
const MOST_ROUNDS = 1_000

/** Enforces the table of `docs/retention.md` until disposed. Several instances may: each erasing is one statement. */
export function startRetention(
  erasing: readonly Erase[],
  deps: {
    now: () => Date
    log: Log
    /** False when the clock of this machine is so wrong that too much would be erased. */
    clockAgrees: () => Promise<boolean>
    metrics: Pick<Metrics, 'swept'>
  },
) {
  async function enforce(): Promise<void> {
    for (const erase of erasing) await eraseAll(erase, deps.now())
    deps.metrics.swept(SWEEP)
  }
  async function enforceByTheClock(): Promise<void> {
    if (await deps.clockAgrees()) await enforce()
    else deps.log.error('nothing was erased: the clock is wrong')
  }
  deps.metrics.swept(SWEEP)
  let under: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    under = enforceByTheClock().catch((error: unknown) => deps.log.error('nothing was erased', { error }))
  }, EVERY_MS)
  return {
    /** What it also does every ten minutes. */
    enforce,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await under
    },
  }
}

/** @throws when more is left than one round may take */
async function eraseAll(erase: Erase, now: Date): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) if ((await erase(now)) === 0) return
  throw new Error('more is over than could be erased at a time')
}

export type Retention = ReturnType<typeof startRetention>
