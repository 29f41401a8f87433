import { expect, test } from 'vitest'
import { createLog } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { refuseWritesUnderClockSkew, watchClock, withSynchronisedClock } from './watch-clock.ts'

/** A machine whose wall clock is `ahead` of the store's, by hand. */
function machine() {
  const state = { passed: 0, ahead: 0, down: false, answerMs: 0 }
  const logged: string[] = []
  const skews: number[] = []
  const START = Date.parse('2026-11-01T12:00:00Z')
  const clock = watchClock({
    storeTime: async () => {
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
  const looks = (count = 3) => {
    const seen = skews.length
    return expect.poll(() => skews.length - seen, { timeout: 10_000 }).toBeGreaterThan(count)
  }
  return { state, logged, skews, clock, looks }
}

test('F-17 a clock that is right, or nearly, is sound and says nothing', async () => {
  const { state, clock, logged, looks, skews } = machine()
  await using _ = clock
  state.ahead = 1_900
  await looks()
  expect([clock.isSynchronised(), skews.at(-1), logged]).toEqual([true, 1.9, []])
  clock.requireSynchronised()
})

test.for([2_500, -2_500])(
  'F-17 one that is %i ms off is reported once, and once when it is right',
  async (ahead) => {
    const { state, clock, logged, looks } = machine()
    await using _ = clock
    await looks()
    state.ahead = ahead
    await looks()
    expect(clock.isSynchronised()).toBe(true)
    expect(logged.filter((line) => line.includes('differs from that of the database'))).toHaveLength(1)
    state.ahead = 0
    await looks()
    expect(logged).toHaveLength(2)
  },
)

test.for([3_600_000, -3_600_000, 31_000])(
  'F-17 one that is %i ms off is not sound, at once',
  async (ahead) => {
    const { state, clock, looks } = machine()
    await using _ = clock
    await looks()
    state.ahead = ahead
    expect(clock.isSynchronised()).toBe(false)
    expect(() => clock.requireSynchronised()).toThrow(Problem)
    await looks()
    expect(clock.isSynchronised()).toBe(false)
    state.ahead = 0
    expect(clock.isSynchronised()).toBe(true)
  },
)

test('F-17 a step shows also while the store is down, and time that passes is none', async () => {
  const { state, clock, looks } = machine()
  await using _ = clock
  state.down = true
  state.passed += 7_200_000
  await looks()
  expect(clock.skewMs()).toBe(0)
  state.ahead = -40_000
  expect(clock.isSynchronised()).toBe(false)
})

test('F-17 a store that takes long says nothing of the clock', async () => {
  const { state, clock, looks } = machine()
  await using _ = clock
  await looks()
  state.answerMs = 5_000
  state.ahead = 60_000
  await looks()
  expect(Math.abs(clock.skewMs())).toBe(60_000)
})

test('F-17 by a clock that is not sound everything is read, and nothing done', async () => {
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

test.for(['what is decided', 'a refusal'])(
  'F-17 %s is withheld when the clock was put wrong meanwhile',
  async (which) => {
    const { state, clock } = machine()
    await using _ = clock
    const decide = async () => {
      if (which === 'a refusal') throw new Problem('invalid-token')
      return which
    }
    const codeOf = (deciding: Promise<unknown>) =>
      deciding.then(
        () => 'decided',
        (thrown: unknown) => (thrown as Problem).code,
      )
    expect(await codeOf(withSynchronisedClock(clock, decide))).toBe(
      which === 'a refusal' ? 'invalid-token' : 'decided',
    )
    const stepping = () => {
      state.ahead = 3_600_000
      return decide()
    }
    expect(await codeOf(withSynchronisedClock(clock, stepping))).toBe('unavailable')
    state.ahead = 0
    const posted = refuseWritesUnderClockSkew(clock)({ method: 'POST' }, stepping)
    expect(await codeOf(posted)).toBe('unavailable')
  },
)
