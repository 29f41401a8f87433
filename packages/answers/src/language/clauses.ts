/** A part of a question that can state one event. */
export interface Clause {
  readonly index: number
  readonly text: string
  /** Offsets in the question, in UTF-16 units. */
  readonly start: number
  readonly end: number
}

/** Splits a question at punctuation. */
export function splitClauses(question: string): readonly Clause[] {
  return [...question.matchAll(/[^.?!;,\n]+/g)].map((found, index) => ({
    index,
    text: found[0],
    start: found.index,
    end: found.index + found[0].length,
  }))
}
