/** A heading, a paragraph or one item of a list; `section` is the level-2 heading above it, if any. */
export interface Block {
  readonly kind: 'heading' | 'paragraph' | 'item'
  readonly section: string | undefined
  readonly text: string
  /** Where its last line is among the lines of the body, from 0. */
  readonly lastLine: number
}

const HEADING = /^#{1,6} +/
const ITEM = /^(?:[-*+]|\d+\.) +/

/** Cuts a body into blocks. Guides use headings, paragraphs and flat lists only; a line that begins none goes on with the last. */
export function bodyBlocks(body: string): readonly Block[] {
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

/** Closes every guide, word for word, and is the API's `disclaimer`. */
export const DISCLAIMER =
  'This guide is information, not legal advice. It cannot tell you what to do in your own case. We are not a law firm, and we are not the government.'

/** The last two sections of every guide, in this order. */
export const CHANGES_HEADING = 'What changes often: check here'
export const ATTORNEY_HEADING = 'When to talk to an attorney'

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

/** The body up to its last section, for a page that shows `talkToAnAttorneyWhen`, the lists and the disclaimer in its own way. */
export const withoutAttorneySection = (body: string): string =>
  (body.split(`\n## ${ATTORNEY_HEADING}\n`)[0] ?? body).trimEnd()
