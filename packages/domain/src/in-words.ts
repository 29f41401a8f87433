const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

const UNITS = { second: SECOND_MS, minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
type Unit = keyof typeof UNITS

const NUMBER_WORDS = [
  'no',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
]

/** Writes a number for use in prose: from `no` (0) to `twelve` as a word, and others in digits (`13`). */
export const numberInWords = (count: number): string => NUMBER_WORDS[count] ?? String(count)

/**
 * Writes a duration as `24 hours`, `a day` or `an hour`.
 *
 * @throws {Error} if the duration is not a whole number of units, because the text would then be wrong
 */
export function durationIn(unit: Unit, ms: number): string {
  const count = countWholeUnits(unit, ms)
  if (count !== 1) return `${count} ${unit}s`
  return unit === 'hour' ? 'an hour' : `a ${unit}`
}

/** Writes a duration with the number in words, such as `two days` or `one hour`. Throws like `durationIn`. */
export function durationInWords(unit: Unit, ms: number): string {
  const count = countWholeUnits(unit, ms)
  return `${numberInWords(count)} ${unit}${count === 1 ? '' : 's'}`
}

function countWholeUnits(unit: Unit, ms: number): number {
  const count = ms / UNITS[unit]
  if (!Number.isInteger(count)) throw new Error(`${ms} ms is no whole number of ${unit}s`)
  return count
}

/** Formats a number with its noun, such as `1 entry` or `2 entries`. */
export const formatCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`

/** Capitalises text for the start of a sentence. */
export const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
