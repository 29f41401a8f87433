import type { Token } from './tokens.ts'

/**
 * A number that a question states, with the words that state it.
 * `span`: a length of time in days. `ago`: days since. `in`: days until. `age`: years. `money`: dollars. `n`: any number.
 */
export interface Quantity {
  readonly kind: 'n' | 'span' | 'ago' | 'in' | 'age' | 'money'
  readonly value: number
  /** Tokens from `start` up to, without, `end`. */
  readonly start: number
  readonly end: number
}

const DAY_MS = 86_400_000
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
const MONTH_NAMES =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/
const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')

/** Reads the numbers, times, ages and sums of money in a question. Returns them by the token at which they begin. */
export function readQuantities(tokens: readonly Token[], today: Date): readonly (readonly Quantity[])[] {
  const words = tokens.map(({ word }) => word)
  const quantities: Quantity[][] = words.map(() => [])
  const add = (kind: Quantity['kind'], value: number, start: number, end: number) =>
    quantities[start]?.push({ kind, value, start, end })
  for (let at = 0; at < words.length; at += 1) {
    readDay(words, at, today, add)
    const number = readNumber(words, at)
    if (!number) continue
    add('n', number.value, at, number.end)
    if (/^(?:dollars?|usd|bucks)$/.test(words[number.end] ?? ''))
      add('money', number.value, at, number.end + 1)
    else if (number.value >= 150 && number.value % 10 === 0 && !isYear(number.value, today))
      add('money', number.value, at, number.end)
    readAge(words, at, number, add)
    const span = readSpan(words, at)
    if (span) readTime(words, at, span, add)
  }
  return quantities
}

type Add = (kind: Quantity['kind'], value: number, start: number, end: number) => void
interface ReadNumber {
  readonly value: number
  readonly end: number
}

function readNumber(words: readonly string[], at: number): ReadNumber | undefined {
  const word = words[at] ?? ''
  const digits = /^\d+(?:[.,]\d+)*$/.test(word)
  let value = digits
    ? Number(word.replaceAll(/,(?=\d{3})/g, '').replaceAll(',', '.'))
    : NUMBER_WORDS.get(word)
  if (word === 'a' || word === 'an') {
    if (NUMBER_WORDS.has(words[at + 1] ?? '')) {
      const next = readNumber(words, at + 1)
      return next
    }
    return UNIT_DAYS.has(words[at + 1] ?? '') ? { value: 1, end: at + 1 } : undefined
  }
  if (value === undefined || Number.isNaN(value)) return undefined
  let end = at + 1
  const ones = NUMBER_WORDS.get(words[end] ?? '')
  if (!digits && value >= 20 && value % 10 === 0 && ones !== undefined && ones >= 1 && ones < 10) {
    value += ones
    end += 1
  }
  if (words[end] === 'hundred') [value, end] = [value * 100, end + 1]
  if (words[end] === 'thousand' || words[end] === 'k' || words[end] === 'mil' || words[end] === 'grand')
    [value, end] = [value * 1000, end + 1]
  if (words[end] === 'and' && words[end + 1] === 'a' && words[end + 2] === 'half')
    [value, end] = [value + 0.5, end + 3]
  else if (words[end] === 'and' && words[end + 1] === 'half') [value, end] = [value + 0.5, end + 2]
  if (words[end] === 'of' && value < 5 && !digits) end += 1
  return { value, end }
}

/** `11 months and 3 weeks`, `a year and a half`. */
function readSpan(words: readonly string[], at: number): ReadNumber | undefined {
  const number = readNumber(words, at)
  if (!number) return undefined
  let end = number.end
  while (words[end] === 'full' || words[end] === 'whole' || words[end] === 'more' || words[end] === 'long')
    end += 1
  const unit = UNIT_DAYS.get(words[end] ?? '')
  if (unit === undefined) return undefined
  let value = number.value * unit
  end += 1
  if (words[end] === 'and' || words[end] === 'y') {
    const half = words[end + 1] === 'half' ? 2 : words[end + 1] === 'a' && words[end + 2] === 'half' ? 3 : 0
    if (half > 0) return { value: value + unit / 2, end: end + half }
  }
  const joined = words[end] === 'and' || words[end] === 'y' ? end + 1 : end
  const more = readNumber(words, joined)
  const moreUnit = more && UNIT_DAYS.get(words[more.end] ?? '')
  if (more && moreUnit !== undefined && moreUnit < unit)
    [value, end] = [value + more.value * moreUnit, more.end + 1]
  return { value, end }
}

function readTime(words: readonly string[], at: number, span: ReadNumber, add: Add): void {
  const { value, end } = span
  add('span', value, at, end)
  const [before = '', after = ''] = [words[at - 1], words[end]]
  if (/^(?:ago|back|before|earlier)$/.test(after)) add('ago', value, at, end + 1)
  else if (before === 'since') add('ago', value, at - 1, end)
  else if (/^(?:left|remaining)$/.test(after)) add('in', value, at, end + 1)
  else if (before === 'in') add('in', value, at - 1, end)
  if (/^(?:old|age|of)$/.test(after) && words[end] !== 'of') add('age', value / 365.25, at, end + 1)
  else if (/^(?:has|have|is|am|turn|turns|turned|turning)$/.test(before) && Math.abs(value % 365.25) < 1)
    add('age', Math.round(value / 365.25), at - 1, end)
}

