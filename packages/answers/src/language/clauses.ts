import type { Token } from './tokens.ts'

/** A part of a question that can state one event. */
export interface Clause {
  readonly index: number
  readonly text: string
  /** Offsets in the question, in UTF-16 units. */
  readonly start: number
  readonly end: number
}

/** Where a token is: its clause, its sentence, and its distance from the first one. */
export interface Place {
  readonly clause: number
  readonly sentence: number
  /** Counts words; the beginning of a clause counts as several. */
  readonly position: number
}

const WORDS_BETWEEN_CLAUSES = 2

export function placesOf(tokens: readonly Token[]): readonly Place[] {
  let [clause, sentence, position] = [-1, -1, 0]
  return tokens.map(({ breakBefore }) => {
    if (breakBefore > 0) clause += 1
    if (breakBefore === 2) sentence += 1
    position += breakBefore > 0 ? 1 + WORDS_BETWEEN_CLAUSES : 1
    return { clause, sentence, position }
  })
}

/** The clauses of a question, which together cover every word of it. */
export function clausesOf(
  question: string,
  tokens: readonly Token[],
  places: readonly Place[],
): readonly Clause[] {
  const bounds: { start: number; end: number }[] = []
  for (const [at, { start, end }] of tokens.entries()) {
    const clause = places[at]?.clause ?? 0
    const known = bounds[clause]
    if (known) known.end = Math.max(known.end, end)
    else bounds[clause] = { start, end }
  }
  return bounds.map(({ start, end }, index) => ({ index, text: question.slice(start, end), start, end }))
}
