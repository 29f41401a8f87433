import { SYNONYMS } from './search-synonyms.ts'

/** Words that are too frequent to identify a subject, as `splitWords` returns them. */
const STOP_WORDS = new Set(
  `a about after all also am an and any anybody are as at be because been before being but by can cant could did do does
  doesnt doing dont else for from get got had has have having he her here him his how i id if ill im in into is isnt it
  its ive just let like lot may me might more most must my need not now of off on once one only or other our out please
  put really say says she should so some somebody someone something still such take tell than that thats the their them
  then there they thing this those thru till to too up us use very want wants was we were what whats when where which
  while who whom whose why will with without would yes you your`.split(/\s+/),
)

const FORM_NUMBER = /\b([a-z]{1,4})-(\d{1,4}[a-z]?)\b/g

/** Splits a text into lower-case words without accents or apostrophes. Joins the parts of a form number: `I-90` becomes `i90`. */
export function splitWords(text: string): string[] {
  const normalized = text
    // Before the normalization, because it decomposes an acute accent to a space and a mark.
    .replace(/['’‘´`′ʼ]/g, '')
    // An abbreviation of three or more letters with full stops, such as `R.F.E.`
    .replace(/(?<![\p{L}\p{N}.])\p{L}(?:\.\p{L}){2,}(?![\p{L}\p{N}])/gu, (letters) =>
      letters.replaceAll('.', ''),
    )
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(FORM_NUMBER, '$1$2')
    // People also write a space: `I 864`.
    .replace(/\b(i|n) (\d{3}[a-z]?)\b/g, '$1$2')
  return normalized.match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Returns the stems of all words except stop words, and a marker such as `=12` for each synonym group that the words mention. */
export function toSearchTerms(words: readonly string[]): string[] {
  const stems = words.map(stemWord)
  const meaningfulStems = stems.filter((_, index) => !STOP_WORDS.has(words[index] ?? ''))
  return [...meaningfulStems, ...findGroupMarkers(stems)]
}

/** Returns the search terms for the words of a question, and the stems of the main name of each synonym group in it. */
export function toQuestionTerms(words: readonly string[]): string[] {
  const terms = toSearchTerms(words)
  const mainNameTerms = terms.flatMap((term) => MAIN_NAMES.get(term) ?? [])
  return [...new Set([...terms, ...mainNameTerms])]
}

/** Endings to replace, each in the result of the one before. The lookbehinds keep a minimum of letters before the ending. */
const ENDINGS: readonly [ending: RegExp, replacement: string][] = [
  [/(?<=.{2})ie[ds]$/, 'y'],
  [/(?<=.{2}(?:[sxz]|[cs]h))es$/, ''],
  [/(?<=.{2}[^su])s$/, ''],
  [/(?<=.{3})(?:ship|ments?)$/, ''],
  [/(?<=.{3})iz(?:e|ed|ing|ation)$/, ''],
  [/(?<=.{4})ations?$/, 'at'],
  [/(?<=.{3})(?:ing|ed|al|er)$/, ''],
  [/(?<=([bdglmnprt]))\1$/, ''],
  [/(?<=.{3})ate?$/, 'at'],
  [/(?<=.{3})e$/, ''],
]

/** Returns a rough stem, which most forms of a word share and few other words have. */
export function stemWord(word: string): string {
  if (/\d/.test(word)) return word
  return ENDINGS.reduce((stem, [ending, replacement]) => stem.replace(ending, replacement), word)
}

interface Phrase {
  readonly stems: readonly string[]
  readonly marker: string
}

/**
 * Adds the numbers of I and N forms with three digits, because people write 864 for I-864. Shorter numbers have too many other
 * meanings.
 */
const addBareNumbers = (names: readonly string[]) =>
  names.flatMap((name) => [name, ...(/^[IN]-(\d{3}[A-Z]?)$/.exec(name)?.slice(1) ?? [])])

const PHRASES_BY_FIRST_STEM = new Map<string, Phrase[]>()
for (const [group, names] of SYNONYMS.entries()) {
  for (const name of addBareNumbers(names)) {
    const stems = splitWords(name).map(stemWord)
    const phrases = PHRASES_BY_FIRST_STEM.get(stems[0] ?? '') ?? []
    PHRASES_BY_FIRST_STEM.set(stems[0] ?? '', [...phrases, { stems, marker: `=${group}` }])
  }
}

/** Finds the synonyms that begin at each position, and returns the markers of their groups. */
function findGroupMarkers(stems: readonly string[]): string[] {
  return stems.flatMap((firstStem, position) => {
    const matches = (PHRASES_BY_FIRST_STEM.get(firstStem) ?? []).filter((phrase) =>
      phrase.stems.every((stem, offset) => stems[position + offset] === stem),
    )
    return [...new Set(matches.map(({ marker }) => marker))]
  })
}

/** The stems of each group's first name, by the group's marker. */
const MAIN_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  SYNONYMS.map(([mainName = ''], group) => [`=${group}`, splitWords(mainName).map(stemWord)] as const),
)

/** The words of all synonyms, for the spelling corrector's vocabulary. */
export const SYNONYM_WORDS: readonly string[] = SYNONYMS.flat().flatMap(splitWords)

/** Corrects words against a vocabulary, and suggests similar ones. */
interface SpellingCorrector {
  /**
   * Returns the most similar known word, or the word itself if none is similar enough. Short words and words with digits do not
   * change, because too many words resemble them.
   */
  correct(word: string): string
  /**
   * Returns similar known words with the same first letter, the most similar first, and `word` itself if it is known. They can
   * differ in more letters than a correction.
   */
  findSimilar(word: string): string[]
}

/** Shorter words are neither corrected nor suggested. */
const MIN_LENGTH = 4
/** A similar word differs in at most this share of the letters. */
const SIMILAR_SHARE = 0.4
/** A correction changes at most two letters of a word with at least this many letters, and one letter of a shorter word. */
const TWO_MISTAKES_MIN_LENGTH = 8

/**
 * Creates a spelling corrector.
 *
 * @param vocabulary each word as often as it occurs. Among equally similar words, the most frequent one wins.
 */
export function createSpellingCorrector(vocabulary: readonly string[]): SpellingCorrector {
  const counts = new Map<string, number>()
  for (const word of vocabulary) counts.set(word, (counts.get(word) ?? 0) + 1)
  const byFirstLetter = Map.groupBy(
    [...counts.keys()].filter((word) => word.length >= MIN_LENGTH),
    ([letter]) => letter,
  )
  return {
    correct(word) {
      if (counts.has(word) || word.length < MIN_LENGTH || /\d/.test(word)) return word
      const maxDistance = word.length >= TWO_MISTAKES_MIN_LENGTH ? 2 : 1
      let bestMatch = { word, distance: maxDistance + 1, count: 0 }
      // To limit the work, only words that begin with the first or second letter of the word are compared.
      const candidates = [...new Set(word.slice(0, 2))].flatMap((letter) => byFirstLetter.get(letter) ?? [])
      for (const candidate of candidates) {
        if (Math.abs(candidate.length - word.length) > maxDistance) continue
        const distance = computeEditDistance(word, candidate)
        const count = counts.get(candidate) ?? 0
        const isBetter =
          distance < bestMatch.distance || (distance === bestMatch.distance && count > bestMatch.count)
        if (distance <= maxDistance && isBetter) bestMatch = { word: candidate, distance, count }
      }
      return bestMatch.word
    },
    findSimilar(word) {
      if (word.length < MIN_LENGTH || /\d/.test(word)) return []
      const maxDistance = Math.floor(word.length * SIMILAR_SHARE)
      return (byFirstLetter.get(word[0] ?? '') ?? [])
        .filter((candidate) => !/\d/.test(candidate) && !STOP_WORDS.has(candidate))
        .filter((candidate) => Math.abs(candidate.length - word.length) <= maxDistance)
        .map((candidate) => ({
          candidate,
          distance: computeEditDistance(word, candidate),
          count: counts.get(candidate) ?? 0,
        }))
        .filter(({ distance }) => distance <= maxDistance)
        .toSorted((one, other) => one.distance - other.distance || other.count - one.count)
        .map(({ candidate }) => candidate)
    },
  }
}

/**
 * Counts the fewest edits that turn one text into the other. An edit adds, removes or changes a letter, or swaps two adjacent
 * letters (optimal string alignment distance).
 */
export function computeEditDistance(a: string, b: string): number {
  let [rowBeforePrevious, previousRow]: [number[], number[]] = [
    [],
    Array.from({ length: b.length + 1 }, (_, index) => index),
  ]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previousRow[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const distance = Math.min(substitution, (previousRow[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(isSwap ? Math.min(distance, (rowBeforePrevious[j - 2] ?? 0) + 1) : distance)
    }
    ;[rowBeforePrevious, previousRow] = [previousRow, row]
  }
  return previousRow[b.length] ?? 0
}
