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
  /** The steps after the first atom. */
  readonly rest: readonly Step[]
  /** The words that a question must contain for it to match. */
  readonly needs: readonly string[]
}

interface QuantityAlternative extends Alternative {
  readonly first: QuantityAtom
}

/** All phrases, by their first atom, so that one pass over a question finds all of them. */
export interface PhraseTable {
  readonly symbols: ReadonlyMap<string, number>
  /** The classes by name, with their symbols. */
  readonly classes: readonly (readonly [string, number])[]
  readonly byKey: ReadonlyMap<string, readonly Alternative[]>
  readonly bySymbol: ReadonlyMap<number, readonly Alternative[]>
  readonly byQuantity: ReadonlyMap<string, readonly QuantityAlternative[]>
  /** The lengths of the prefixes that phrases contain (`arrest*`). */
  readonly prefixLengths: readonly number[]
  /** Every complete word in a phrase. */
  readonly vocabulary: ReadonlySet<string>
}

/**
 * Compiles expressions to a table.
 *
 * @param classes expressions by the name with which `{name}` refers to them
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
  const getSymbol = (name: string) => {
    const symbol = symbols.get(name)
    if (symbol !== undefined) return symbol
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
    const needs = rest.flatMap((step) => (step.kind === 'word' ? [step.key] : []))
    if (first?.kind === 'word') push(byKey, first.key, { symbol, rest, needs })
    else if (first?.kind === 'symbol') push(bySymbol, first.symbol, { symbol, rest, needs })
    else if (first?.kind === 'quantity') push(byQuantity, first.of, { symbol, rest, needs, first })
    else throw new Error('a phrase begins with a gap')
  }
  const flatten = (atom: Atom): Step => {
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

/** The places where each phrase was found. */
export interface PhraseHits {
  has(symbol: number): boolean
  /** From left to right. */
  of(symbol: number): readonly Hit[]
}

/** The longest hit, in words. The ends of the hits that begin at one word are the bits of one number, which bounds it. */
const MAX_PHRASE_LENGTH = 30

/** Finds all phrases, each of which is part of one sentence. Linear in the number of tokens. */
export function findPhrases(
  table: PhraseTable,
  tokens: readonly Token[],
  quantities: readonly (readonly Quantity[])[],
): PhraseHits {
  const keys = tokens.map((token) => listKeys(table, token))
  const questionKeys = new Set(keys.flatMap((names) => [...names]))
  const isPossible = ({ needs }: Alternative) => needs.every((key) => questionKeys.has(key))
  const found: Found = {
    keys,
    quantities,
    within: sentenceBits(tokens),
    ends: tokens.map(() => new Map()),
    byKey: memoize((key) => (table.byKey.get(key) ?? []).filter(isPossible)),
    bySymbol: memoize((symbol) => (table.bySymbol.get(symbol) ?? []).filter(isPossible)),
    byQuantity: memoize((kind) => (table.byQuantity.get(kind) ?? []).filter(isPossible)),
  }
  for (let at = tokens.length - 1; at >= 0; at -= 1) findAt(at, found)
  const symbols = new Set<number>()
  for (const here of found.ends) for (const symbol of here.keys()) symbols.add(symbol)
  return { has: (symbol) => symbols.has(symbol), of: memoize((symbol) => listHits(symbol, found)) }
}

interface Found {
  /** The keys by which phrases match each token. */
  readonly keys: readonly ReadonlySet<string>[]
  readonly quantities: readonly (readonly Quantity[])[]
  /** For each token, the possible ends within its sentence: bit `n` is the end after `n` words. */
  readonly within: readonly number[]
  /** The ends of the hits that begin at each token, as such bits, by symbol. */
  readonly ends: readonly Map<number, number>[]
  /** The alternatives whose required words are in the question. */
  readonly byKey: (key: string) => readonly Alternative[]
  readonly bySymbol: (symbol: number) => readonly Alternative[]
  readonly byQuantity: (kind: string) => readonly QuantityAlternative[]
}

