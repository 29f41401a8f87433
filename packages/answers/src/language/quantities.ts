import { DAY_MS } from '@plainpath/domain'
import type { Token } from './tokens.ts'

/**
 * A number in a question, with the position of its words. The kinds are `span` (a length of time, in days), `ago` (days since),
 * `in` (days until), `age` (years), `money` (dollars) and `n` (any number).
 */
export interface Quantity {
  readonly kind: 'n' | 'span' | 'ago' | 'in' | 'age' | 'money'
  readonly value: number
  /** The index of the first token. */
  readonly start: number
  /** The index after the last token. */
  readonly end: number
}

/** The length of each unit of time in days. Months and years have their average length. */
const UNIT_DAYS: ReadonlyMap<string, number> = new Map([
  ['hour', 1 / 24],
  ['hours', 1 / 24],
  ['night', 1],
  ['nights', 1],
  ['day', 1],
  ['days', 1],
  ['week', 7],
  ['weeks', 7],
  ['month', 30.44],
  ['months', 30.44],
  ['year', 365.25],
  ['years', 365.25],
])
const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'
    .split(' ')
    .map((word, value): [string, number] => [word, value])
    .concat([
      ['thirty', 30],
      ['forty', 40],
      ['fifty', 50],
      ['sixty', 60],
      ['seventy', 70],
      ['eighty', 80],
      ['ninety', 90],
      ['couple', 2],
      ['few', 3],
      ['several', 4],
      ['half', 0.5],
      ['dozen', 12],
      ['dos', 2],
      ['tres', 3],
      ['cuatro', 4],
      ['cinco', 5],
      ['seis', 6],
      ['siete', 7],
      ['ocho', 8],
      ['nueve', 9],
      ['diez', 10],
    ]),
)
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const MONTH_NAME =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/
const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')

/**
 * Reads the numbers, times, ages and amounts of money in a question. Returns the quantities that begin at each token.
 *
 * @param now only its UTC day matters
 */
export function readQuantities(tokens: readonly Token[], now: Date): readonly (readonly Quantity[])[] {
  const today = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS)
  const words = tokens.map(({ word }) => word)
  const quantities: Quantity[][] = words.map(() => [])
  const add = (kind: Quantity['kind'], value: number, start: number, end: number) =>
    quantities[start]?.push({ kind, value, start, end })
  for (let index = 0; index < words.length; index += 1) {
    readDate(words, index, today, add)
    const number = readNumber(words, index)
    if (!number) continue
    add('n', number.value, index, number.end)
    if (/^(?:dollars?|usd|bucks)$/.test(words[number.end] ?? ''))
      add('money', number.value, index, number.end + 1)
    // A round number that is large and not a year is probably an amount of money.
    else if (number.value >= 150 && number.value % 10 === 0 && !isYear(number.value, today))
      add('money', number.value, index, number.end)
    addAge(words, index, number, add)
    const span = readSpan(words, index)
    if (span) addTime(words, index, span, add)
  }
  return quantities
}

type AddQuantity = (kind: Quantity['kind'], value: number, start: number, end: number) => void
interface ParsedNumber {
  readonly value: number
  readonly end: number
}

/** Reads the number that begins at a word, in digits or words, such as `4`, `a dozen` or `two hundred`. */
function readNumber(words: readonly string[], index: number): ParsedNumber | undefined {
  const word = words[index] ?? ''
  const isDigits = /^\d+(?:[.,]\d+)*$/.test(word)
  let value = isDigits
    ? Number(word.replaceAll(/,(?=\d{3})/g, '').replaceAll(',', '.'))
    : NUMBER_WORDS.get(word)
  if (word === 'a' || word === 'an') {
    if (NUMBER_WORDS.has(words[index + 1] ?? '')) return readNumber(words, index + 1)
    return UNIT_DAYS.has(words[index + 1] ?? '') ? { value: 1, end: index + 1 } : undefined
  }
  if (value === undefined || Number.isNaN(value)) return undefined
  let end = index + 1
  const ones = NUMBER_WORDS.get(words[end] ?? '')
  if (!isDigits && value >= 20 && value % 10 === 0 && ones !== undefined && ones >= 1 && ones < 10) {
    value += ones
    end += 1
  }
  if (words[end] === 'hundred') {
    value *= 100
    end += 1
  }
  if (words[end] === 'thousand' || words[end] === 'k' || words[end] === 'mil' || words[end] === 'grand') {
    value *= 1000
    end += 1
  }
  if (words[end] === 'and' && words[end + 1] === 'a' && words[end + 2] === 'half') {
    value += 0.5
    end += 3
  } else if (words[end] === 'and' && words[end + 1] === 'half') {
    value += 0.5
    end += 2
  }
  // `a couple of`
  if (words[end] === 'of' && value < 5 && !isDigits) end += 1
  return { value, end }
}

