import type { Token } from './tokens.ts'

/** A part of a question, between commas, conjunctions and ends of sentences. It can state one event. */
export interface Clause {
  readonly index: number
  readonly text: string
  /** Offsets in the question, in UTF-16 units. */
  readonly start: number
  readonly end: number
}

/** The location of a token in a question. */
export interface TokenLocation {
  readonly clause: number
  readonly sentence: number
  /** The number of words up to and including this token. The beginning of a clause counts as `WORDS_BETWEEN_CLAUSES` more words. */
  readonly position: number
}

/** Makes a distance between two clauses greater, so that fewer patterns of triggers match across clauses (`window`). */
const WORDS_BETWEEN_CLAUSES = 2

/** Computes the location of each token. */
export function locateTokens(tokens: readonly Token[]): readonly TokenLocation[] {
  let [clause, sentence, position] = [-1, -1, 0]
  return tokens.map(({ breakBefore }) => {
    if (breakBefore > 0) clause += 1
    if (breakBefore === 2) sentence += 1
    position += breakBefore > 0 ? 1 + WORDS_BETWEEN_CLAUSES : 1
    return { clause, sentence, position }
  })
}

/** Splits a question into clauses, which together cover all its words. */
export function splitClauses(
  question: string,
  tokens: readonly Token[],
  locations: readonly TokenLocation[],
): readonly Clause[] {
  const bounds: { start: number; end: number }[] = []
  for (const [index, { start, end }] of tokens.entries()) {
    const clause = locations[index]?.clause ?? 0
    const clauseBounds = bounds[clause]
    if (clauseBounds) clauseBounds.end = Math.max(clauseBounds.end, end)
    else bounds[clause] = { start, end }
  }
  return bounds.map(({ start, end }, index) => ({ index, text: question.slice(start, end), start, end }))
}
