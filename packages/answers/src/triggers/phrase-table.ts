import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import { type Atom, type Expression, parseExpression, type Sequence } from './pattern-expression.ts'

/** Tokens from `start` up to, without, `end`. */
export interface Hit {
  readonly start: number
  readonly end: number
}

/** An atom whose class or group is known by its symbol. */
type Step = Exclude<Atom, { kind: 'class' | 'group' }> | { readonly kind: 'symbol'; readonly symbol: number }

interface Alternative {
  readonly symbol: number
  /** What follows the first atom. */
  readonly rest: readonly Step[]
}

interface QuantityAlternative extends Alternative {
  readonly first: QuantityAtom
}

/** All phrases that are looked for, by their first atom, so that one pass over a question finds all of them. */
export interface PhraseTable {
  readonly symbols: ReadonlyMap<string, number>
  /** The classes by name, with their symbols. */
  readonly classes: readonly (readonly [string, number])[]
  readonly byKey: ReadonlyMap<string, readonly Alternative[]>
  readonly bySymbol: ReadonlyMap<number, readonly Alternative[]>
  readonly byQuantity: ReadonlyMap<string, readonly QuantityAlternative[]>
  /** The lengths of the beginnings (`arrest*`) that are looked for. */
  readonly prefixLengths: readonly number[]
  /** Every word that stands in a phrase as a whole. */
  readonly vocabulary: ReadonlySet<string>
}

/**
 * @param classes expressions by the name under which `{name}` refers to them
 * @param slots further expressions, found under their own text
 * @throws Error if an expression cannot be read or refers to an unknown class
 */
export function phraseTable(classes: ReadonlyMap<string, string>, slots: Iterable<string>): PhraseTable {
  const symbols = new Map<string, number>()
  const byKey = new Map<string, Alternative[]>()
  const bySymbol = new Map<number, Alternative[]>()
  const byQuantity = new Map<string, QuantityAlternative[]>()
  const vocabulary = new Set<string>()
  const prefixLengths = new Set<number>()
  const symbolOf = (name: string) => {
    const known = symbols.get(name)
    if (known !== undefined) return known
    symbols.set(name, symbols.size)
    return symbols.size - 1
  }
  const push = <K, V>(map: Map<K, V[]>, key: K, value: V) => {
    const values = map.get(key)
    if (values) values.push(value)
    else map.set(key, [value])
  }
  const addSequence = (symbol: number, sequence: Sequence) => {
    const atoms = sequence.map((atom) => flatten(atom))
    const [first, ...rest] = atoms
    if (first?.kind === 'word') push(byKey, first.key, { symbol, rest })
    else if (first?.kind === 'symbol') push(bySymbol, first.symbol, { symbol, rest })
    else if (first?.kind === 'quantity') push(byQuantity, first.of, { symbol, rest, first })
    else throw new Error('a phrase begins with a gap')
  }
  const flatten = (atom: Atom): Step => {
    if (atom.kind === 'word') {
      if (atom.key.endsWith('*')) prefixLengths.add(atom.key.length - 1)
      else vocabulary.add(atom.key.replace('~', ''))
      return atom
    }
    if (atom.kind === 'class' && !classes.has(atom.name)) throw new Error(`there is no class {${atom.name}}`)
    if (atom.kind === 'class') return { kind: 'symbol', symbol: symbolOf(`{${atom.name}}`) }
    if (atom.kind !== 'group') return atom
    const name = `(${JSON.stringify(atom.expression)})`
    if (!symbols.has(`{${name}}`)) addExpression(symbolOf(`{${name}}`), atom.expression)
    return { kind: 'symbol', symbol: symbolOf(`{${name}}`) }
  }
  const addExpression = (symbol: number, expression: Expression) => {
    for (const sequence of expression) addSequence(symbol, sequence)
  }
  const addText = (name: string, text: string) => {
    try {
      addExpression(symbolOf(name), parseExpression(text))
    } catch (error) {
      throw new Error(`the phrase "${text}" is wrong`, { cause: error })
    }
  }
  for (const [name, text] of classes) addText(`{${name}}`, text)
  for (const text of new Set(slots)) if (!symbols.has(text)) addText(text, text)
  return {
    symbols,
    classes: [...classes.keys()].map((name) => [name, symbolOf(`{${name}}`)] as const),
    byKey,
    bySymbol,
    byQuantity,
    vocabulary,
    prefixLengths: [...prefixLengths],
  }
}