/** Reads the length of time that begins at a word, such as `11 months and 3 weeks` or `a year and a half`, in days. */
function readSpan(words: readonly string[], index: number): ParsedNumber | undefined {
  const number = readNumber(words, index)
  if (!number) return undefined
  let end = number.end
  while (words[end] === 'full' || words[end] === 'whole' || words[end] === 'more' || words[end] === 'long')
    end += 1
  const unit = UNIT_DAYS.get(words[end] ?? '')
  if (unit === undefined) return undefined
  let value = number.value * unit
  end += 1
  const hasConjunction = words[end] === 'and' || words[end] === 'y'
  if (hasConjunction) {
    if (words[end + 1] === 'half') return { value: value + unit / 2, end: end + 2 }
    if (words[end + 1] === 'a' && words[end + 2] === 'half') return { value: value + unit / 2, end: end + 3 }
  }
  const secondStart = hasConjunction ? end + 1 : end
  const second = readNumber(words, secondStart)
  const secondUnit = second && UNIT_DAYS.get(words[second.end] ?? '')
  if (second && secondUnit !== undefined && secondUnit < unit) {
    value += second.value * secondUnit
    end = second.end + 1
  }
  return { value, end }
}

/** Adds a length of time, and also a point in time or an age if the words around it suggest one. */
function addTime(words: readonly string[], index: number, span: ParsedNumber, add: AddQuantity): void {
  const { value, end } = span
  add('span', value, index, end)
  const [wordBefore = '', wordAfter = ''] = [words[index - 1], words[end]]
  if (/^(?:ago|back|before|earlier)$/.test(wordAfter)) add('ago', value, index, end + 1)
  else if (wordBefore === 'since') add('ago', value, index - 1, end)
  else if (/^(?:left|remaining)$/.test(wordAfter)) add('in', value, index, end + 1)
  else if (wordBefore === 'in') add('in', value, index - 1, end)
  if (/^(?:old|age)$/.test(wordAfter)) add('age', value / 365.25, index, end + 1)
  // After these words, only a whole number of years is an age.
  else if (/^(?:has|have|is|am|turn|turns|turned|turning)$/.test(wordBefore) && Math.abs(value % 365.25) < 1)
    add('age', Math.round(value / 365.25), index - 1, end)
}

/** Matches words for a person. A number after one of them is probably an age. */
const PERSON_WORD =
  /^(?:son|daughter|child|kid|brother|sister|nephew|niece|cousin|girl|boy|he|she|i|oldest|youngest|who)$/

/** Adds an age if the words around a number suggest one. */
function addAge(words: readonly string[], index: number, number: ParsedNumber, add: AddQuantity): void {
  const { value, end } = number
  // The number is too great for an age.
  if (value > 110) return
  const [wordBefore = '', wordAfter = ''] = [words[index - 1], words[end]]
  if (UNIT_DAYS.has(wordAfter)) return
  if (wordAfter === 'yo' || (wordAfter === 'y' && words[end + 1] === 'o'))
    add('age', value, index, end + (wordAfter === 'yo' ? 1 : 2))
  else if (
    /^(?:turn|turns|turned|turning|age|aged|am|is|be|was|becomes|became|reach|reaches|almost|nearly|only|just)$/.test(
      wordBefore,
    )
  )
    add('age', value, index - 1, end)
  else if (PERSON_WORD.test(wordBefore) || (wordBefore === 'has' && PERSON_WORD.test(words[index - 2] ?? '')))
    add('age', value, index, end)
}

/** Returns whether a number is probably a year: from 1940 to 15 years after this year. */
const isYear = (value: number, today: Date) =>
  Number.isInteger(value) && value >= 1940 && value <= today.getUTCFullYear() + 15

/**
 * Reads dates, years, and words such as `yesterday`. A past year, or a month of a year, counts from its last day, and a future
 * year from its first.
 */
