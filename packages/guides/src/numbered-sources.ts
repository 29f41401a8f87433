/** A paragraph's pointer at a source: `[^uscis-n400]`. */
export const SOURCE_MARKER = /\[\^([a-z0-9-]+)\]/g

/**
 * Turns the markers of a body into numbers, in the order in which they are first met.
 *
 * @param mark how a number is written; `[1]` when not given. A page may give `` (n) => `[${n}](#source-${n})` ``.
 * @returns the body, and the sources in the order of their numbers (source 1 first, unmentioned ones last).
 * @throws Error when a marker names no source; `checkGuides` finds that before a guide is published.
 */
export function withNumberedSources<Source extends { readonly id: string }>(
  body: string,
  sources: readonly Source[],
  mark: (number: number, source: Source) => string = (number) => `[${number}]`,
): { body: string; sources: readonly Source[] } {
  const numbered = new Map<string, { number: number; source: Source }>()
  const numberOf = (id: string) => {
    const known = numbered.get(id)
    if (known !== undefined) return known
    const source = sources.find((candidate) => candidate.id === id)
    if (source === undefined) throw new Error(`no source has the id "${id}"`)
    const entry = { number: numbered.size + 1, source }
    numbered.set(id, entry)
    return entry
  }
  const apart = body.replaceAll('][^', '] [^')
  const text = apart.replace(SOURCE_MARKER, (_, id: string) => {
    const { number, source } = numberOf(id)
    return mark(number, source)
  })
  const unmentioned = sources.filter(({ id }) => !numbered.has(id))
  return { body: text, sources: [...[...numbered.values()].map(({ source }) => source), ...unmentioned] }
}
