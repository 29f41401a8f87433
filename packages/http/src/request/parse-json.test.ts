import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { measureCpuMs } from '../../test/cpu-time.ts'
import { JsonError, parseJson } from './parse-json.ts'

const createNestedArray = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('parseJson refuses text that', () => {
  test.for([
    { kind: 'is empty', text: '' },
    { kind: 'names a member twice', text: '{"email":"a","email":"b"}' },
    { kind: 'names a member twice, once escaped', text: String.raw`{"email":"a","\u0065mail":"b"}` },
    { kind: 'names a member twice, deep inside', text: '[{"a":{"b":1,"c":[{}],"b":2}}]' },
    { kind: 'names the empty member twice', text: '{"":1,"":2}' },
    { kind: 'names a member twice whose name holds an escaped quote', text: String.raw`{"a\"":1,"a\"":2}` },
    { kind: 'has a member __proto__', text: '{"__proto__":{"x":1}}' },
    { kind: 'has a member __proto__, escaped', text: String.raw`{"\u005f_proto__":{"x":1}}` },
    { kind: 'has a member constructor', text: '{"constructor":{"x":1}}' },
    { kind: 'has a member prototype', text: '[{"prototype":{"x":1}}]' },
    { kind: 'has a number too large for a double', text: '{"a":1e400}' },
    { kind: 'has a negative number too large for a double', text: '-1e400' },
    { kind: 'has an integer of 20 digits', text: '[12345678901234567890]' },
    { kind: 'has the smallest positive integer that is not safe', text: '9007199254740992' },
    { kind: 'has minus zero', text: '[-0]' },
    { kind: 'has NaN', text: 'NaN' },
    { kind: 'begins with a byte order mark', text: '\uFEFF{}' },
    { kind: 'has half of a surrogate pair, escaped', text: String.raw`{"a":"\ud800"}` },
    { kind: 'has half of a surrogate pair, bare', text: '"\udc00"' },
    { kind: 'has half of a surrogate pair in a name', text: String.raw`{"\ud83d":1}` },
    { kind: 'has NUL in a string', text: String.raw`["a\u0000b"]` },
    { kind: 'has NUL in a name', text: String.raw`{"a\u0000":1}` },
    { kind: 'goes on after the value', text: '{} x' },
    { kind: 'holds two documents', text: '{}{}' },
    { kind: 'has a comment', text: '{/* */}' },
    { kind: 'has a trailing comma', text: '[1,]' },
    { kind: 'has single quotes', text: "{'a':1}" },
    { kind: 'has a line break in a string', text: '"a\nb"' },
    { kind: 'ends in the middle', text: '{"a":"b' },
    { kind: 'is nested in 17 levels', text: createNestedArray(17) },
    { kind: 'is nested in 17 levels of both kinds', text: `${'{"a":['.repeat(8)}{}${']}'.repeat(8)}` },
  ])('$kind', ({ text }) => {
    expect(() => parseJson(text)).toThrow(JsonError)
  })
})

test.for([
  '{}',
  'null',
  '"text"',
  '0',
  '9007199254740991',
  '-9007199254740991',
  '0.1',
  '1e-400',
  createNestedArray(16),
  '[{"a":1},{"a":2}]',
  '{"a":{"a":{"a":1}}}',
  // The second value is a string that looks like another member `a`.
  '{"a":":","b":"\\",\\"a\\":1"}',
  '{"toString":1,"hasOwnProperty":2}',
  '"😀"',
  String.raw`"\ud83d\ude00"`,
  ' \t\r\n[ 1 , 2 ] ',
])('parseJson accepts %s', (text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text))
})

test('an error of parseJson does not quote the text', () => {
  const texts = ['{"secret-canary"', '{"secret-canary":1,"secret-canary":2}', '["secret-canary\\u0000"]']
  for (const text of texts) {
    const thrown = (() => {
      try {
        return parseJson(text)
      } catch (error) {
        return error
      }
    })()
    expect(String(thrown)).not.toContain('secret-canary')
  }
})

test('parseJson changes no prototype', () => {
  expect(() => parseJson('{"__proto__":{"polluted":true}}')).toThrow(JsonError)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

/** Returns true for a value whose JSON text `parseJson` must accept. */
const isAcceptable = (value: unknown): boolean => {
  try {
    const text = JSON.stringify(value)
    return !/"(?:__proto__|constructor|prototype)":/.test(text) && text.isWellFormed() && isStorable(value, 0)
  } catch {
    return false
  }
}

/** Returns true unless `parseJson` refuses the value's strings, numbers or depth. `depth` is the number of levels around it. */
function isStorable(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  return (
    depth < 16 &&
    Object.entries(value).every(([name, member]) => isStorable(name, depth) && isStorable(member, depth + 1))
  )
}

test('parseJson preserves random valid JSON values', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }).filter(isAcceptable), (value) => {
      expect(parseJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 200 },
  )
})

test('parseJson parses random text as JSON.parse does, or refuses it', () => {
  // The characters of JSON syntax and a few others, so that some of the texts are valid.
  const jsonLikeText = fc.string({ unit: fc.constantFrom(...'{}[]:,"\\ae01.- \n\u0000é😀') })
  fc.assert(
    fc.property(jsonLikeText, (text) => {
      let parsed: unknown
      try {
        parsed = parseJson(text)
      } catch (error) {
        expect(error).toBeInstanceOf(JsonError)
        return
      }
      expect(parsed).toEqual(JSON.parse(text))
    }),
    { numRuns: 2_000 },
  )
})

describe('parseJson takes less than 150 ms of CPU time for 64 KiB:', () => {
  const LENGTH = 64 * 1024
  const createMembers = (count: number) =>
    Array.from({ length: count }, (_, index) => `"${index}":1`).join(',')
  test.for([
    { kind: 'a string that never ends, full of escaped quotes', text: `"${'\\"'.repeat(LENGTH / 2)}` },
    {
      kind: 'a string that never ends, full of escaped quotes, with a backslash at the end',
      text: `"${'\\"'.repeat(LENGTH / 2)}\\`,
    },
    { kind: 'backslashes only', text: `"${'\\'.repeat(LENGTH)}` },
    { kind: 'quotes only', text: '"'.repeat(LENGTH) },
    { kind: 'brackets only', text: '['.repeat(LENGTH) },
    { kind: 'brackets that close', text: createNestedArray(LENGTH / 2) },
    { kind: 'an array of empty arrays', text: `[${'[],'.repeat(LENGTH / 3)}[]]` },
    // Each member takes 9 bytes or fewer, so these are about 60 KiB.
    { kind: 'an object of many members', text: `{${createMembers(6_800)}}` },
    { kind: 'blanks', text: `${' '.repeat(LENGTH)}x` },
    { kind: 'a long number', text: '1'.repeat(LENGTH) },
  ])('$kind', async ({ text }) => {
    const parse = () => {
      try {
        parseJson(text)
      } catch (error) {
        expect(error).toBeInstanceOf(JsonError)
      }
    }
    const durationsMs: number[] = []
    for (let run = 0; run < 3; run += 1) durationsMs.push(await measureCpuMs(parse))
    // The best of three runs counts, because garbage may be collected during one. Quadratic time would be a second.
    expect(Math.min(...durationsMs)).toBeLessThan(150)
  })
})
