import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import type { PhraseHits } from './find-phrases.ts'
import { type Feature, LETTERS_PREFIX } from './likely-triggers.ts'
import type { PhraseTable } from './phrase-table.ts'

interface FeatureSource {
  readonly table: PhraseTable
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly hits: PhraseHits
  /** Ids of the triggers for which the question has a weak sign. */
  readonly signs: readonly string[]
}

/** The number of words after a negation that count as negated, unless a new clause begins first. */
const NEGATION_SCOPE = 4
/** The stems of negations. Contractions are already expanded: “don’t” has the token “not”. */
const NEGATIONS = new Set(['not', 'never', 'no', 'nobody', 'none', 'without', 'nothing', 'nor'])
/** The first letters of a word that is longer than this are a feature, too. */
const PREFIX_LENGTH = 5
/** The lengths of the character n-grams. */
const NGRAM_LENGTHS = [3, 4]

/**
 * Computes the features of a question for the models. The first letter of a feature is its kind: a word (`w`), the first
 * letters of a word (`g`), a bigram (`b`), a bigram that begins a clause (`^`), a negated word (`n`), a character n-gram
 * (`LETTERS_PREFIX`), a class of phrases (`c`), a quantity (`q`) or a weak sign (`k`). The models contain these names, so they
 * must be trained again if the names change.
 */
export function computeQuestionFeatures({
  table,
  tokens,
  quantities,
  hits,
  signs,
}: FeatureSource): readonly Feature[] {
  const features = new Map<string, number[]>()
  const add = (name: string, ...addedIndexes: number[]) => {
    const tokenIndexes = features.get(name)
    if (tokenIndexes) tokenIndexes.push(...addedIndexes)
    else features.set(name, addedIndexes)
  }
  // The last lemma of each word, or the word itself if it has none.
  const stems = tokens.map(({ keys }) => keys.at(-1)?.replace('~', '') ?? '')
  let negatedUntil = 0
  for (const [index, stem] of stems.entries()) {
    const { word, breakBefore } = tokens[index] as Token
    add(`w ${stem}`, index)
    if (word.length > PREFIX_LENGTH) add(`g ${word.slice(0, PREFIX_LENGTH)}`, index)
    // The angle brackets mark the ends of the word.
    const delimited = `<${word}>`
    for (const length of NGRAM_LENGTHS)
      for (let from = 0; from + length <= delimited.length; from += 1)
        add(`${LETTERS_PREFIX}${delimited.slice(from, from + length)}`, index)
    if (index > 0) add(`b ${stems[index - 1]} ${stem}`, index - 1, index)
    if (breakBefore > 0) {
      negatedUntil = index
      if (index + 1 < stems.length) add(`^ ${stem} ${stems[index + 1]}`, index, index + 1)
    }
    if (index < negatedUntil) add(`n ${stem}`, index)
    if (NEGATIONS.has(stem)) negatedUntil = index + 1 + NEGATION_SCOPE
  }
  for (const [name, symbol] of table.classes) if (hits.has(symbol)) add(`c ${name}`)
  // Values are grouped by powers of two. Of a plain number, only the presence is a feature.
  for (const { kind, value } of quantities.flat()) {
    add(kind === 'n' ? 'q n' : `q ${kind} ${Math.round(Math.log2(value + 1))}`)
  }
  for (const trigger of signs) add(`k ${trigger}`)
  return [...features].map(([name, tokenIndexes]) => ({ name, tokens: tokenIndexes }))
}
