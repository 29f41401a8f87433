import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/**
 * Limits for shares of an attempt's time. If a share reaches its limit, a late response may be the fault of the machine
 * and not of the service.
 */
const MAX_SHARES = {
  /** Some process waited for a processor, averaged over the processors. Without other work, this is at most a third. */
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

/** Vitest's option `retry` for a test with `explainIfBusy`. Repeats it up to twice if the machine was busy. */
export const REPEAT_IF_BUSY = { count: 2, condition: new RegExp(REASON) }

/**
 * Wraps the function of a test that judges how soon the service responds. If the test fails, and the kernel reports
 * that the machine was busy meanwhile, the message of the error says so. Otherwise the error is unchanged.
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

/** Returns whether a share reaches its limit. */
export const isBusy = (shares: Shares): boolean =>
  (Object.keys(MAX_SHARES) as (keyof Shares)[]).some((name) => shares[name] >= MAX_SHARES[name])

/** Counters in seconds, whose differences are the times of an attempt. */
type Times = Readonly<Record<keyof Shares | 'total', number>>

function measureShares(before: Times, after: Times): Shares {
  const measureShare = (name: keyof Shares) =>
    Number(((after[name] - before[name]) / (after.total - before.total)).toFixed(2))
  return {
    waitedForProcessor: measureShare('waitedForProcessor'),
    waitedForDisk: measureShare('waitedForDisk'),
    stolen: measureShare('stolen'),
  }
}

function readTimes(): Times {
  // The eighth number is the stolen time (proc_stat(5)).
  const stolenTicks = /^cpu +(?:\d+ +){7}(\d+)/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]
  return {
    waitedForProcessor: readPressure('cpu', 'some'),
    waitedForDisk: readPressure('io', 'full'),
    stolen: Number(stolenTicks) / TICKS_PER_SECOND / availableParallelism(),
    total: performance.now() / 1_000,
  }
}

/**
 * Reads the seconds in which some or all processes waited (https://docs.kernel.org/accounting/psi.html). Returns 0 if
 * the kernel does not count them.
 */
function readPressure(resource: 'cpu' | 'io', waiting: 'some' | 'full'): number {
  try {
    const text = readFileSync(`/proc/pressure/${resource}`, 'utf8')
    const microseconds = new RegExp(`^${waiting} .*total=(\\d+)`, 'm').exec(text)?.[1]
    return Number(microseconds) / 1e6
  } catch (error) {
    if (!['ENOENT', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return 0
  }
}
