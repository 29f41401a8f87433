import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFailureLogger } from './failure-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Creates a failure logger and records its lines. The calls of `logFailure` have the request ids `request-1`, `request-2` … */
function setUp() {
  const lines: { title: string; [field: string]: unknown }[] = []
  const log = createFailureLogger({ error: (title, fields) => void lines.push({ title, ...fields }) })
  let requestCount = 0
  const logFailure = (error: unknown, code = 'unavailable') =>
    log('A part is not answering', { request_id: `request-${(requestCount += 1)}`, code, error })
  return { lines, logFailure }
}

test('logs a failure immediately, and its repetitions within ten seconds as one line', () => {
  const { lines, logFailure } = setUp()
  for (let index = 0; index < 1_000; index += 1)
    logFailure(new Error('no answer', { cause: new Error('timeout') }))
  expect(lines).toEqual([expect.objectContaining({ request_id: 'request-1' })])
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(2)
  expect(lines[1]).toMatchObject({ title: 'A part is not answering', code: 'unavailable', repeated: 999 })
  logFailure(new Error('no answer', { cause: new Error('timeout') }))
  expect(lines[2]).toMatchObject({ request_id: 'request-1001' })
})

test('logs nothing more about a failure without repetitions', () => {
  const { lines, logFailure } = setUp()
  logFailure(new Error('no answer'))
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(1)
})

test.for([
  ['another message', new Error('refused'), 'unavailable'],
  ['another error name', new RangeError('no answer'), 'unavailable'],
  ['another cause', new Error('no answer', { cause: new Error('refused') }), 'unavailable'],
  ['another code', new Error('no answer'), 'internal-error'],
  ['no error', undefined, 'unavailable'],
] as const)('logs a failure with %s separately', ([, error, code]) => {
  const { lines, logFailure } = setUp()
  logFailure(new Error('no answer'))
  logFailure(error, code)
  expect(lines).toHaveLength(2)
})

test('groups at most 100 kinds of failure, and logs the count of a kind that it evicts', () => {
  const { lines, logFailure } = setUp()
  logFailure(new Error('first'))
  logFailure(new Error('first'))
  for (let index = 0; index < 100; index += 1) logFailure(new Error(`other ${index}`))
  // The last kind evicts the first, whose one repetition is logged early.
  expect(lines.filter(({ repeated }) => repeated === 1)).toHaveLength(1)
})
