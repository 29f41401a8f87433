import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { RULES } from '@plainpath/domain/rules'
import { groupDigits } from '@plainpath/pages'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('./print-served-texts.ts', import.meta.url))
/** Renders the texts in a new process, in which `rules` replace the members of `RULES` that they name. */
const renderWithRules = (rules: object): Record<string, string> =>
  JSON.parse(
    execFileSync(process.execPath, [PROGRAM, JSON.stringify(rules)], { encoding: 'utf8', maxBuffer: 1e8 }),
  )

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000] as const
const UNITS = { second: SECOND, minute: MINUTE, hour: HOUR, day: DAY }

/** Another value for each rule, in the same unit. Each rule has a figure that no other rule and no other text contains. */
const CHANGED_RULES = Object.entries(RULES).map(([name, value], index) => {
  const figure = 641 + 2 * index
  // The texts state this rule as a day and some hours.
  if (name === 'mailCountedMs') return { name, figure, value: DAY + figure * HOUR }
  const unit = name.endsWith('Ms') ? ([DAY, HOUR, MINUTE, SECOND].find((each) => value % each === 0) ?? 1) : 1
  return { name, figure, value: figure * unit }
})
const currentTexts = renderWithRules({})
const changedTexts = renderWithRules(
  Object.fromEntries(CHANGED_RULES.map(({ name, value }) => [name, value])),
)

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
/** A pattern for what the texts count in the rules that are not durations. */
const COUNTED_THINGS =
  'codes|tries|mails|refresh tokens|digits|public keys|of \\d|(random |printable )?characters|were shown|in all'

/** The wordings that state the current figures. */
const CURRENT_WORDINGS = Object.entries(RULES).flatMap(([name, value]) => {
  if (!name.endsWith('Ms'))
    return [`\\b(${value}|${groupDigits(value)}|${WORDS[value] ?? value}) (${COUNTED_THINGS})`]
  return Object.entries(UNITS)
    .filter(([, ms]) => value % ms === 0)
    .map(([unit, ms]) => {
      const count = value / ms
      return count === 1
        ? `\\b(1|one|an?|their) ${unit}\\b`
        : `\\b(${count}|${WORDS[count] ?? count})( more)? ${unit}s`
    })
})

/** Durations that are not in `RULES`: the windows of limits and caps, and the interval of the sweep. */
const OTHER_DURATIONS =
  /mail(<\/span>)?s a day|codes a day|for a day and|for a day\.|and a minute|at most an hour and a few minutes/gi

test('a served text states the figure of each rule', () => {
  const allTexts = Object.values(changedTexts).join('\n')
  // A text may state a rule in a smaller unit.
  const formatPattern = ({ figure }: { figure: number }) =>
    [figure, figure * 24, figure * 60, figure * 3_600].join('|')
  const unstatedRules = CHANGED_RULES.filter(
    (rule) => !new RegExp(`(?<!\\d)(${formatPattern(rule)})(?!\\d)`).test(allTexts),
  )
  expect(unstatedRules.map(({ name }) => name)).toEqual([])
})

test('no served text states the figure that a rule had before it was changed', () => {
  const currentWording = new RegExp(CURRENT_WORDINGS.join('|'), 'gi')
  const staleWordings = Object.entries(changedTexts).flatMap(([name, text]) =>
    Array.from(
      text.replaceAll(OTHER_DURATIONS, '').matchAll(currentWording),
      ([wording]) => `${name}: ${wording}`,
    ),
  )
  expect(staleWordings).toEqual([])
  // Few matches would mean that the pattern no longer fits the wording of the texts.
  expect(Object.values(currentTexts).join('\n').match(currentWording)?.length).toBeGreaterThan(50)
})
