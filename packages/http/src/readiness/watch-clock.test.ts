import { expect, test } from 'vitest'
import { createLog } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { refuseWritesUnderClockSkew, watchClock, withSynchronisedClock } from './watch-clock.ts'

/* `F-17` in a title is the number of a fault in `e2e/faults/RESULTS.md`: the clock of an instance is wrong. */

/**
 * Creates a machine whose wall clock is `aheadMs` ahead of the database's, and watches its clock. The test sets the time:
 * `elapsedMs` is the monotonic clock, and each reading of the database's clock takes `databaseResponseMs`.
 *
 * `waitForComparisons` waits for more than `count` further comparisons, because one may have begun before the test changed the
 * machine.
 */
function createMachine() {
  const machine = { elapsedMs: 0, aheadMs: 0, isDatabaseDown: false, databaseResponseMs: 0 }
  const logLines: string[] = []
  const skews: number[] = []
  const START_MS = Date.parse('2026-11-01T12:00:00Z')
  const clock = watchClock({
    readTime: async () => {
      if (machine.isDatabaseDown) throw new Error('down')
      const at = new Date(START_MS + machine.elapsedMs + machine.databaseResponseMs / 2)
      machine.elapsedMs += machine.databaseResponseMs
      return at
    },
    log: createLog({ service: 'test', write: (line) => void logLines.push(line) }),
    onSkew: (seconds) => void skews.push(seconds),
    everyMs: 1,
    readWallMs: () => START_MS + machine.elapsedMs + machine.aheadMs,
    readMonotonicMs: () => machine.elapsedMs,
  })
  const waitForComparisons = (count = 3) => {
    const countBefore = skews.length
    return expect.poll(() => skews.length - countBefore).toBeGreaterThan(count)
  }
  return { machine, logLines, skews, clock, waitForComparisons }
}

test('F-17 accepts a clock with a skew below two seconds, and logs nothing', async () => {
  const { machine, clock, logLines, waitForComparisons, skews } = createMachine()
  await using _ = clock
  machine.aheadMs = 1_900
  await waitForComparisons()
  expect([clock.isSynchronised(), skews.at(-1), logLines]).toEqual([true, 1.9, []])
  clock.requireSynchronised()
})

test.for([2_500, -2_500])('F-17 logs a skew of %i ms once, and its end once', async (aheadMs) => {
  const { machine, clock, logLines, waitForComparisons } = createMachine()
  await using _ = clock
  await waitForComparisons()
  machine.aheadMs = aheadMs
  await waitForComparisons()
  expect(clock.isSynchronised()).toBe(true)
  expect(logLines.filter((line) => line.includes('differs from that of the database'))).toHaveLength(1)
  machine.aheadMs = 0
  await waitForComparisons()
  expect(logLines).toHaveLength(2)
})

// The maximum skew is 30 s.
test.for([3_600_000, -3_600_000, 31_000])(
  'F-17 rejects a clock with a skew of %i ms immediately',
  async (aheadMs) => {
    const { machine, clock, waitForComparisons } = createMachine()
    await using _ = clock
    await waitForComparisons()
    machine.aheadMs = aheadMs
    expect(clock.isSynchronised()).toBe(false)
    expect(() => clock.requireSynchronised()).toThrow(Problem)
    await waitForComparisons()
    expect(clock.isSynchronised()).toBe(false)
    machine.aheadMs = 0
    expect(clock.isSynchronised()).toBe(true)
  },
)

test('F-17 notices a step of the clock while the database is down, but no skew from elapsed time', async () => {
  const { machine, clock, waitForComparisons } = createMachine()
  await using _ = clock
  machine.isDatabaseDown = true
  machine.elapsedMs += 7_200_000
  await waitForComparisons()
  expect(clock.getSkewMs()).toBe(0)
  machine.aheadMs = -40_000
  expect(clock.isSynchronised()).toBe(false)
})

test('F-17 ignores the time of a database that responds slowly', async () => {
  const { machine, clock, waitForComparisons } = createMachine()
  await using _ = clock
  await waitForComparisons()
  // A comparison must not take longer than a second.
  machine.databaseResponseMs = 5_000
  machine.aheadMs = 60_000
  await waitForComparisons()
  expect(Math.abs(clock.getSkewMs())).toBe(60_000)
})

test('F-17 allows reads and refuses writes while the clock is not synchronised', async () => {
  const { machine, clock } = createMachine()
  await using _ = clock
  const isAllowed = async (method: string) => {
    let wasCalled = false
    // A refusal is an error, but here it only matters whether the handler was called.
    await refuseWritesUnderClockSkew(clock)({ method }, async () => (wasCalled = true)).catch(() => undefined)
    return wasCalled
  }
  const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE']
  expect(await Promise.all(methods.map(isAllowed))).toEqual([true, true, true, true, true, true])
  machine.aheadMs = -40_000
  expect(await Promise.all(methods.map(isAllowed))).toEqual([true, true, true, false, false, false])
})

test.for(['a decision', 'a refusal'])(
  'F-17 withholds %s when the clock is set wrong in the meantime',
  async (outcome) => {
    const { machine, clock } = createMachine()
    await using _ = clock
    const decide = async () => {
      if (outcome === 'a refusal') throw new Problem('invalid-token')
      return outcome
    }
    const describeOutcome = (decision: Promise<unknown>) =>
      decision.then(
        () => 'decided',
        (thrown: unknown) => (thrown as Problem).code,
      )
    expect(await describeOutcome(withSynchronisedClock(clock, decide))).toBe(
      outcome === 'a refusal' ? 'invalid-token' : 'decided',
    )
    const decideAfterStep = () => {
      machine.aheadMs = 3_600_000
      return decide()
    }
    expect(await describeOutcome(withSynchronisedClock(clock, decideAfterStep))).toBe('unavailable')
    machine.aheadMs = 0
    const postResult = refuseWritesUnderClockSkew(clock)({ method: 'POST' }, decideAfterStep)
    expect(await describeOutcome(postResult)).toBe('unavailable')
  },
)
