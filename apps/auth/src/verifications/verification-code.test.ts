import { describe, expect, test } from 'vitest'
import { createExampleHashKey } from '../../test/example-agent.ts'
import { generateMatchPhrase, MATCH_PHRASE_COUNT } from './match-phrase.ts'
import { generateCode, hashCode, normaliseCode } from './verification-code.ts'

describe('a code', () => {
  test('has six digits, and may begin with zeros', () => {
    const codes = Array.from({ length: 20_000 }, generateCode)
    expect(codes.filter((code) => !/^[0-9]{6}$/.test(code))).toEqual([])
    expect(codes.some((code) => code.startsWith('00'))).toBe(true)
  })

  test('has each digit equally often in each place (chi-squared test, four false alarms in a million runs)', () => {
    const rounds = 60_000
    const counts = Array.from({ length: 6 }, () => Array.from({ length: 10 }, () => 0))
    for (let round = 0; round < rounds; round++)
      for (const [place, digit] of [...generateCode()].entries()) counts[place]![Number(digit)]! += 1
    const meanCount = rounds / 10
    for (const digitCounts of counts) {
      const chiSquared = digitCounts.reduce((sum, count) => sum + (count - meanCount) ** 2 / meanCount, 0)
      // With 9 degrees of freedom, chance exceeds this value six times in ten million. Six places are tested.
      expect(chiSquared).toBeLessThan(46)
    }
  })
})

test.for([
  ['123456', '123456'],
  ['  012 345\n', '012345'],
  ['123-456', '123456'],
  ['123\u2011456', '123456'],
  ['123–456', '123456'],
  ['１２３４５６', '123456'],
  ['1\u00a023\u3000456', '123456'],
  ['12345', undefined],
  ['1234567', undefined],
  ['123456'.padStart(64), '123456'],
  ['123456'.padStart(65), undefined],
  ['12345a', undefined],
  // Arabic, Persian, Hindi, Eastern Pwo Karen (which follows another script's digits), and Arabic with a mark for the direction of writing.
  ['٠١٢٣٤٩', '012349'],
  ['۰۱۲۳۴۹', '012349'],
  ['०१२३४९', '012349'],
  ['\u{116da}\u{116db}\u{116dc}\u{116dd}\u{116de}\u{116e3}', '012349'],
  ['\u200f٠١٢ ٣٤٩', '012349'],
  ['', undefined],
  // Six characters, but not six digits.
  ['1e5000', undefined],
  ['-12345', undefined],
] as const)('normalises %j to %s', ([entered, code]) => expect(normaliseCode(entered)).toBe(code))

test('hashes a code together with its attempt and purpose, under the key', () => {
  const key = createExampleHashKey()
  const codeHash = hashCode(key, 'agent', 'cla_a', '123456')
  expect(codeHash).toEqual(hashCode(key, 'agent', 'cla_a', '123456'))
  expect(codeHash).toHaveLength(32)
  for (const otherHash of [
    hashCode(key, 'agent', 'cla_b', '123456'),
    hashCode(key, 'sign-in', 'cla_a', '123456'),
    hashCode(key, 'agent', 'cla_a', '123457'),
    hashCode(createExampleHashKey(), 'agent', 'cla_a', '123456'),
  ])
    expect(otherHash.equals(codeHash)).toBe(false)
})

test('generates phrases of two words from more than 3,500 combinations', () => {
  expect(MATCH_PHRASE_COUNT).toBeGreaterThan(3_500)
  const phrases = new Set(Array.from({ length: 500 }, generateMatchPhrase))
  // Of 500 random phrases out of 4,096, about 471 differ.
  expect(phrases.size).toBeGreaterThan(400)
  for (const phrase of phrases) expect(phrase).toMatch(/^[a-z]+ [a-z]+$/)
})
