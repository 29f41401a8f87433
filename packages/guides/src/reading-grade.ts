import { parseBlocks, SOURCE_MARKER } from './guide-body.ts'

/**
 * Computes the Flesch-Kincaid grade of a body (Kincaid et al., 1975):
 * 0.39 × words per sentence + 11.8 × syllables per word − 15.59.
 *
 * Headings, source markers and the addresses of links do not count. A sentence ends at `.`, `!` or `?`, and at the end of
 * a paragraph or list item. A word is a run of letters, digits and apostrophes, so "I-90" is two words.
 */
export function readingGrade(body: string): number {
  const prose = parseBlocks(body).filter(({ kind }) => kind !== 'heading')
  const sentences = prose.flatMap(({ text }) => splitSentences(text)).map(splitWords)
  const words = sentences.filter((sentence) => sentence.length > 0).flat()
  const count = sentences.filter((sentence) => sentence.length > 0).length
  if (count === 0) return 0
  const syllables = words.reduce((sum, word) => sum + countSyllables(word), 0)
  return 0.39 * (words.length / count) + 11.8 * (syllables / words.length) - 15.59
}

const plain = (markdown: string) =>
  markdown
    .replace(SOURCE_MARKER, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`]/g, '')

/** Splits a paragraph or list item into sentences, without markers and addresses. */
export const splitSentences = (text: string): string[] =>
  plain(text)
    .split(/(?<=[.!?]["”)]?)\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')

const splitWords = (sentence: string) => sentence.match(/[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu) ?? []

/**
 * Counts the syllables of a word; at least one. A number has one per digit, an acronym that is spelled out (USCIS) one per
 * letter, and three for W. Other words have one per group of vowels (a e i o u y), without a silent final -ed, -es or -e.
 * Patterns of a shortened list of Lingua::EN::Syllable (Greg Fast) then add or subtract one.
 */
export function countSyllables(word: string): number {
  if (/^\d+$/.test(word)) return word.length
  if (/^[A-Z]{2,}$/.test(word)) return word.length + 2 * (word.split('W').length - 1)
  const letters = word
    .toLowerCase()
    .normalize('NFD')
    .replace(/[^a-z]/g, '')
  const spoken = SILENT_ENDINGS.reduce((rest, ending) => rest.replace(ending, ''), letters)
  const groups = spoken.match(/[aeiouy]+/g)?.length ?? 0
  const fewer = FEWER.filter((pattern) => pattern.test(spoken)).length
  const more = MORE.filter((pattern) => pattern.test(spoken)).length
  return Math.max(1, groups - fewer + more)
}

/** Match asked, rules and like, but not arrested, changes, watches, titles and table. */
const SILENT_ENDINGS = [/(?<=[^aeiouytd])ed$/, /(?<=[^aeiouyscxzgh])(?<![^aeiouy]l)es$/, /(?<![^aeiouy]l)e$/]
const FEWER = [/cial/, /tia/, /cius/, /cious/, /giu/, /ion/, /iou/, /sia$/, /.ely$/]
const MORE = [/ia/, /riet/, /[dlr]ien/, /iu/, /io/, /ii/, /[aeiou]{3}/, /[eo]ing$/, /ism$/, /[^gq]ua[^auieo]/]
