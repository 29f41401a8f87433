import { expect, test } from 'vitest'
import { createLog } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { refuseWritesUnderClockSkew, watchClock, withSynchronisedClock } from './watch-clock.ts'

/** A machine whose wall clock is `ahead` of that of the database, with time set by hand. */
function machine() {
  const state = { passed: 0, ahead: 0, down: false, answerMs: 0 }
  const logged: string[] = []
  const skews: number[] = []
  const START = Date.parse('2026-11-01T12:00:00Z')
  const clock = watchClock({
    readTime: async () => {
      if (state.down) throw new Error('down')
      const at = new Date(START + state.passed + state.answerMs / 2)
      state.passed += state.answerMs
      return at
    },
    log: createLog({ service: 'test', write: (line) => void logged.push(line) }),
    onSkew: (seconds) => void skews.push(seconds),
    everyMs: 1,
    wall: () => START + state.passed + state.ahead,
    monotonic: () => state.passed,
  })
  const comparisons = (count = 3) => {
    const countBefore = skews.length
    return expect.poll(() => skews.length - countBefore).toBeGreaterThan(count)
  }
  return { state, logged, skews, clock, comparisons }
}

test('F-17 accepts a clock with a skew below two seconds, and logs nothing', async () => {
  const { state, clock, logged, comparisons, skews } = machine()
  await using _ = clock
  state.ahead = 1_900
  await comparisons()
  expect([clock.isSynchronised(), skews.at(-1), logged]).toEqual([true, 1.9, []])
  clock.requireSynchronised()
})

test.for([2_500, -2_500])('F-17 logs a skew of %i ms once, and its end once', async (ahead) => {
  const { state, clock, logged, comparisons } = machine()
  await using _ = clock
  await comparisons()
  state.ahead = ahead
  await comparisons()
  expect(clock.isSynchronised()).toBe(true)
  expect(logged.filter((line) => line.includes('differs from that of the database'))).toHaveLength(1)
  state.ahead = 0
  await comparisons()
  expect(logged).toHaveLength(2)
})

test.for([3_600_000, -3_600_000, 31_000])(
  'F-17 rejects a clock with a skew of %i ms at once',
  async (ahead) => {
    const { state, clock, comparisons } = machine()
    await using _ = clock
    await comparisons()
    state.ahead = ahead
    expect(clock.isSynchronised()).toBe(false)
    expect(() => clock.requireSynchronised()).toThrow(Problem)
    await comparisons()
    expect(clock.isSynchronised()).toBe(false)
    state.ahead = 0
    expect(clock.isSynchronised()).toBe(true)
  },
)

test('F-17 notices a step of the clock while the store is down, and mistakes no passing time for one', async () => {
  const { state, clock, comparisons } = machine()
  await using _ = clock
  state.down = true
  state.passed += 7_200_000
  await comparisons()
  expect(clock.skewMs()).toBe(0)
  state.ahead = -40_000
  expect(clock.isSynchronised()).toBe(false)
})

test('F-17 ignores the time of a store that responds slowly', async () => {
  const { state, clock, comparisons } = machine()
  await using _ = clock
  await comparisons()
  state.answerMs = 5_000
  state.ahead = 60_000
  await comparisons()
  expect(Math.abs(clock.skewMs())).toBe(60_000)
})

test('F-17 allows reads and refuses writes while the clock is not synchronised', async () => {
  const { state, clock } = machine()
  await using _ = clock
  const passes = async (method: string) => {
    let passed = false
    await refuseWritesUnderClockSkew(clock)({ method }, async () => (passed = true)).catch(() => undefined)
    return passed
  }
  const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE']
  expect(await Promise.all(methods.map(passes))).toEqual([true, true, true, true, true, true])
  state.ahead = -40_000
  expect(await Promise.all(methods.map(passes))).toEqual([true, true, true, false, false, false])
})

test.for(['a decision', 'a refusal'])(
  'F-17 withholds %s when the clock is set wrong in the meantime',
  async (which) => {
    const { state, clock } = machine()
    await using _ = clock
    const decide = async () => {
      if (which === 'a refusal') throw new Problem('invalid-token')
      return which
    }
    const problemCode = (deciding: Promise<unknown>) =>
      deciding.then(
        () => 'decided',
        (thrown: unknown) => (thrown as Problem).code,
      )
    expect(await problemCode(withSynchronisedClock(clock, decide))).toBe(
      which === 'a refusal' ? 'invalid-token' : 'decided',
    )
    const stepping = () => {
      state.ahead = 3_600_000
      return decide()
    }
    expect(await problemCode(withSynchronisedClock(clock, stepping))).toBe('unavailable')
    state.ahead = 0
    const posted = refuseWritesUnderClockSkew(clock)({ method: 'POST' }, stepping)
    expect(await problemCode(posted)).toBe('unavailable')
  },
)
