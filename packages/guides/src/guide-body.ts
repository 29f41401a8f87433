/** A heading, a paragraph or a list item. */
export interface Block {
  readonly kind: 'heading' | 'paragraph' | 'item'
  /** The nearest level-2 heading above the block, or the block itself if it is one. */
  readonly section: string | undefined
  readonly text: string
  /** The zero-based index of the block's last line in the body. */
  readonly lastLine: number
}

const HEADING = /^#{1,6} +/
const ITEM = /^(?:[-*+]|\d+\.) +/

/**
 * Splits a body into blocks. Guides use only headings, paragraphs and flat lists. Other lines continue the paragraph or item on
 * the line before them.
 */
export function parseBlocks(body: string): readonly Block[] {
  const blocks: Block[] = []
  let section: string | undefined
  let isBlockOpen = false
  for (const [lastLine, line] of body
    .split('\n')
    .map((raw) => raw.trim())
    .entries()) {
    const kind = getBlockKind(line)
    const text = line.replace(HEADING, '').replace(ITEM, '')
    const previous = blocks.at(-1)
    if (line === '') isBlockOpen = false
    else if (kind === 'paragraph' && isBlockOpen && previous !== undefined)
      blocks[blocks.length - 1] = { ...previous, text: `${previous.text} ${text}`, lastLine }
    else {
      if (line.startsWith('## ')) section = text
      blocks.push({ kind, section, text, lastLine })
      isBlockOpen = kind !== 'heading'
    }
  }
  return blocks
}

function getBlockKind(line: string): Block['kind'] {
  if (HEADING.test(line)) return 'heading'
  return ITEM.test(line) ? 'item' : 'paragraph'
}

/** The last paragraph of every guide, word for word, and the API's `disclaimer`. */
export const DISCLAIMER =
  'This guide is information, not legal advice. It cannot tell you what to do in your own case. We are not a law firm, and we are not the government.'

/** The text of a section that operators withdrew. It states no fact, and no search finds it. */
export const WITHDRAWN_NOTICE =
  'We took the text of this section out for now. Look at the official pages that this guide names.'

/** The last two sections of every guide, in this order. */
export const CHANGES_HEADING = 'What changes often: check here'
export const ATTORNEY_HEADING = 'When to talk to an attorney'

/** Marks the source of a paragraph: `[^uscis-n400]`. */
export const SOURCE_MARKER = /\[\^([a-z0-9-]+)\]/g

/**
 * Replaces the source markers of a body with numbers, in the order of their first occurrence.
 *
 * @param formatMarker formats a number; by default as `[1]`. A page can pass `` (n) => `[${n}](#source-${n})` ``.
 * @returns the body, and the sources in the order of their numbers; sources without a marker come last
 * @throws {Error} if a marker has no source. `checkGuides` finds this mistake before a guide is published.
 */
export function numberSources<Source extends { readonly id: string }>(
  body: string,
  sources: readonly Source[],
  formatMarker: (number: number, source: Source) => string = (number) => `[${number}]`,
): { body: string; sources: readonly Source[] } {
  const numberedSources = new Map<string, { number: number; source: Source }>()
  const findOrNumberSource = (id: string) => {
    const earlierSource = numberedSources.get(id)
    if (earlierSource !== undefined) return earlierSource
    const source = sources.find((candidate) => candidate.id === id)
    if (source === undefined) throw new Error(`no source has the id "${id}"`)
    const numberedSource = { number: numberedSources.size + 1, source }
    numberedSources.set(id, numberedSource)
    return numberedSource
  }
  // In Markdown, `[1][2]` would be one link.
  const bodyWithSeparateMarkers = body.replaceAll('][^', '] [^')
  const text = bodyWithSeparateMarkers.replace(SOURCE_MARKER, (_, id: string) => {
    const { number, source } = findOrNumberSource(id)
    return formatMarker(number, source)
  })
  const uncitedSources = sources.filter(({ id }) => !numberedSources.has(id))
  return {
    body: text,
    sources: [...[...numberedSources.values()].map(({ source }) => source), ...uncitedSources],
  }
}

/** Removes the attorney section, which comes last, and the disclaimer in it. The search index leaves them out. */
export const removeAttorneySection = (body: string): string =>
  (body.split(`\n## ${ATTORNEY_HEADING}\n`)[0] ?? body).trimEnd()
