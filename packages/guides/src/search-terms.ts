import { SYNONYMS } from './search-synonyms.ts'

/** Words that say nothing about what is looked for. */
const STOP_WORDS = new Set(
  `a about after all also am an and any anybody are as at be because been before being but by can cant could did do does
  doesnt doing dont else for from get got had has have having he her here him his how i id if ill im in into is isnt it
  its ive just let like lot may me might more most must my need not now of off on once one only or other our out please
  put really say says she should so some somebody someone something still such take tell than that thats the their them
  then there they thing this those thru till to too up us use very want wants was we were what whats when where which
  while who whom whose why will with without would yes you your`.split(/\s+/),
)

const FORM_NUMBER = /\b([a-z]{1,4})-(\d{1,4}[a-z]?)\b/g

/** Words in lower case, without accents and apostrophes; a form's number is one word: `i90`. */
export function wordsOf(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f'’]/g, '')
    .toLowerCase()
    .replace(FORM_NUMBER, '$1$2')
    .replace(/\b(i|n) (\d{3}[a-z]?)\b/g, '$1$2')
  return plain.match(/[\p{L}\p{N}]+/gu) ?? []
}

/** What words are looked up by: their stems without stop words, and a mark for each group of synonyms they hold. */
export function termsOf(words: readonly string[]): string[] {
  const stems = words.map(stemOf)
  const meaning = stems.filter((_, index) => !STOP_WORDS.has(words[index] ?? ''))
  return [...meaning, ...groupsIn(stems)]
}

/** The same for a question: what it names by another name is looked up by the name that guides use, too. */
export function termsOfQuestion(words: readonly string[]): string[] {
  const terms = termsOf(words)
  const named = terms.flatMap((term) => MAIN_NAMES.get(term) ?? [])
  return [...new Set([...terms, ...named])]
}

const ENDINGS: readonly [ending: RegExp, instead: string][] = [
  [/(?<=.{2})ies$/, 'y'],
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

/** A rough stem: forms of one word share it, and few other words do. */
export function stemOf(word: string): string {
  if (/\d/.test(word)) return word
  return ENDINGS.reduce((stem, [ending, instead]) => stem.replace(ending, instead), word)
}

interface Phrase {
  readonly stems: readonly string[]
  readonly mark: string
}

/** People leave the letter of a form out: I-864 is also 864. Shorter numbers mean too much else. */
const withBareNumbers = (names: readonly string[]) =>
  names.flatMap((name) => [name, ...(/^[IN]-(\d{3}[A-Z]?)$/.exec(name)?.slice(1) ?? [])])

const PHRASES = new Map<string, Phrase[]>()
for (const [group, names] of SYNONYMS.entries()) {
  for (const name of withBareNumbers(names)) {
    const stems = wordsOf(name).map(stemOf)
    const known = PHRASES.get(stems[0] ?? '') ?? []
    PHRASES.set(stems[0] ?? '', [...known, { stems, mark: `=${group}` }])
  }
}

/** The marks of the groups that are named, once for each place. */
function groupsIn(stems: readonly string[]): string[] {
  return stems.flatMap((first, at) => {
    const here = (PHRASES.get(first) ?? []).filter((phrase) =>
      phrase.stems.every((stem, offset) => stems[at + offset] === stem),
    )
    return [...new Set(here.map(({ mark }) => mark))]
  })
}

/** The words of the first name of each group, by its mark. */
const MAIN_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  SYNONYMS.map(([first = ''], group) => [`=${group}`, wordsOf(first).map(stemOf)] as const),
)

/** The words that synonyms are made of, which are spelled right. */
export const SYNONYM_WORDS: readonly string[] = SYNONYMS.flat().flatMap(wordsOf)

/** Corrects words against a vocabulary. Short words and numbers are left alone: too many others are near them. */
interface Spelling {
  correct(word: string): string
}

const SHORTEST = 4
const TWO_MISTAKES_FROM = 8

/** @param vocabulary words that are right, each as often as it is used: of equally near ones the more frequent wins */
export function spellingOf(vocabulary: readonly string[]): Spelling {
  const counts = new Map<string, number>()
  for (const word of vocabulary) counts.set(word, (counts.get(word) ?? 0) + 1)
  const byFirstLetter = Map.groupBy(
    [...counts.keys()].filter((word) => word.length >= SHORTEST),
    ([letter]) => letter,
  )
  return {
    correct(word) {
      if (counts.has(word) || word.length < SHORTEST || /\d/.test(word)) return word
      const most = word.length >= TWO_MISTAKES_FROM ? 2 : 1
      let best = { word, distance: most + 1, count: 0 }
      // A word that begins with neither of the first two letters would be too much to look through.
      const candidates = [...new Set(word.slice(0, 2))].flatMap((letter) => byFirstLetter.get(letter) ?? [])
      for (const candidate of candidates) {
        if (Math.abs(candidate.length - word.length) > most) continue
        const distance = editDistance(word, candidate)
        const count = counts.get(candidate) ?? 0
        const nearer = distance < best.distance || (distance === best.distance && count > best.count)
        if (distance <= most && nearer) best = { word: candidate, distance, count }
      }
      return best.word
    },
  }
}

/** Letters added, left out, changed, or swapped with the next (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const least = Math.min(changed, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least)
    }
    ;[before, last] = [last, row]
  }
  return last[b.length] ?? 0
}
