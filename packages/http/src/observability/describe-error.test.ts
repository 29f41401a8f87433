import { describe, expect, test } from 'vitest'
import { measureCpuMs } from '../../test/cpu-time.ts'
import { describeError } from './describe-error.ts'
import { createLog } from './log.ts'

const redactMessage = (message: string) => describeError(new Error(message)).message

// Each message contains the text `canary` where personal data or a secret could be.
describe('redacts from a message', () => {
  test.for([
    { kind: 'a quoted value', message: 'invalid input for uuid: "canary"' },
    { kind: 'a value in single quotes', message: "no user 'canary'" },
    { kind: 'a value in single quotes after an apostrophe', message: "can't find user 'canary'" },
    {
      kind: 'input that JSON.parse quotes',
      message: `Unexpected token 'h', "{"message":"canary" h" is not valid JSON`,
    },
    { kind: 'quoted text that does not end', message: 'near "canary' },
    { kind: 'quoted text that ends far away', message: `near "${'x'.repeat(2_000)} canary"` },
    { kind: 'an e-mail address', message: 'Key (email)=(canary@example.org) already exists' },
    { kind: 'an access token', message: 'unknown token ppt_canary-1_2' },
    { kind: 'a secret', message: 'wrong secret pps_canary' },
    { kind: 'credentials', message: 'refused Basic canary' },
    { kind: 'a bearer token', message: 'refused bearer canary' },
    { kind: 'a URL with a password', message: 'connect postgres://auth:canary@db/auth failed' },
    { kind: 'a URL with a query', message: 'GET https://plainpath.example/claim?attempt=canary' },
    // The searched text ends after 1,000 characters, within `canary-canary`. No `@` shows there that it is an address.
    {
      kind: 'an e-mail address whose beginning is at the end of the searched text',
      message: `refused: ${'x@example.org '.repeat(70)}canary-canary@example.org`,
    },
    { kind: 'a long random text', message: `key ${'canary'.repeat(7)}` },
  ])('$kind', ({ message }) => {
    const redactedMessage = redactMessage(message)
    expect(redactedMessage).toContain('[…]')
    expect(redactedMessage).not.toContain('canary')
  })

  test('no socket address, and no word with an apostrophe', () => {
    expect(redactMessage('connect ECONNREFUSED 127.0.0.1:5432')).toBe('connect ECONNREFUSED 127.0.0.1:5432')
    expect(redactMessage("can't reach what isn't there")).toBe("can't reach what isn't there")
  })
})

test('describes the name, code, frames and causes of an error', () => {
  const cause = Object.assign(new TypeError('inner'), { code: 'ECONNRESET', query: 'select canary' })
  const { at, cause: describedCause, ...otherMembers } = describeError(new Error('outer', { cause }))
  expect(otherMembers).toEqual({ name: 'Error', message: 'outer' })
  expect(at).toContain('describe-error.test.ts')
  expect(at?.split(' < ').length).toBeLessThanOrEqual(6)
  expect(describedCause).toMatchObject({ name: 'TypeError', message: 'inner', code: 'ECONNRESET' })
  expect(JSON.stringify(describedCause)).not.toContain('canary')
})

test('does not mistake a message for stack frames', () => {
  expect(JSON.stringify(describeError(new Error('x\n    at "canary" (somewhere)')))).not.toContain('canary')
})

test('describes at most four causes of a circular chain', () => {
  const error = new Error('round')
  error.cause = error
  // The error itself and four causes.
  expect(JSON.stringify(describeError(error)).match(/round/g)).toHaveLength(5)
})

test.for(['canary', { canary: 1 }, undefined, null, 5])(
  'does not show a thrown value that is not an Error: %s',
  (thrown) => {
    expect(describeError(thrown)).toEqual({ name: typeof thrown, message: 'not an Error' })
  },
)

test('cuts messages of a million characters to 500, within a second of CPU time', async () => {
  const ms = await measureCpuMs(() => {
    // Long runs of the characters that the patterns look for. Without a bound on the text, some patterns take quadratic time.
    for (const unit of ['a', 'a ', '"', "'", '@', 'a@', 'ab://', '_-', ' '])
      expect(redactMessage(unit.repeat(1_000_000 / unit.length)).length).toBeLessThanOrEqual(500)
  })
  expect(ms).toBeLessThan(1_000)
})

test('writes a log line as one JSON object with a time in UTC and described errors', () => {
  const lines: string[] = []
  const log = createLog({ service: 'test', write: (line) => lines.push(line) })
  log.warn('it failed', { error: new Error('for canary@example.org'), count: 2 })
  log.info('line\nbreak')
  const [firstLine = '', secondLine = ''] = lines
  expect(JSON.parse(firstLine)).toMatchObject({
    level: 'warn',
    service: 'test',
    msg: 'it failed',
    count: 2,
    error: { name: 'Error', message: 'for […]' },
  })
  expect(JSON.parse(firstLine).time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  expect(secondLine.trimEnd()).not.toContain('\n')
})

test('writes nothing below the level of the log', () => {
  const lines: string[] = []
  const log = createLog({ service: 'test', level: 'error', write: (line) => lines.push(line) })
  log.info('a')
  log.warn('b')
  log.error('c')
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['c'])
})
