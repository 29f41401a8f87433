import { parseBlocks, SOURCE_MARKER } from './guide-body.ts'

/**
 * Computes the Flesch-Kincaid grade of a body (Kincaid et al., 1975):
 * 0.39 × words per sentence + 11.8 × syllables per word − 15.59.
 *
 * Headings, source markers and link addresses do not count. A sentence ends at `.`, `!` or `?`, and at the end of a paragraph
 * or list item. A word is a run of letters, digits and apostrophes, so "I-90" is two words.
 */
export function computeReadingGrade(body: string): number {
  const textBlocks = parseBlocks(body).filter(({ kind }) => kind !== 'heading')
  const sentences = textBlocks
    .flatMap(({ text }) => splitSentences(text))
    .map(splitWords)
    .filter((sentenceWords) => sentenceWords.length > 0)
  if (sentences.length === 0) return 0
  const words = sentences.flat()
  const syllableCount = words.reduce((sum, word) => sum + countSyllables(word), 0)
  return 0.39 * (words.length / sentences.length) + 11.8 * (syllableCount / words.length) - 15.59
}

const toPlainText = (markdown: string) =>
  markdown
    .replace(SOURCE_MARKER, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`]/g, '')

/** Splits a paragraph or list item into sentences, without markers and link addresses. */
export const splitSentences = (text: string): string[] =>
  toPlainText(text)
    .split(/(?<=[.!?]["”)]?)\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')

const splitWords = (sentence: string) => sentence.match(/[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu) ?? []

/**
 * Counts the syllables of a word; at least one. Numbers have one per digit. Acronyms such as USCIS have one per letter, and three
 * for W. Other words have one per group of vowels (a e i o u y), without a silent final -ed, -es or -e. Patterns from
 * Lingua::EN::Syllable (Greg Fast) then add or subtract one each.
 */
export function countSyllables(word: string): number {
  if (/^\d+$/.test(word)) return word.length
  if (/^[A-Z]{2,}$/.test(word)) return word.length + 2 * (word.split('W').length - 1)
  const letters = word
    .toLowerCase()
    .normalize('NFD')
    .replace(/[^a-z]/g, '')
  const pronounced = SILENT_ENDINGS.reduce((rest, ending) => rest.replace(ending, ''), letters)
  const vowelGroups = pronounced.match(/[aeiouy]+/g)?.length ?? 0
  const subtracted = SUBTRACTING_PATTERNS.filter((pattern) => pattern.test(pronounced)).length
  const added = ADDING_PATTERNS.filter((pattern) => pattern.test(pronounced)).length
  return Math.max(1, vowelGroups - subtracted + added)
}

/** Matches the silent endings of asked, rules and like, but no ending of arrested, changes, watches, titles and table. */
const SILENT_ENDINGS = [/(?<=[^aeiouytd])ed$/, /(?<=[^aeiouyscxzgh])(?<![^aeiouy]l)es$/, /(?<![^aeiouy]l)e$/]
const SUBTRACTING_PATTERNS = [/cial/, /tia/, /cius/, /cious/, /giu/, /ion/, /iou/, /sia$/, /.ely$/]
const ADDING_PATTERNS = [
  /ia/,
  /riet/,
  /[dlr]ien/,
  /iu/,
  /io/,
  /ii/,
  /[aeiou]{3}/,
  /[eo]ing$/,
  /ism$/,
  /[^gq]ua[^auieo]/,
]
