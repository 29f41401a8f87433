import { type Atom, type Expression, parseExpression, type Sequence } from './pattern-expression.ts'

/** An atom of a sequence. A class or group is represented by its symbol. */
export type Step =
  | Exclude<Atom, { kind: 'class' | 'group' }>
  | { readonly kind: 'symbol'; readonly symbol: number }

export type QuantityAtom = Atom & { kind: 'quantity' }

/** One of the sequences that match a symbol. */
export interface Alternative {
  readonly symbol: number
  /** The steps after the first atom. */
  readonly furtherSteps: readonly Step[]
  /** The keys of the words among the further steps. The alternative cannot match a question without them. */
  readonly requiredKeys: readonly string[]
}

export interface QuantityAlternative extends Alternative {
  readonly first: QuantityAtom
}

/** The sequences that begin with an atom. */
export interface Alternatives {
  /** The symbols that the atom matches alone, as most words do. */
  readonly symbols: number[]
  /** The sequences with further atoms. */
  readonly sequences: Alternative[]
}

/** All phrases, by their first atom. One pass over a question finds all of them. */
export interface PhraseTable {
  /** The symbol, a number, of each slot by its text, and of each class or group by its name in braces. */
  readonly symbols: ReadonlyMap<string, number>
  /** The name and the symbol of each class. */
  readonly classes: readonly (readonly [string, number])[]
  /** By the key of a first word, as patterns write it: `court`, `arrest*` or `take~`. */
  readonly byKey: ReadonlyMap<string, Alternatives>
  /** By the symbol of a first class or group. */
  readonly bySymbol: ReadonlyMap<number, Alternatives>
  /** By the kind of a first quantity, such as `span`. */
  readonly byQuantity: ReadonlyMap<string, readonly QuantityAlternative[]>
  /** The lengths of the prefixes (`arrest*`) in phrases. */
  readonly prefixLengths: readonly number[]
  /** All complete words in phrases. */
  readonly vocabulary: ReadonlySet<string>
}

/**
 * Compiles expressions to a table.
 *
 * @param classes expressions by class name; `{name}` in an expression refers to a class
 * @param slots further expressions, whose symbols are found by the text of the expression
 * @throws {Error} if an expression is invalid or refers to an unknown class
 */
export function createPhraseTable(
  classes: ReadonlyMap<string, string>,
  slots: Iterable<string>,
): PhraseTable {
  const symbols = new Map<string, number>()
  const byKey = new Map<string, Alternatives>()
  const bySymbol = new Map<number, Alternatives>()
  const byQuantity = new Map<string, QuantityAlternative[]>()
  const vocabulary = new Set<string>()
  const prefixLengths = new Set<number>()
  const getSymbol = (name: string) => {
    const symbol = symbols.get(name)
    if (symbol !== undefined) return symbol
    symbols.set(name, symbols.size)
    return symbols.size - 1
  }
  const addAlternative = <K>(map: Map<K, Alternatives>, first: K, alternative: Alternative) => {
    const alternatives = map.get(first) ?? { symbols: [], sequences: [] }
    map.set(first, alternatives)
    if (alternative.furtherSteps.length === 0) alternatives.symbols.push(alternative.symbol)
    else alternatives.sequences.push(alternative)
  }
  const addSequence = (symbol: number, sequence: Sequence) => {
    const [first, ...furtherSteps] = sequence.map((atom) => toStep(atom))
    const requiredKeys = furtherSteps.flatMap((step) => (step.kind === 'word' ? [step.key] : []))
    const alternative = { symbol, furtherSteps, requiredKeys }
    if (first?.kind === 'word') addAlternative(byKey, first.key, alternative)
    else if (first?.kind === 'symbol') addAlternative(bySymbol, first.symbol, alternative)
    else if (first?.kind === 'quantity') {
      const alternatives = byQuantity.get(first.of) ?? []
      byQuantity.set(first.of, alternatives)
      alternatives.push({ ...alternative, first })
    } else throw new Error('a phrase begins with a gap')
  }
  const toStep = (atom: Atom): Step => {
    if (atom.kind === 'word') {
      if (atom.key.endsWith('*')) prefixLengths.add(atom.key.length - 1)
      else vocabulary.add(atom.key.replace('~', ''))
      return atom
    }
    if (atom.kind === 'class' && !classes.has(atom.name)) throw new Error(`there is no class {${atom.name}}`)
    if (atom.kind === 'class') return { kind: 'symbol', symbol: getSymbol(`{${atom.name}}`) }
    if (atom.kind !== 'group') return atom
    const name = `(${JSON.stringify(atom.expression)})`
    if (!symbols.has(`{${name}}`)) addExpression(getSymbol(`{${name}}`), atom.expression)
    return { kind: 'symbol', symbol: getSymbol(`{${name}}`) }
  }
  const addExpression = (symbol: number, expression: Expression) => {
    for (const sequence of expression) addSequence(symbol, sequence)
  }
  const addText = (name: string, text: string) => {
    try {
      addExpression(getSymbol(name), parseExpression(text))
    } catch (error) {
      throw new Error(`the phrase "${text}" is wrong`, { cause: error })
    }
  }
  for (const [name, text] of classes) addText(`{${name}}`, text)
  for (const text of new Set(slots)) if (!symbols.has(text)) addText(text, text)
  return {
    symbols,
    classes: [...classes.keys()].map((name) => [name, getSymbol(`{${name}}`)] as const),
    byKey,
    bySymbol,
    byQuantity,
    vocabulary,
    prefixLengths: [...prefixLengths],
  }
}