function memoize<K, V>(make: (key: K) => V): (key: K) => V {
  const valuesByKey = new Map<K, V>()
  return (key) => {
    const cached = valuesByKey.get(key)
    if (cached !== undefined) return cached
    const value = make(key)
    valuesByKey.set(key, value)
    return value
  }
}

function listHits(symbol: number, { ends }: Found): readonly Hit[] {
  const hits: Hit[] = []
  for (const [start, here] of ends.entries()) {
    const bits = here.get(symbol) ?? 0
    for (let rest = bits; rest !== 0; rest &= rest - 1) hits.push({ start, end: start + lowestBit(rest) })
  }
  return hits
}

const lowestBit = (bits: number) => 31 - Math.clz32(bits & -bits)

function sentenceBits(tokens: readonly Token[]): readonly number[] {
  const within = tokens.map(() => 0)
  let words = 0
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    words = Math.min(MAX_PHRASE_LENGTH, words + 1)
    within[at] = 2 ** (words + 1) - 1
    if (tokens[at]?.breakBefore === 2) words = 0
  }
  return within
}

function listKeys(table: PhraseTable, { word, keys }: Token): ReadonlySet<string> {
  const prefixes = table.prefixLengths
    .filter((length) => length <= word.length)
    .map((length) => `${word.slice(0, length)}*`)
  return new Set([...keys, ...prefixes])
}

/** Finds the hits that begin at one token. Those at later tokens were found before. */
function findAt(at: number, found: Found): void {
  const { quantities, keys, byKey, bySymbol, byQuantity } = found
  const here = found.ends[at] as Map<number, number>
  const queue: { symbol: number; bits: number }[] = []
  const follow = ({ symbol, rest }: Alternative, from: number) => {
    const bits = findEnds(rest, at, from, found)
    const knownBits = here.get(symbol) ?? 0
    if ((bits & ~knownBits) === 0) return
    here.set(symbol, knownBits | bits)
    queue.push({ symbol, bits: bits & ~knownBits })
  }
  for (const key of keys[at] ?? []) for (const alternative of byKey(key)) follow(alternative, 2)
  for (const quantity of quantities[at] ?? []) {
    const fitting = byQuantity(quantity.kind).filter(({ first }) => fits(quantity, first))
    for (const alternative of fitting) follow(alternative, endBit(quantity.end - at))
  }
  for (let next = queue.pop(); next; next = queue.pop())
    for (const alternative of bySymbol(next.symbol)) follow(alternative, next.bits)
}

type QuantityAtom = Atom & { kind: 'quantity' }

const fits = ({ kind, value }: Quantity, { of, least, most }: QuantityAtom) =>
  kind === of && value >= least - 0.01 && value <= most + 0.01

const endBit = (words: number) => (words > MAX_PHRASE_LENGTH ? 0 : 2 ** words)

/** Computes the ends of a phrase that begins at a token and whose remaining steps begin at one of the bits of `from`. */
function findEnds(rest: readonly Step[], at: number, from: number, found: Found): number {
  const within = found.within[at] ?? 0
  let reached = from & within
  for (const step of rest) {
    if (reached === 0) return 0
    if (step.kind === 'gap') {
      for (let words = 0; words < step.most; words += 1) reached |= reached << 1
      reached &= within
      continue
    }
    let next = 0
    for (let bits = reached; bits !== 0; bits &= bits - 1) {
      const words = lowestBit(bits)
      next |= findStepEnds(step, at + words, found) << words
    }
    reached = next & within
  }
  return reached
}

/** Computes the ends of a step that begins at a token. */
function findStepEnds(step: Exclude<Step, { kind: 'gap' }>, at: number, found: Found): number {
  if (step.kind === 'word') return found.keys[at]?.has(step.key) ? 2 : 0
  if (step.kind === 'symbol') return found.ends[at]?.get(step.symbol) ?? 0
  let bits = 0
  for (const quantity of found.quantities[at] ?? [])
    if (fits(quantity, step)) bits |= endBit(quantity.end - at)
  return bits
}
