import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseBlocks } from '../src/guide-body.ts'
import type { PackagedGuide } from '../src/packaged-guide.ts'
import { splitSentences } from '../src/reading-grade.ts'
import { findSourceIds } from '../src/statements.ts'

/** The words of a source that support a sentence of a guide. */
const Evidence = z.strictObject({
  /** The guide's slug. */
  guide: z.string(),
  /** One sentence of the guide, or several consecutive ones, without source markers. */
  sentence: z.string().min(1),
  /** The id of the source in the guide. */
  source: z.string(),
  /** The words of the source, at most 25. */
  quote: z.string().min(1),
  /** Identifies the copy of the source that was read. */
  copy: z.string().min(1),
  /** The date of that copy. */
  date: z.iso.date(),
})
export type Evidence = z.infer<typeof Evidence>

/** A number or form name that a sentence has but its quotes lack, and why the sentence is right nevertheless. */
const Exception = z.strictObject({
  guide: z.string(),
  sentence: z.string(),
  /** The form name, or the number in digits. */
  missing: z.string(),
  reason: z.string().min(10),
})
export type Exception = z.infer<typeof Exception>

const EVIDENCE_FOLDER = new URL('../evidence/', import.meta.url)

/**
 * Loads all evidence and exceptions, in file order.
 *
 * @throws {ZodError} for a malformed line
 */
export function loadEvidence(folder = EVIDENCE_FOLDER): { evidence: Evidence[]; exceptions: Exception[] } {
  const readLines = (isIncluded: (name: string) => boolean) =>
    (existsSync(folder) ? readdirSync(folder) : [])
      .filter((name) => name.endsWith('.jsonl') && isIncluded(name))
      .toSorted()
      .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n'))
      .filter((line) => line.trim() !== '')
      .map((line): unknown => JSON.parse(line))
  return {
    evidence: z.array(Evidence).parse(readLines((name) => name !== 'exceptions.jsonl')),
    exceptions: z.array(Exception).parse(readLines((name) => name === 'exceptions.jsonl')),
  }
}

const MAX_QUOTE_WORDS = 25

/**
 * Checks that the guide contains each sentence and cites the source there, that no quote is too long, that no copy is older than
 * the source's `checked`, and that the quotes of a sentence together contain its numbers and form names. Does not check that the
 * source contains the quotes.
 *
 * @param exceptions excuse missing numbers and form names. An exception that excuses nothing is a mistake
 * @returns the mistakes, one line each
 */
export function checkEvidence(
  guides: readonly PackagedGuide[],
  evidence: readonly Evidence[],
  exceptions: readonly Exception[],
): string[] {
  const unusedExceptions = new Set(exceptions)
  const mistakes = evidence.flatMap((line) => {
    const guide = guides.find(({ slug }) => slug === line.guide)
    if (!guide) return [`there is no guide ${line.guide}`]
    const quotes = evidence
      .filter(({ guide: slug, sentence }) => slug === line.guide && sentence === line.sentence)
      .map(({ quote }) => quote)
    const missingFacts = findMissingFacts(line.sentence, quotes.join(' ')).filter((name) => {
      const exception = exceptions.find(
        (candidate) =>
          candidate.guide === line.guide &&
          candidate.sentence === line.sentence &&
          candidate.missing === name,
      )
      if (exception) unusedExceptions.delete(exception)
      return !exception
    })
    return [...findMistakes(line, guide), ...missingFacts.map((name) => `no quote has "${name}"`)].map(
      (mistake) => `${line.guide}: ${line.sentence}: ${mistake}`,
    )
  })
  const needlessExceptions = [...unusedExceptions].map(
    ({ guide, sentence }) => `${guide}: ${sentence}: no such exception is needed`,
  )
  return [...new Set([...mistakes, ...needlessExceptions])]
}

