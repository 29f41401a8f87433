import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import type {
  Alternative,
  Alternatives,
  PhraseTable,
  QuantityAlternative,
  QuantityAtom,
  Step,
} from './phrase-table.ts'

/** The words of a question that a phrase matches. */
export interface Hit {
  /** The index of the first token. */
  readonly start: number
  /** The index after the last token. */
  readonly end: number
}

/** The hits of all phrases in a question. */
export interface PhraseHits {
  has(symbol: number): boolean
  /** Lists the hits of a symbol, from left to right. */
  of(symbol: number): readonly Hit[]
}

/** The maximum length of a hit, in words. A greater maximum is impossible, because the ends of hits are bits of a 32-bit integer. */
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
  const selectPossible = ({ symbols, sequences }: Alternatives) => ({
    symbols,
    sequences: sequences.filter(isPossible),
  })
  const search: PhraseSearch = {
    keys,
    quantities,
    sentenceEnds: computeSentenceEnds(tokens),
    hitEnds: tokens.map(() => new Map()),
    hasHits: new Uint8Array(table.symbols.size),
    byKey: selectOnce(table.byKey, selectPossible),
    bySymbol: selectOnce(table.bySymbol, selectPossible),
    byQuantity: selectOnce(table.byQuantity, (alternatives) => alternatives.filter(isPossible)),
  }
  // From the last token to the first, because a hit can contain hits that begin after it.
  for (let index = tokens.length - 1; index >= 0; index -= 1) findHitsAt(index, search)
  const hitsBySymbol = new Map<number, readonly Hit[]>()
  return {
    has: (symbol) => search.hasHits[symbol] === 1,
    of(symbol) {
      const hits = hitsBySymbol.get(symbol) ?? listHits(symbol, search)
      hitsBySymbol.set(symbol, hits)
      return hits
    },
  }
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
  /** 1 for each symbol with a hit, otherwise 0. */
  readonly hasHits: Uint8Array
  // The functions below return the alternatives with a given first atom, if the question has the keys that they require.
  readonly byKey: (key: string) => Alternatives | undefined
  readonly bySymbol: (symbol: number) => Alternatives | undefined
  readonly byQuantity: (kind: string) => readonly QuantityAlternative[] | undefined
}

/** Returns a function that looks up a value and applies `select` to it, once for each key. */
function selectOnce<K, V>(values: ReadonlyMap<K, V>, select: (value: V) => V): (key: K) => V | undefined {
  const selectedByKey = new Map<K, V>()
  return (key) => {
    const value = values.get(key)
    if (value === undefined) return undefined
    const selected = selectedByKey.get(key) ?? select(value)
    selectedByKey.set(key, selected)
    return selected
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
    // This token begins a sentence, so the token before it ends one.
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
  const foundAtoms: { alternatives: Alternatives; ends: number }[] = []
  const addAtom = (alternatives: Alternatives | undefined, ends: number) => {
    if (alternatives) foundAtoms.push({ alternatives, ends })
  }
  const addHits = (symbol: number, ends: number) => {
    const knownEnds = endsBySymbol.get(symbol) ?? 0
    if ((ends & ~knownEnds) === 0) return
    endsBySymbol.set(symbol, knownEnds | ends)
    search.hasHits[symbol] = 1
    addAtom(bySymbol(symbol), ends & ~knownEnds)
  }
  for (const key of keys[start] ?? []) addAtom(byKey(key), toEndBit(1))
  for (const quantity of quantities[start] ?? []) {
    const fitting = byQuantity(quantity.kind)?.filter(({ first }) => isWithinBounds(quantity, first)) ?? []
    for (const { symbol, furtherSteps } of fitting)
      addHits(symbol, findEnds(furtherSteps, start, toEndBit(quantity.end - start), search))
  }
  for (let atom = foundAtoms.pop(); atom; atom = foundAtoms.pop()) {
    for (const symbol of atom.alternatives.symbols) addHits(symbol, atom.ends)
    for (const { symbol, furtherSteps } of atom.alternatives.sequences)
      addHits(symbol, findEnds(furtherSteps, start, atom.ends, search))
  }
}

/** Returns whether a quantity is of the kind of an atom and within its bounds, with a tolerance of 0.01. */
const isWithinBounds = ({ kind, value }: Quantity, { of, least, most }: QuantityAtom) =>
  kind === of && value >= least - 0.01 && value <= most + 0.01

const toEndBit = (words: number) => (words > MAX_HIT_WORDS ? 0 : 2 ** words)

/**
 * Computes the ends of a phrase that begins at a token.
 *
 * @param endsOfFirst the ends of the phrase's first atom
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