const KIN_WORD =
  /^(?:son|daughter|child|kid|brother|sister|nephew|niece|cousin|girl|boy|he|she|i|oldest|youngest|who)$/
function readAge(words: readonly string[], at: number, number: ReadNumber, add: Add): void {
  const { value, end } = number
  if (value > 110) return
  const [before = '', after = ''] = [words[at - 1], words[end]]
  if (UNIT_DAYS.has(after)) return
  if (after === 'yo' || (after === 'y' && words[end + 1] === 'o'))
    add('age', value, at, end + (after === 'yo' ? 1 : 2))
  else if (
    /^(?:turn|turns|turned|turning|age|aged|am|is|be|was|becomes|became|reach|reaches|almost|nearly|only|just)$/.test(
      before,
    )
  )
    add('age', value, at - 1, end)
  else if (KIN_WORD.test(before) || (before === 'has' && KIN_WORD.test(words[at - 2] ?? '')))
    add('age', value, at, end)
}

const isYear = (value: number, today: Date) =>
  Number.isInteger(value) && value >= 1940 && value <= today.getUTCFullYear() + 15

/** Reads dates, years, and words such as `yesterday`. A year or month without a day counts from its last day. */
function readDay(words: readonly string[], at: number, today: Date, add: Add): void {
  const [word = '', next = '', third = ''] = words.slice(at, at + 3)
  const days = (date: number, end: number) => {
    const distance = Math.round((date - today.getTime()) / DAY_MS)
    if (distance <= 0) add('ago', -distance, at, end)
    if (distance >= 0) add('in', distance, at, end)
  }
  const year = today.getUTCFullYear()
  const iso = /^(\d{4})-(\d\d)-(\d\d)$/.exec(word)
  const slashed = /^(\d{1,2})\/(\d{1,2})(?:\/(\d{2,4}))?$/.exec(word)
  if (iso) days(Date.UTC(Number(iso[1]), Number(iso[2]) - 1, Number(iso[3])), at + 1)
  else if (slashed) {
    const [first, second] = [Number(slashed[1]), Number(slashed[2])]
    const [month, day] = first > 12 ? [second, first] : [first, second]
    const inYear = Number(slashed[3] ?? 0)
    if (inYear === 0) days(nearest(month - 1, day, today), at + 1)
    else days(Date.UTC(inYear < 100 ? 2000 + inYear : inYear, month - 1, day), at + 1)
  } else if (word === 'yesterday') add('ago', 1, at, at + 1)
  else if (word === 'today' || word === 'tonight') add('in', 0, at, at + 1)
  else if (word === 'tomorrow') add('in', 1, at, at + 1)
  else if (/^(?:last|past)$/.test(word) && UNIT_DAYS.has(next))
    add('ago', UNIT_DAYS.get(next) ?? 0, at, at + 2)
  else if (/^(?:next|this)$/.test(word) && UNIT_DAYS.has(next))
    add('in', (UNIT_DAYS.get(next) ?? 0) * (word === 'next' ? 1 : 0.5), at, at + 2)
  else if (/^(?:last|past)$/.test(word) && WEEKDAYS.includes(next)) add('ago', 4, at, at + 2)
  else if (WEEKDAYS.includes(word)) {
    const ahead = (WEEKDAYS.indexOf(word) - today.getUTCDay() + 7) % 7
    add('in', ahead, at, at + 1)
  } else if (/^(?:19|20)\d\d$/.test(word) && isYear(Number(word), today)) {
    if (Number(word) <= year)
      add('ago', Math.max(0, (today.getTime() - Date.UTC(Number(word), 11, 31)) / DAY_MS), at, at + 1)
    else add('in', (Date.UTC(Number(word), 0, 1) - today.getTime()) / DAY_MS, at, at + 1)
  } else if (MONTH_NAMES.test(word)) {
    const month = MONTHS.indexOf(word.slice(0, 3))
    if (/^(?:19|20)\d\d$/.test(next)) days(Date.UTC(Number(next), month + 1, 0), at + 2)
    else if (/^\d{1,2}$/.test(next) && /^(?:19|20)\d\d$/.test(third))
      days(Date.UTC(Number(third), month, Number(next)), at + 3)
    else if (/^\d{1,2}$/.test(next)) days(nearest(month, Number(next), today), at + 2)
  } else if (/^\d{1,2}$/.test(word) && MONTH_NAMES.test(next) && !/^(?:may|mar)$/.test(next)) {
    days(nearest(MONTHS.indexOf(next.slice(0, 3)), Number(word), today), at + 2)
  }
}

/** Returns the date with this month and day that is nearest to today. */
function nearest(month: number, day: number, today: Date): number {
  const years = [-1, 0, 1].map((offset) => Date.UTC(today.getUTCFullYear() + offset, month, day))
  return years.toSorted((a, b) => Math.abs(a - today.getTime()) - Math.abs(b - today.getTime()))[0] ?? 0
}
