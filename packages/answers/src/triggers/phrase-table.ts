import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import { type Atom, type Expression, parseExpression, type Sequence } from './pattern-expression.ts'

/** A place in a question where a phrase matches. */
export interface Hit {
  /** The index of the first token. */
  readonly start: number
  /** The index after the last token. */
  readonly end: number
}

/** An atom of a sequence. A class or group is represented by its symbol. */
type Step = Exclude<Atom, { kind: 'class' | 'group' }> | { readonly kind: 'symbol'; readonly symbol: number }

/** One of the sequences that match a symbol. */
interface Alternative {
  readonly symbol: number
  /** The steps after the first atom. */
  readonly furtherSteps: readonly Step[]
  /** The keys of the words among the further steps. The alternative cannot match a question without them. */
  readonly requiredKeys: readonly string[]
}

interface QuantityAlternative extends Alternative {
  readonly first: QuantityAtom
}

/** All phrases, by their first atom. One pass over a question finds all of them. */
export interface PhraseTable {
  readonly symbols: ReadonlyMap<string, number>
  /** The name and the symbol of each class. */
  readonly classes: readonly (readonly [string, number])[]
  readonly byKey: ReadonlyMap<string, readonly Alternative[]>
  readonly bySymbol: ReadonlyMap<number, readonly Alternative[]>
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
    const [first, ...furtherSteps] = sequence.map((atom) => toStep(atom))
    const requiredKeys = furtherSteps.flatMap((step) => (step.kind === 'word' ? [step.key] : []))
    const alternative = { symbol, furtherSteps, requiredKeys }
    if (first?.kind === 'word') push(byKey, first.key, alternative)
    else if (first?.kind === 'symbol') push(bySymbol, first.symbol, alternative)
    else if (first?.kind === 'quantity') push(byQuantity, first.of, { ...alternative, first })
    else throw new Error('a phrase begins with a gap')
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

/** The hits of all phrases in a question. */
export interface PhraseHits {
  has(symbol: number): boolean
  /** From left to right. */
  of(symbol: number): readonly Hit[]
}

/** The maximum length of a hit, in words. It cannot be greater, because the ends of hits are the bits of one 32-bit integer. */
const MAX_HIT_WORDS = 30

/** Finds all phrases in a question. Each hit is within one sentence. Linear in the number of tokens. */
export function findPhrases(
  table: PhraseTable,
  tokens: readonly Token[],
  quantities: readonly (readonly Quantity[])[],
): PhraseHits {
  const keys = tokens.map((token) => listKeys(table, token))
  const questionKeys = new Set(keys.flatMap((names) => [...names]))
  const isPossible = ({ requiredKeys }: Alternative) => requiredKeys.every((key) => questionKeys.has(key))
  const search: PhraseSearch = {
    keys,
    quantities,
    sentenceEnds: computeSentenceEnds(tokens),
    hitEnds: tokens.map(() => new Map()),
    byKey: memoize((key) => (table.byKey.get(key) ?? []).filter(isPossible)),
    bySymbol: memoize((symbol) => (table.bySymbol.get(symbol) ?? []).filter(isPossible)),
    byQuantity: memoize((kind) => (table.byQuantity.get(kind) ?? []).filter(isPossible)),
  }
  for (let index = tokens.length - 1; index >= 0; index -= 1) findHitsAt(index, search)
  const symbols = new Set<number>()
  for (const endsBySymbol of search.hitEnds) for (const symbol of endsBySymbol.keys()) symbols.add(symbol)
  return { has: (symbol) => symbols.has(symbol), of: memoize((symbol) => listHits(symbol, search)) }
}

/** The state of a search. Ends are bits: relative to a first token, bit `n` is the end after `n` words. */
interface PhraseSearch {
  /** The keys by which phrases match each token. */
  readonly keys: readonly ReadonlySet<string>[]
  readonly quantities: readonly (readonly Quantity[])[]
  /** For each token, the possible ends within its sentence. */
  readonly sentenceEnds: readonly number[]
  /** For each token, the ends of the hits that begin there, by symbol. */
  readonly hitEnds: readonly Map<number, number>[]
  /** The next three return the alternatives whose required keys are in the question, by the first atom. */
  readonly byKey: (key: string) => readonly Alternative[]
  readonly bySymbol: (symbol: number) => readonly Alternative[]
  readonly byQuantity: (kind: string) => readonly QuantityAlternative[]
}

function memoize<K, V>(compute: (key: K) => V): (key: K) => V {
  const valuesByKey = new Map<K, V>()
  return (key) => {
    const cached = valuesByKey.get(key)
    if (cached !== undefined) return cached
    const value = compute(key)
    valuesByKey.set(key, value)
    return value
  }
}

function listHits(symbol: number, { hitEnds }: PhraseSearch): readonly Hit[] {
  const hits: Hit[] = []
  for (const [start, endsBySymbol] of hitEnds.entries()) {
    const ends = endsBySymbol.get(symbol) ?? 0
    for (let bits = ends; bits !== 0; bits &= bits - 1) hits.push({ start, end: start + getLowestBit(bits) })
  }
  return hits
}

/** Returns the index of the lowest bit that is 1. */
const getLowestBit = (bits: number) => 31 - Math.clz32(bits & -bits)

/** Computes, for each token, the ends of the tokens from there to the end of its sentence. */
function computeSentenceEnds(tokens: readonly Token[]): readonly number[] {
  const sentenceEnds = tokens.map(() => 0)
  let words = 0
  for (let index = tokens.length - 1; index >= 0; index -= 1) {
    words = Math.min(MAX_HIT_WORDS, words + 1)
    sentenceEnds[index] = 2 ** (words + 1) - 1
    if (tokens[index]?.breakBefore === 2) words = 0
  }
  return sentenceEnds
}

/** Lists the keys by which phrases match a token: its own keys, and its prefixes. */
function listKeys(table: PhraseTable, { word, keys }: Token): ReadonlySet<string> {
  const prefixes = table.prefixLengths
    .filter((length) => length <= word.length)
    .map((length) => `${word.slice(0, length)}*`)
  return new Set([...keys, ...prefixes])
}

/** Finds the hits that begin at one token. The hits that begin at later tokens must have been found. */
function findHitsAt(start: number, search: PhraseSearch): void {
  const { quantities, keys, byKey, bySymbol, byQuantity } = search
  const endsBySymbol = search.hitEnds[start] as Map<number, number>
  const newEnds: { symbol: number; ends: number }[] = []
  const addHits = ({ symbol, furtherSteps }: Alternative, endsOfFirst: number) => {
    const ends = findEnds(furtherSteps, start, endsOfFirst, search)
    const knownEnds = endsBySymbol.get(symbol) ?? 0
    if ((ends & ~knownEnds) === 0) return
    endsBySymbol.set(symbol, knownEnds | ends)
    newEnds.push({ symbol, ends: ends & ~knownEnds })
  }
  for (const key of keys[start] ?? []) for (const alternative of byKey(key)) addHits(alternative, toEndBit(1))
  for (const quantity of quantities[start] ?? []) {
    const fitting = byQuantity(quantity.kind).filter(({ first }) => isWithinBounds(quantity, first))
    for (const alternative of fitting) addHits(alternative, toEndBit(quantity.end - start))
  }
  for (let next = newEnds.pop(); next; next = newEnds.pop())
    for (const alternative of bySymbol(next.symbol)) addHits(alternative, next.ends)
}

type QuantityAtom = Atom & { kind: 'quantity' }

/** Returns whether a quantity is of the kind of an atom and within its bounds, with a tolerance of 0.01. */
const isWithinBounds = ({ kind, value }: Quantity, { of, least, most }: QuantityAtom) =>
  kind === of && value >= least - 0.01 && value <= most + 0.01

const toEndBit = (words: number) => (words > MAX_HIT_WORDS ? 0 : 2 ** words)

/**
 * Computes the ends of a phrase that begins at a token.
 *
 * @param endsOfFirst the ends of its first atom
 */
function findEnds(
  furtherSteps: readonly Step[],
  start: number,
  endsOfFirst: number,
  search: PhraseSearch,
): number {
  const sentenceEnds = search.sentenceEnds[start] ?? 0
  let ends = endsOfFirst & sentenceEnds
  for (const step of furtherSteps) {
    if (ends === 0) return 0
    if (step.kind === 'gap') {
      for (let words = 0; words < step.most; words += 1) ends |= ends << 1
      ends &= sentenceEnds
      continue
    }
    let nextEnds = 0
    for (let bits = ends; bits !== 0; bits &= bits - 1) {
      const words = getLowestBit(bits)
      nextEnds |= findStepEnds(step, start + words, search) << words
    }
    ends = nextEnds & sentenceEnds
  }
  return ends
}

/** Computes the ends of a step that begins at a token. */
function findStepEnds(step: Exclude<Step, { kind: 'gap' }>, start: number, search: PhraseSearch): number {
  if (step.kind === 'word') return search.keys[start]?.has(step.key) ? toEndBit(1) : 0
  if (step.kind === 'symbol') return search.hitEnds[start]?.get(step.symbol) ?? 0
  let ends = 0
  for (const quantity of search.quantities[start] ?? [])
    if (isWithinBounds(quantity, step)) ends |= toEndBit(quantity.end - start)
  return ends
}
