/**
 * The parsed expression of a slot. `packages/guides/triggers/README.md` describes the notation:
 *
 * - `court`: that word. `arrest*`: words with this beginning. `take~`: any form of a verb or noun.
 * - `{family}`: a class of the lexicon. `a|b c`: one of these. `(a|b) c`: the same inside a phrase. `word?`: optional.
 * - `..`: up to three words between, `...`: up to six.
 * - `<span 12m->`, `<ago -1y>`, `<age 20-21>`, `<in 0-7d>`, `<money>`, `<n 2->`: a quantity between two bounds.
 */
export type Expression = readonly Sequence[]
export type Sequence = readonly Atom[]
export type Atom =
  | { readonly kind: 'word'; readonly key: string }
  | { readonly kind: 'class'; readonly name: string }
  | { readonly kind: 'gap'; readonly most: number }
  | { readonly kind: 'quantity'; readonly of: string; readonly least: number; readonly most: number }
  | { readonly kind: 'group'; readonly expression: Expression }

/**
 * Matches the next part of an expression and the white space before it: a word, a class, a gap, a quantity or a sign. The flag
 * `y` makes it match only where the last match ended.
 */
const PART =
  /\s*(?:(?<word>[\p{L}\p{N}]+[*~]?)|\{(?<name>[a-z-]+)\}|(?<gap>\.{2,3})|<(?<of>[a-z]+)(?: (?<least>\d+)?(?<unit>[dwmy])?(?<dash>-)?(?:(?<most>\d+)(?<unit2>[dwmy])?)?)?>|(?<sign>[()|?]))/uy
/** The days in each unit. A bound without a unit is not converted: it is in years for `age`, and in dollars for `money`. */
const UNIT_DAYS: Record<string, number> = { d: 1, w: 7, m: 30.44, y: 365.25 }

/**
 * Parses an expression.
 *
 * @throws {Error} if the expression is invalid
 */
export function parseExpression(text: string): Expression {
  const parts: RegExpExecArray[] = []
  // A copy, because a regular expression with the flag `y` stores its position.
  const pattern = new RegExp(PART)
  while (pattern.lastIndex < text.trimEnd().length) {
    const index = pattern.lastIndex
    const part = pattern.exec(text)
    if (!part) throw new Error(`"${text}" cannot be read at "${text.slice(index)}"`)
    parts.push(part)
  }
  const [expression, end] = readAlternatives(parts, 0)
  if (end < parts.length) throw new Error(`"${text}" closes a parenthesis that is not open`)
  return expression
}

/**
 * Reads alternatives up to a closing parenthesis or the end.
 *
 * @returns the alternatives, each without optional parts, and the index of the part after them
 */
function readAlternatives(parts: readonly RegExpExecArray[], start: number): [Expression, number] {
  /** The sequences of the current alternative. Each optional part doubles them. */
  let sequences: Sequence[] = [[]]
  const finishedSequences: Sequence[] = []
  let index = start
  for (; index < parts.length; index += 1) {
    const { word, name, gap, of, least, unit, dash, most, unit2, sign } = parts[index]?.groups ?? {}
    if (sign === ')') break
    if (sign === '|') {
      finishedSequences.push(...sequences)
      sequences = [[]]
      continue
    }
    let atom: Atom
    if (sign === '(') {
      const [expression, end] = readAlternatives(parts, index + 1)
      if (parts[end]?.groups?.['sign'] !== ')') throw new Error('a parenthesis is not closed')
      atom = { kind: 'group', expression }
      index = end
    } else if (name !== undefined) atom = { kind: 'class', name }
    else if (gap !== undefined) atom = { kind: 'gap', most: gap.length === 2 ? 3 : 6 }
    else if (of !== undefined) {
      // If only one bound has a unit, the unit is that of both: `0-7d`. A single bound without a dash is the exact value.
      const low = least === undefined ? 0 : Number(least) * (UNIT_DAYS[unit ?? unit2 ?? ''] ?? 1)
      let high = dash || least === undefined ? Infinity : low
      if (most !== undefined) high = Number(most) * (UNIT_DAYS[unit2 ?? unit ?? ''] ?? 1)
      atom = { kind: 'quantity', of, least: low, most: high }
    } else if (word !== undefined) atom = { kind: 'word', key: word.toLowerCase() }
    else throw new Error('a sign stands where a word belongs')
    const isOptional = parts[index + 1]?.groups?.['sign'] === '?'
    if (isOptional) index += 1
    const extendedSequences = sequences.map((sequence) => [...sequence, atom])
    sequences = isOptional ? [...sequences, ...extendedSequences] : extendedSequences
  }
  finishedSequences.push(...sequences)
  if (finishedSequences.some((sequence) => sequence.length === 0)) throw new Error('an alternative is empty')
  return [finishedSequences, index]
}
