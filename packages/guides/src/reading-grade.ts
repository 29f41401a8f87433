import { bodyBlocks, SOURCE_MARKER } from './guide-body.ts'

/**
 * The Flesch-Kincaid grade of a body (Kincaid and others, 1975):
 * 0.39 × words per sentence + 11.8 × syllables per word − 15.59.
 *
 * Headings, source markers and the addresses of links are left out. A sentence ends at `.`, `!` or `?`, and at the end
 * of a paragraph or list item. A word is a run of letters, digits and apostrophes, so "I-90" is two words.
 */
export function readingGrade(body: string): number {
  const prose = bodyBlocks(body).filter(({ kind }) => kind !== 'heading')
  const sentences = prose.flatMap(({ text }) => sentencesOf(text)).map(wordsOf)
  const words = sentences.filter((sentence) => sentence.length > 0).flat()
  const count = sentences.filter((sentence) => sentence.length > 0).length
  if (count === 0) return 0
  const syllables = words.reduce((sum, word) => sum + syllablesOf(word), 0)
  return 0.39 * (words.length / count) + 11.8 * (syllables / words.length) - 15.59
}

const plain = (markdown: string) =>
  markdown
    .replace(SOURCE_MARKER, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`]/g, '')

/** The sentences of one paragraph or list item, without its markers and addresses. */
export const sentencesOf = (text: string): string[] =>
  plain(text)
    .split(/(?<=[.!?]["”)]?)\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')

const wordsOf = (sentence: string) => sentence.match(/[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu) ?? []

/**
 * Syllables of one word. Numbers count one a digit; capitals that are spelled out (USCIS) one a letter, W three.
 * Other words: groups of vowels (a e i o u y) without a silent final -ed, -es or -e, then corrected by a short form
 * of the lists of Lingua::EN::Syllable (Greg Fast): patterns with a vowel fewer or more than the groups show. At least one.
 */
export function syllablesOf(word: string): number {
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

/** asked, rules, like; but not arrested, changes, watches, titles, table. */
const SILENT_ENDINGS = [/(?<=[^aeiouytd])ed$/, /(?<=[^aeiouyscxzgh])(?<![^aeiouy]l)es$/, /(?<![^aeiouy]l)e$/]
const FEWER = [/cial/, /tia/, /cius/, /cious/, /giu/, /ion/, /iou/, /sia$/, /.ely$/]
const MORE = [/ia/, /riet/, /[dlr]ien/, /iu/, /io/, /ii/, /[aeiou]{3}/, /[eo]ing$/, /ism$/, /[^gq]ua[^auieo]/]
