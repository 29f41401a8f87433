import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseBlocks } from '../src/guide-body.ts'
import type { PackagedGuide } from '../src/packaged-guide.ts'
import { splitSentences } from '../src/reading-grade.ts'
import { findSourceIds } from '../src/statements.ts'

/** What a sentence of a guide rests on, word for word. */
const Evidence = z.strictObject({
  guide: z.string(),
  sentence: z.string().min(1),
  source: z.string(),
  quote: z.string().min(1),
  /** Which copy of the source was read. */
  copy: z.string().min(1),
  /** The day of that copy. */
  date: z.iso.date(),
})
export type Evidence = z.infer<typeof Evidence>

/** A number or form name that a sentence has and its quotes have not, and why that is right. */
const Exception = z.strictObject({
  guide: z.string(),
  sentence: z.string(),
  missing: z.string(),
  reason: z.string().min(10),
})
export type Exception = z.infer<typeof Exception>

const FOLDER = new URL('../evidence/', import.meta.url)

/** Every line of evidence, by file. @throws ZodError for a line of another form */
export function loadEvidence(folder = FOLDER): { evidence: Evidence[]; exceptions: Exception[] } {
  const lines = (wanted: (name: string) => boolean) =>
    (existsSync(folder) ? readdirSync(folder) : [])
      .filter((name) => name.endsWith('.jsonl') && wanted(name))
      .toSorted()
      .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n'))
      .filter((line) => line.trim() !== '')
      .map((line): unknown => JSON.parse(line))
  return {
    evidence: z.array(Evidence).parse(lines((name) => name !== 'exceptions.jsonl')),
    exceptions: z.array(Exception).parse(lines((name) => name === 'exceptions.jsonl')),
  }
}

const MOST_WORDS = 25

/** What is wrong with evidence, one line each. */
export function checkEvidence(
  guides: readonly PackagedGuide[],
  evidence: readonly Evidence[],
  exceptions: readonly Exception[],
): string[] {
  const unused = new Set(exceptions)
  const found = evidence.flatMap((line) => {
    const guide = guides.find(({ slug }) => slug === line.guide)
    if (!guide) return [`there is no guide ${line.guide}`]
    const quotes = evidence
      .filter(({ guide: slug, sentence }) => slug === line.guide && sentence === line.sentence)
      .map(({ quote }) => quote)
    const missing = missingIn(line.sentence, quotes.join(' ')).filter((name) => {
      const exception = exceptions.find(
        (each) => each.guide === line.guide && each.sentence === line.sentence && each.missing === name,
      )
      if (exception) unused.delete(exception)
      return !exception
    })
    return [...mistakesIn(line, guide), ...missing.map((name) => `no quote has "${name}"`)].map(
      (mistake) => `${line.guide}: ${line.sentence}: ${mistake}`,
    )
  })
  const idle = [...unused].map(({ guide, sentence }) => `${guide}: ${sentence}: no such exception is needed`)
  return [...new Set([...found, ...idle])]
}

function mistakesIn({ sentence, source: id, quote, date }: Evidence, guide: PackagedGuide): string[] {
  const blocks = parseBlocks(guide.body).filter(({ text }) => states(text, sentence))
  const source = guide.sources.find((each) => each.id === id)
  const words = quote.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
  if (blocks.length === 0) return ['the guide does not say this']
  if (!source || !blocks.some(({ text }) => findSourceIds(text).includes(id)))
    return [`it does not cite ${id}`]
  return [
    ...(words > MOST_WORDS ? [`the quote has ${words} words, at most ${MOST_WORDS}`] : []),
    ...(date < source.checked
      ? [`${id} counts from ${source.checked}, and this was read as of ${date}`]
      : []),
  ]
}

/** True for a whole sentence of the block, or several that follow each other. */
function states(block: string, sentence: string): boolean {
  const sentences = splitSentences(block)
  const wanted = splitSentences(sentence)
  return sentences.some((_, at) => wanted.every((each, offset) => sentences[at + offset] === each))
}

const FORM_NAME = /\b(?:AR|DS|EOIR|G|I|N)-\d{2,4}[A-Z]*\b/g
/** Classes of visas, and sections of the law: names, not counts. */
const OTHER_NAMES = /\b[A-Z]{1,2}-\d[A-Z]?\b|\b\d+\([a-z]\)/g
const NUMBER = /\d+(?:[.,]\d+)*/g
const UNITS = '(?:second|minute|hour|day|week|month|year)s?'

const WORDS = [
  ...['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'],
  ...['eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen'],
]
const TENS = ['twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']
const NAMED = new Map([
  ...WORDS.map((word, value) => [word, value] as const),
  ...TENS.map((word, at) => [word, (at + 2) * 10] as const),
  ...TENS.flatMap((ten, at) =>
    WORDS.slice(1, 10).map((word, value) => [`${ten}-${word}`, (at + 2) * 10 + value + 1] as const),
  ),
])
const NAMES = [...NAMED.keys()].toSorted((a, b) => b.length - a.length).join('|')

/** The form names and numbers of a sentence that a quote has not, however they are written. "One" counts before a unit of time. */
function missingIn(sentence: string, quote: string): string[] {
  const [said, quoted] = [factsIn(sentence), factsIn(quote, { everyOne: true })]
  return [...said].filter((fact) => !quoted.has(fact))
}

function factsIn(text: string, { everyOne = false } = {}): ReadonlySet<string> {
  const forms = text.match(FORM_NAME) ?? []
  const rest = text.replace(FORM_NAME, '').replace(everyOne ? /^$/ : OTHER_NAMES, '')
  const digits = (rest.match(NUMBER) ?? []).map((number) => number.replaceAll(',', ''))
  const named = [...rest.toLowerCase().matchAll(new RegExp(`\\b(${NAMES})\\b(?=[ -]?(${UNITS})?)`, 'g'))]
    .filter(([, name, unit]) => everyOne || name !== 'one' || unit !== undefined)
    .map(([, name]) => String(NAMED.get(name ?? '')))
  return new Set([...forms, ...digits, ...named])
}
