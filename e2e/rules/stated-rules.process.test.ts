import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { RULES } from '@plainpath/domain/rules'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('./print-served-texts.ts', import.meta.url))
const served = (rules: object): Record<string, string> =>
  JSON.parse(
    execFileSync(process.execPath, [PROGRAM, JSON.stringify(rules)], { encoding: 'utf8', maxBuffer: 1e8 }),
  )

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000] as const
const UNITS = { second: SECOND, minute: MINUTE, hour: HOUR, day: DAY }

/** Another value for each rule, in the same unit: no two have the same figure, and nothing else has it. */
const CHANGED = Object.entries(RULES).map(([name, value], index) => {
  const figure = 641 + 2 * index
  // A day and some hours.
  if (name === 'mailCountedMs') return { name, figure, value: DAY + figure * HOUR }
  const unit = name.endsWith('Ms') ? ([DAY, HOUR, MINUTE, SECOND].find((each) => value % each === 0) ?? 1) : 1
  return { name, figure, value: figure * unit }
})
const before = served({})
const after = served(Object.fromEntries(CHANGED.map(({ name, value }) => [name, value])))

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const COUNTED =
  'codes|tries|mails|digits|public keys|of \\d|(random |printable )?characters|were shown|in all'

/** The wordings that state the current figures. */
const OLD = Object.entries(RULES).flatMap(([name, value]) => {
  if (!name.endsWith('Ms')) return [`\\b(${value}|${WORDS[value] ?? value}) (${COUNTED})`]
  return Object.entries(UNITS)
    .filter(([, ms]) => value % ms === 0)
    .map(([unit, ms]) => {
      const count = value / ms
      return count === 1
        ? `\\b(1|one|an?|their) ${unit}\\b`
        : `\\b(${count}|${WORDS[count] ?? count})( more)? ${unit}s`
    })
})

/** Durations that are not in `RULES`: the windows of limits, and the interval of the sweep. */
const OTHERS =
  /mail(<\/span>)?s a day|for a day and|for a day\.|and a minute|at most an hour and a few minutes/gi

test('each figure that is promised is stated somewhere, as its rule has it', () => {
  const all = Object.values(after).join('\n')
  const forms = ({ figure }: { figure: number }) =>
    [figure, figure * 24, figure * 60, figure * 3_600].join('|')
  const untold = CHANGED.filter((rule) => !new RegExp(`(?<!\\d)(${forms(rule)})(?!\\d)`).test(all))
  expect(untold.map(({ name }) => name)).toEqual([])
})

test('nothing that is served states the figure that a rule had before', () => {
  const old = new RegExp(OLD.join('|'), 'gi')
  const stale = Object.entries(after).flatMap(([where, text]) =>
    Array.from(text.replaceAll(OTHERS, '').matchAll(old), ([found]) => `${where}: ${found}`),
  )
  expect(stale).toEqual([])
  expect(Object.values(before).join('\n').match(old)?.length).toBeGreaterThan(50)
})