/** Returns what is wrong with one line of evidence, apart from missing numbers and form names. */
function findMistakes({ sentence, source: id, quote, date }: Evidence, guide: PackagedGuide): string[] {
  const blocks = parseBlocks(guide.body).filter(({ text }) => containsSentences(text, sentence))
  const source = guide.sources.find((candidate) => candidate.id === id)
  const wordCount = quote.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
  if (blocks.length === 0) return ['the guide does not say this']
  if (!source || !blocks.some(({ text }) => findSourceIds(text).includes(id)))
    return [`it does not cite ${id}`]
  return [
    ...(wordCount > MAX_QUOTE_WORDS ? [`the quote has ${wordCount} words, at most ${MAX_QUOTE_WORDS}`] : []),
    ...(date < source.checked
      ? [`${id} counts from ${source.checked}, and this was read as of ${date}`]
      : []),
  ]
}

/** Returns whether a block contains a sentence, or several sentences in the same order, without gaps. */
function containsSentences(block: string, sentence: string): boolean {
  const sentences = splitSentences(block)
  const soughtSentences = splitSentences(sentence)
  return sentences.some((_, index) =>
    soughtSentences.every((sought, offset) => sentences[index + offset] === sought),
  )
}

const FORM_NAME = /\b(?:AR|DS|EOIR|G|I|N)-\d{2,4}[A-Z]*\b/g
/** Matches visa classes and sections of the law, whose digits do not count as numbers. */
const OTHER_NAMES = /\b[A-Z]{1,2}-\d[A-Z]?\b|\b\d+\([a-z]\)/g
const NUMBER = /\d+(?:[.,]\d+)*/g
/** Units of time, as a part of a regular expression. */
const UNITS = '(?:second|minute|hour|day|week|month|year)s?'

const SMALL_NUMBERS = [
  'zero',
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
  'thirteen',
  'fourteen',
  'fifteen',
  'sixteen',
  'seventeen',
  'eighteen',
  'nineteen',
]
const TENS = ['twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']
const VALUES_BY_NAME = new Map([
  ...SMALL_NUMBERS.map((word, value) => [word, value] as const),
  ...TENS.map((word, index) => [word, (index + 2) * 10] as const),
  ...TENS.flatMap((ten, index) =>
    SMALL_NUMBERS.slice(1, 10).map(
      (word, value) => [`${ten}-${word}`, (index + 2) * 10 + value + 1] as const,
    ),
  ),
])
/** Longer names come first, so that `twenty-one` is not read as `twenty`. */
const NUMBER_NAMES = [...VALUES_BY_NAME.keys()].toSorted((a, b) => b.length - a.length).join('|')

/** Returns the form names and numbers that a sentence has but a quote lacks, in any notation. */
function findMissingFacts(sentence: string, quote: string): string[] {
  const [statedFacts, quotedFacts] = [extractFacts(sentence), extractFacts(quote, { isQuote: true })]
  return [...statedFacts].filter((fact) => !quotedFacts.has(fact))
}

/**
 * Extracts form names and numbers. In a sentence of a guide, digits of visa classes and sections do not count, and "one" counts
 * only before a unit of time. In a quote, everything counts.
 */
function extractFacts(text: string, { isQuote = false } = {}): ReadonlySet<string> {
  const forms = text.match(FORM_NAME) ?? []
  const textWithoutForms = text.replace(FORM_NAME, '')
  const textWithNumbers = isQuote ? textWithoutForms : textWithoutForms.replace(OTHER_NAMES, '')
  const digits = (textWithNumbers.match(NUMBER) ?? []).map((number) => number.replaceAll(',', ''))
  const namedNumbers = [
    ...textWithNumbers.toLowerCase().matchAll(new RegExp(`\\b(${NUMBER_NAMES})\\b(?=[ -]?(${UNITS})?)`, 'g')),
  ]
    .filter(([, name, unit]) => isQuote || name !== 'one' || unit !== undefined)
    .map(([, name]) => String(VALUES_BY_NAME.get(name ?? '')))
  return new Set([...forms, ...digits, ...namedNumbers])
}
