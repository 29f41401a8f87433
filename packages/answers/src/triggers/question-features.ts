import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import { type Feature, LETTERS } from './likely-triggers.ts'
import type { PhraseHits, PhraseTable } from './phrase-table.ts'

interface ReadQuestion {
  readonly table: PhraseTable
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly hits: PhraseHits
  /** Triggers of which the question has a weak sign. */
  readonly signs: readonly string[]
}

/** How many words after a negation count as negated. */
const NEGATION_REACH = 4
const NEGATIONS = new Set(['not', 'never', 'no', 'nobody', 'none', 'without', 'nothing', 'nor'])
/** For longer words, the first letters are a feature too. */
const BEGINNING = 5
/** How many neighbouring letters of a word make a feature. */
const LETTERS_TOGETHER = [3, 4]

/**
 * Computes the features of a question for the model of likely triggers: words, first letters of words, pairs of words, pairs at the
 * beginning of a clause, negated words, letters within words, classes, quantities and weak signs.
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
    if (word.length > BEGINNING) add(`g ${word.slice(0, BEGINNING)}`, at)
    const whole = `<${word}>`
    for (const length of LETTERS_TOGETHER)
      for (let from = 0; from + length <= whole.length; from += 1)
        add(`${LETTERS}${whole.slice(from, from + length)}`, at)
    if (at > 0) add(`b ${stems[at - 1]} ${stem}`, at - 1, at)
    if (breakBefore > 0) {
      negatedUntil = at
      if (at + 1 < stems.length) add(`^ ${stem} ${stems[at + 1]}`, at, at + 1)
    }
    if (at < negatedUntil) add(`n ${stem}`, at)
    if (NEGATIONS.has(stem)) negatedUntil = at + 1 + NEGATION_REACH
  }
  for (const [name, symbol] of table.classes) if (hits.has(symbol)) add(`c ${name}`)
  for (const { kind, value } of quantities.flat()) {
    add(kind === 'n' ? 'q n' : `q ${kind} ${Math.round(Math.log2(value + 1))}`)
  }
  for (const trigger of signs) add(`k ${trigger}`)
  return [...features].map(([name, at]) => ({ name, tokens: at }))
}