/** All hits of all phrases, by symbol, from left to right. Linear in the number of tokens. */
export function findPhrases(
  table: PhraseTable,
  tokens: readonly Token[],
  quantities: readonly (readonly Quantity[])[],
): ReadonlyMap<number, readonly Hit[]> {
  const ends = tokens.map(() => new Map<number, Set<number>>())
  const found: Found = { table, tokens, keys: tokens.map((token) => keysAt(table, token)), quantities, ends }
  for (let at = tokens.length - 1; at >= 0; at -= 1) findAt(at, found)
  const hits = new Map<number, Hit[]>()
  for (const [start, here] of ends.entries()) {
    for (const [symbol, known] of here) {
      const hitsOfSymbol = hits.get(symbol) ?? []
      hitsOfSymbol.push(...[...known].map((end) => ({ start, end })))
      hits.set(symbol, hitsOfSymbol)
    }
  }
  return hits
}

interface Found {
  readonly table: PhraseTable
  readonly tokens: readonly Token[]
  /** Under which names phrases may look for each token. */
  readonly keys: readonly ReadonlySet<string>[]
  readonly quantities: readonly (readonly Quantity[])[]
  /** Where the hits end that begin at each token, by symbol. */
  readonly ends: readonly Map<number, Set<number>>[]
}

function keysAt(table: PhraseTable, { word, keys }: Token): ReadonlySet<string> {
  const prefixes = table.prefixLengths
    .filter((length) => length <= word.length)
    .map((length) => `${word.slice(0, length)}*`)
  return new Set([...keys, ...prefixes])
}

/** Finds what begins at one token. What begins at later ones is known. */
function findAt(at: number, found: Found): void {
  const { table, quantities, keys, ends } = found
  const here = ends[at] as Map<number, Set<number>>
  const waiting: { symbol: number; end: number }[] = []
  const follow = ({ symbol, rest }: Alternative, from: number) => {
    for (const end of endsAfter(rest, from, found)) {
      const known = here.get(symbol)
      if (known?.has(end)) continue
      if (known) known.add(end)
      else here.set(symbol, new Set([end]))
      waiting.push({ symbol, end })
    }
  }
  for (const key of keys[at] ?? [])
    for (const alternative of table.byKey.get(key) ?? []) follow(alternative, at + 1)
  for (const quantity of quantities[at] ?? []) {
    const fitting = (table.byQuantity.get(quantity.kind) ?? []).filter(({ first }) => fits(quantity, first))
    for (const alternative of fitting) follow(alternative, quantity.end)
  }
  for (let next = waiting.pop(); next; next = waiting.pop())
    for (const alternative of table.bySymbol.get(next.symbol) ?? []) follow(alternative, next.end)
}

type QuantityAtom = Atom & { kind: 'quantity' }

const fits = ({ kind, value }: Quantity, { of, least, most }: QuantityAtom) =>
  kind === of && value >= least - 0.01 && value <= most + 0.01

/** Where a phrase can end whose rest begins at a token. Only a gap or the end of the phrase may pass a full stop. */
function endsAfter(rest: readonly Step[], from: number, found: Found): Iterable<number> {
  const [first, ...others] = rest
  if (!first) return [from]
  let reached = endsOf(first, from, found)
  for (const step of others) {
    const next = new Set<number>()
    for (const at of reached) for (const end of endsOf(step, at, found)) next.add(end)
    reached = next
  }
  return reached
}

const NO_ENDS: readonly number[] = []

function endsOf(step: Step, at: number, found: Found): Iterable<number> {
  if (step.kind === 'gap') return endsOfGap(step.most, at, found.tokens)
  const token = found.tokens[at]
  if (token === undefined || token.breakBefore === 2) return NO_ENDS
  if (step.kind === 'word') return found.keys[at]?.has(step.key) ? [at + 1] : NO_ENDS
  if (step.kind === 'symbol') return found.ends[at]?.get(step.symbol) ?? NO_ENDS
  return (found.quantities[at] ?? []).filter((quantity) => fits(quantity, step)).map(({ end }) => end)
}

function endsOfGap(most: number, at: number, tokens: readonly Token[]): readonly number[] {
  const reached = [at]
  for (let end = at + 1; end <= at + most && tokens[end - 1]?.breakBefore !== 2; end += 1) reached.push(end)
  return reached
}
