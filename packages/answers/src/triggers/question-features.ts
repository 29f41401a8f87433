import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import { type Feature, LETTERS } from './likely-triggers.ts'
import type { PhraseHits, PhraseTable } from './phrase-table.ts'

interface ReadQuestion {
  readonly table: PhraseTable
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly hits: PhraseHits
  /** Ids of the triggers for which the question has a weak sign. */
  readonly signs: readonly string[]
}

/** The number of words after a negation that count as negated. The beginning of a clause ends them sooner. */
const NEGATION_SCOPE = 4
/** Stems. Contractions are already expanded: “don’t” has the token “not”. */
const NEGATIONS = new Set(['not', 'never', 'no', 'nobody', 'none', 'without', 'nothing', 'nor'])
/** The first letters of a word that is longer than this are a feature, too. */
const PREFIX_LENGTH = 5
/** The lengths of the character n-grams. */
const NGRAM_LENGTHS = [3, 4]

/**
 * Computes the features of a question for the model of likely triggers. The first letter of a feature is its kind: a word (`w`), the first
 * letters of a word (`g`), a bigram (`b`), a bigram that begins a clause (`^`), a negated word (`n`), a character n-gram (`LETTERS`), a
 * class of phrases (`c`), a quantity (`q`) or a weak sign (`k`). The trained model contains these names.
 */
export function questionFeatures({
  table,
  tokens,
  quantities,
  hits,
  signs,
}: ReadQuestion): readonly Feature[] {
  const features = new Map<string, number[]>()
  const add = (name: string, ...at: number[]) => {
    const tokenIndexes = features.get(name)
    if (tokenIndexes) tokenIndexes.push(...at)
    else features.set(name, at)
  }
  const stems = tokens.map(({ keys }) => keys.at(-1)?.replace('~', '') ?? '')
  let negatedUntil = 0
  for (const [at, stem] of stems.entries()) {
    const { word, breakBefore } = tokens[at] as Token
    add(`w ${stem}`, at)
    if (word.length > PREFIX_LENGTH) add(`g ${word.slice(0, PREFIX_LENGTH)}`, at)
    // The angle brackets mark the ends of the word.
    const delimited = `<${word}>`
    for (const length of NGRAM_LENGTHS)
      for (let from = 0; from + length <= delimited.length; from += 1)
        add(`${LETTERS}${delimited.slice(from, from + length)}`, at)
    if (at > 0) add(`b ${stems[at - 1]} ${stem}`, at - 1, at)
    if (breakBefore > 0) {
      negatedUntil = at
      if (at + 1 < stems.length) add(`^ ${stem} ${stems[at + 1]}`, at, at + 1)
    }
    if (at < negatedUntil) add(`n ${stem}`, at)
    if (NEGATIONS.has(stem)) negatedUntil = at + 1 + NEGATION_SCOPE
  }
  for (const [name, symbol] of table.classes) if (hits.has(symbol)) add(`c ${name}`)
  for (const { kind, value } of quantities.flat()) {
    add(kind === 'n' ? 'q n' : `q ${kind} ${Math.round(Math.log2(value + 1))}`)
  }
  for (const trigger of signs) add(`k ${trigger}`)
  return [...features].map(([name, at]) => ({ name, tokens: at }))
}
