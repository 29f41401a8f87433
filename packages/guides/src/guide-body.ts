/** A heading, a paragraph or one item of a list; `section` is the level-2 heading above it, if any. */
export interface Block {
  readonly kind: 'heading' | 'paragraph' | 'item'
  readonly section: string | undefined
  readonly text: string
  /** The index of its last line in the body, from 0. */
  readonly lastLine: number
}

const HEADING = /^#{1,6} +/
const ITEM = /^(?:[-*+]|\d+\.) +/

/**
 * Splits a body into blocks. Guides use headings, paragraphs and flat lists only. A line that begins no block continues the
 * block before it.
 */
export function parseBlocks(body: string): readonly Block[] {
  const blocks: Block[] = []
  let section: string | undefined
  let open = false
  for (const [lastLine, line] of body
    .split('\n')
    .map((raw) => raw.trim())
    .entries()) {
    const kind = HEADING.test(line) ? 'heading' : ITEM.test(line) ? 'item' : 'paragraph'
    const text = line.replace(HEADING, '').replace(ITEM, '')
    const last = blocks.at(-1)
    if (line === '') open = false
    else if (kind === 'paragraph' && open && last !== undefined)
      blocks[blocks.length - 1] = { ...last, text: `${last.text} ${text}`, lastLine }
    else {
      if (line.startsWith('## ')) section = text
      blocks.push({ kind, section, text, lastLine })
      open = kind !== 'heading'
    }
  }
  return blocks
}

/** The last paragraph of every guide, word for word, and the API's `disclaimer`. */
export const DISCLAIMER =
  'This guide is information, not legal advice. It cannot tell you what to do in your own case. We are not a law firm, and we are not the government.'

/** The last two sections of every guide, in this order. */
export const CHANGES_HEADING = 'What changes often: check here'
export const ATTORNEY_HEADING = 'When to talk to an attorney'

/** Marks the source of a paragraph: `[^uscis-n400]`. */
export const SOURCE_MARKER = /\[\^([a-z0-9-]+)\]/g

/**
 * Replaces the source markers of a body by numbers, in the order of their first occurrence.
 *
 * @param mark formats a number; `[1]` when absent. A page may pass `` (n) => `[${n}](#source-${n})` ``.
 * @returns the body, and the sources in the order of their numbers; sources without a marker come last
 * @throws {Error} when a marker names no source. `checkGuides` finds this before a guide is published.
 */
export function withNumberedSources<Source extends { readonly id: string }>(
  body: string,
  sources: readonly Source[],
  mark: (number: number, source: Source) => string = (number) => `[${number}]`,
): { body: string; sources: readonly Source[] } {
  const numbered = new Map<string, { number: number; source: Source }>()
  const assignNumber = (id: string) => {
    const assigned = numbered.get(id)
    if (assigned !== undefined) return assigned
    const source = sources.find((candidate) => candidate.id === id)
    if (source === undefined) throw new Error(`no source has the id "${id}"`)
    const entry = { number: numbered.size + 1, source }
    numbered.set(id, entry)
    return entry
  }
  const separated = body.replaceAll('][^', '] [^')
  const text = separated.replace(SOURCE_MARKER, (_, id: string) => {
    const { number, source } = assignNumber(id)
    return mark(number, source)
  })
  const unmentioned = sources.filter(({ id }) => !numbered.has(id))
  return { body: text, sources: [...[...numbered.values()].map(({ source }) => source), ...unmentioned] }
}

/** Returns the body without its last section, for a page that renders triggers, attorney lists and disclaimer itself. */
export const withoutAttorneySection = (body: string): string =>
  (body.split(`\n## ${ATTORNEY_HEADING}\n`)[0] ?? body).trimEnd()
