import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import { type Atom, type Expression, parseExpression, type Sequence } from './pattern-expression.ts'

/** Tokens from `start` up to, without, `end`. */
export interface Hit {
  readonly start: number
  readonly end: number
}

interface Alternative {
  readonly symbol: number
  /** What follows the first atom. */
  readonly rest: Sequence
}

interface QuantityAlternative extends Alternative {
  readonly first: Atom & { kind: 'quantity' }
}

/** All phrases that are looked for, by their first atom, so that one pass over a question finds all of them. */
export interface PhraseTable {
  readonly symbols: ReadonlyMap<string, number>
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
export function phraseTable(
  classes: ReadonlyMap<string, string>,
  slots: Iterable<string>,
): PhraseTable {
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
    else if (first?.kind === 'class') push(bySymbol, symbolOf(`{${first.name}}`), { symbol, rest })
    else if (first?.kind === 'quantity') push(byQuantity, first.of, { symbol, rest, first })
    else throw new Error('a phrase begins with a gap')
  }
  const flatten = (atom: Atom): Atom => {
    if (atom.kind === 'word') {
      if (atom.key.endsWith('*')) prefixLengths.add(atom.key.length - 1)
      else vocabulary.add(atom.key.replace('~', ''))
      return atom
    }
    if (atom.kind === 'class' && !classes.has(atom.name)) throw new Error(`there is no class {${atom.name}}`)
    if (atom.kind !== 'group') return atom
    const name = `(${JSON.stringify(atom.expression)})`
    if (!symbols.has(`{${name}}`)) addExpression(symbolOf(`{${name}}`), atom.expression)
    return { kind: 'class', name }
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
  return { symbols, byKey, bySymbol, byQuantity, vocabulary, prefixLengths: [...prefixLengths] }
}

/** All hits of all phrases, by symbol, from left to right. Linear in the number of tokens. */
export function findPhrases(
  table: PhraseTable,
  tokens: readonly Token[],
  quantities: readonly (readonly Quantity[])[],
): ReadonlyMap<number, readonly Hit[]> {
  const ends: Map<number, Set<number>>[] = tokens.map(() => new Map())
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    const here = ends[at] as Map<number, Set<number>>
    const waiting: { symbol: number; end: number }[] = []
    const add = (symbol: number, end: number) => {
      const known = here.get(symbol)
      if (known?.has(end)) return
      if (known) known.add(end)
      else here.set(symbol, new Set([end]))
      waiting.push({ symbol, end })
    }
    const follow = ({ symbol, rest }: Alternative, from: number) => {
      for (const end of endsAfter(rest, from, { table, tokens, quantities, ends })) add(symbol, end)
    }
    for (const key of keysAt(table, tokens[at] as Token)) {
      for (const alternative of table.byKey.get(key) ?? []) follow(alternative, at + 1)
    }
    for (const { kind, value, end } of quantities[at] ?? []) {
      for (const alternative of table.byQuantity.get(kind) ?? []) {
        const { least, most } = alternative.first
        if (value >= least - 0.01 && value <= most + 0.01) follow(alternative, end)
      }
    }
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      for (const alternative of table.bySymbol.get(next.symbol) ?? []) follow(alternative, next.end)
    }
  }
  const hits = new Map<number, Hit[]>()
  for (const [start, here] of ends.entries()) {
    for (const [symbol, found] of here) {
      const known = hits.get(symbol) ?? []
      for (const end of found) known.push({ start, end })
      hits.set(symbol, known)
    }
  }
  return hits
}

function keysAt(table: PhraseTable, { word, keys }: Token): readonly string[] {
  const prefixes = table.prefixLengths
    .filter((length) => length <= word.length)
    .map((length) => `${word.slice(0, length)}*`)
  return [...keys, ...prefixes]
}

interface Found {
  readonly table: PhraseTable
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly ends: readonly ReadonlyMap<number, ReadonlySet<number>>[]
}

function endsAfter(rest: Sequence, from: number, found: Found): ReadonlySet<number> {
  let reached = new Set([from])
  for (const atom of rest) {
    const next = new Set<number>()
    for (const at of reached) {
      if (atom.kind === 'gap') {
        for (let skipped = 0; skipped <= atom.most; skipped += 1) {
          next.add(at + skipped)
          if (found.tokens[at + skipped]?.breakBefore === 2) break
        }
      } else if (at < found.tokens.length && found.tokens[at]?.breakBefore !== 2) {
        for (const end of endsOf(atom, at, found)) next.add(end)
      }
    }
    if (next.size === 0) return next
    reached = next
  }
  return reached
}

function endsOf(atom: Atom, at: number, { table, tokens, quantities, ends }: Found): Iterable<number> {
  if (atom.kind === 'word') return keysAt(table, tokens[at] as Token).includes(atom.key) ? [at + 1] : []
  if (atom.kind === 'class') return ends[at]?.get(table.symbols.get(`{${atom.name}}`) ?? -1) ?? []
  if (atom.kind !== 'quantity') return []
  return (quantities[at] ?? [])
    .filter(({ kind, value }) => kind === atom.of && value >= atom.least - 0.01 && value <= atom.most + 0.01)
    .map(({ end }) => end)
}
