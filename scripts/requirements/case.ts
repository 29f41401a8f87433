/** Something that must not work, or must work in one way only. */
export interface Case {
  readonly id: `N-${string}`
  /** What is tried. */
  readonly tried: string
  /** Why no test holds it as it stands: the rule of `seed.md` or of the contract that decides otherwise. */
  readonly overruled?: string
}

export interface CaseGroup {
  readonly title: string
  readonly cases: readonly Case[]
}

/** @param rows number, what is tried and, where a rule decides otherwise, that rule */
export const group = (
  title: string,
  rows: readonly (readonly [number: string, tried: string, overruled?: string])[],
): CaseGroup => ({
  title,
  cases: rows.map(([number, tried, overruled]) => ({
    id: `N-${number}`,
    tried,
    ...(overruled !== undefined && { overruled }),
  })),
})