function readDate(words: readonly string[], index: number, today: Date, add: AddQuantity): void {
  const [word = '', nextWord = '', thirdWord = ''] = words.slice(index, index + 3)
  const addDate = (date: number, end: number) => {
    const distance = Math.round((date - today.getTime()) / DAY_MS)
    if (distance <= 0) add('ago', -distance, index, end)
    if (distance >= 0) add('in', distance, index, end)
  }
  const currentYear = today.getUTCFullYear()
  const isoParts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(word)
  const slashParts = /^(\d{1,2})\/(\d{1,2})(?:\/(\d{2,4}))?$/.exec(word)
  if (isoParts)
    addDate(Date.UTC(Number(isoParts[1]), Number(isoParts[2]) - 1, Number(isoParts[3])), index + 1)
  else if (slashParts) {
    const [firstNumber, secondNumber] = [Number(slashParts[1]), Number(slashParts[2])]
    // A first number that cannot be a month is the day.
    const [month, day] = firstNumber > 12 ? [secondNumber, firstNumber] : [firstNumber, secondNumber]
    const statedYear = Number(slashParts[3] ?? 0)
    if (statedYear === 0) addDate(findNearestDate(month - 1, day, today), index + 1)
    else addDate(Date.UTC(statedYear < 100 ? 2000 + statedYear : statedYear, month - 1, day), index + 1)
  } else if (word === 'yesterday') add('ago', 1, index, index + 1)
  else if (word === 'today' || word === 'tonight') add('in', 0, index, index + 1)
  else if (word === 'tomorrow') add('in', 1, index, index + 1)
  else if (/^(?:last|past)$/.test(word) && UNIT_DAYS.has(nextWord))
    add('ago', UNIT_DAYS.get(nextWord) ?? 0, index, index + 2)
  // `this week` counts as half a week ahead.
  else if (/^(?:next|this)$/.test(word) && UNIT_DAYS.has(nextWord))
    add('in', (UNIT_DAYS.get(nextWord) ?? 0) * (word === 'next' ? 1 : 0.5), index, index + 2)
  // On average, the last day of that name was four days ago.
  else if (/^(?:last|past)$/.test(word) && WEEKDAYS.includes(nextWord)) add('ago', 4, index, index + 2)
  else if (WEEKDAYS.includes(word)) {
    const daysAhead = (WEEKDAYS.indexOf(word) - today.getUTCDay() + 7) % 7
    add('in', daysAhead, index, index + 1)
  } else if (/^(?:19|20)\d\d$/.test(word) && isYear(Number(word), today)) {
    if (Number(word) <= currentYear)
      add('ago', Math.max(0, (today.getTime() - Date.UTC(Number(word), 11, 31)) / DAY_MS), index, index + 1)
    else add('in', (Date.UTC(Number(word), 0, 1) - today.getTime()) / DAY_MS, index, index + 1)
  } else if (MONTH_NAME.test(word)) {
    const month = MONTHS.indexOf(word.slice(0, 3))
    const hasDayBefore = /^\d{1,2}$/.test(words[index - 1] ?? '')
    if (/^(?:19|20)\d\d$/.test(nextWord)) {
      // The day before the month has been read with its year: `12 March 2019`.
      if (!hasDayBefore) addDate(Date.UTC(Number(nextWord), month + 1, 0), index + 2)
    } else if (/^\d{1,2}$/.test(nextWord) && /^(?:19|20)\d\d$/.test(thirdWord))
      addDate(Date.UTC(Number(thirdWord), month, Number(nextWord)), index + 3)
    else if (/^\d{1,2}$/.test(nextWord)) addDate(findNearestDate(month, Number(nextWord), today), index + 2)
  } else if (/^\d{1,2}$/.test(word) && MONTH_NAME.test(nextWord)) {
    const month = MONTHS.indexOf(nextWord.slice(0, 3))
    if (/^(?:19|20)\d\d$/.test(thirdWord))
      addDate(Date.UTC(Number(thirdWord), month, Number(word)), index + 3)
    // These words have other meanings, too.
    else if (!/^(?:may|mar)$/.test(nextWord)) addDate(findNearestDate(month, Number(word), today), index + 2)
  }
}

/**
 * Returns the date with this month and day that is nearest to today, in milliseconds since 1970.
 *
 * @param month counts from 0
 */
function findNearestDate(month: number, day: number, today: Date): number {
  const dates = [-1, 0, 1].map((offset) => Date.UTC(today.getUTCFullYear() + offset, month, day))
  return dates.toSorted((a, b) => Math.abs(a - today.getTime()) - Math.abs(b - today.getTime()))[0] ?? 0
}
