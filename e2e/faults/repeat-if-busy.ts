import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** The shares of an attempt's time from which the machine, not the service, explains a late response. */
const MAX_SHARES = {
  /** Processes waited for a processor, averaged over the processors. Without other work on the machine at most a third. */
  waitedForProcessor: 0.45,
  /** All processes waited for the disk. */
  waitedForDisk: 0.1,
  /** Other virtual machines used the processors of this one. */
  stolen: 0.1,
} as const
type Shares = Readonly<Record<keyof typeof MAX_SHARES, number>>

/** The unit of times in /proc/stat. */
const TICKS_PER_SECOND = 100

const REASON = 'The machine was busy during this attempt'

/** Vitest's option for a test whose function is wrapped by `explainIfBusy`: repeats it if the machine explains the failure. */
export const REPEAT_IF_BUSY = { count: 2, condition: new RegExp(REASON) }

/**
 * Wraps the function of a test that judges how soon the service responds. If the test fails while the machine is busy, as the
 * kernel measures it, the error says so. A failure on a machine without other work remains as it is.
 */
export const explainIfBusy = (run: () => Promise<void>) => async (): Promise<void> => {
  const before = readTimes()
  try {
    await run()
  } catch (error) {
    const shares = measureShares(before, readTimes())
    if (error instanceof Error && isBusy(shares))
      error.message = `${error.message}\n${REASON}, in shares of its time: ${JSON.stringify(shares)}`
    throw error
  }
}

export const isBusy = (shares: Shares): boolean =>
  (Object.keys(MAX_SHARES) as (keyof Shares)[]).some((name) => shares[name] >= MAX_SHARES[name])

/** Seconds since the start of the machine. */
type Times = Shares & { readonly total: number }

function measureShares(before: Times, after: Times): Shares {
  const share = (name: keyof Shares) =>
    Number(((after[name] - before[name]) / (after.total - before.total)).toFixed(2))
  return {
    waitedForProcessor: share('waitedForProcessor'),
    waitedForDisk: share('waitedForDisk'),
    stolen: share('stolen'),
  }
}

function readTimes(): Times {
  const ticks = /^cpu +(?:\d+ +){7}(\d+)/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]
  return {
    waitedForProcessor: readPressure('cpu', 'some'),
    waitedForDisk: readPressure('io', 'full'),
    stolen: Number(ticks) / TICKS_PER_SECOND / availableParallelism(),
    total: performance.now() / 1_000,
  }
}

/** Reads the seconds that processes waited (https://docs.kernel.org/accounting/psi.html). A kernel may not count them. */
function readPressure(resource: 'cpu' | 'io', who: 'some' | 'full'): number {
  try {
    const text = readFileSync(`/proc/pressure/${resource}`, 'utf8')
    const microseconds = new RegExp(`^${who} .*total=(\\d+)`, 'm').exec(text)?.[1]
    return Number(microseconds) / 1e6
  } catch (error) {
    if (!['ENOENT', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return 0
  }
}
