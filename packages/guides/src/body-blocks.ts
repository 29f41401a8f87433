/** A heading, a paragraph or one item of a list; `section` is the level-2 heading above it, if any. */
export interface Block {
  readonly kind: 'heading' | 'paragraph' | 'item'
  readonly section: string | undefined
  readonly text: string
}

const HEADING = /^#{1,6} +/
const ITEM = /^(?:[-*+]|\d+\.) +/

/** Cuts a body into blocks. Guides use headings, paragraphs and flat lists only; a line that begins none goes on with the last. */
export function bodyBlocks(body: string): readonly Block[] {
  const blocks: Block[] = []
  let section: string | undefined
  let open = false
  for (const line of body.split('\n').map((raw) => raw.trim())) {
    const kind = HEADING.test(line) ? 'heading' : ITEM.test(line) ? 'item' : 'paragraph'
    const text = line.replace(HEADING, '').replace(ITEM, '')
    const last = blocks.at(-1)
    if (line === '') open = false
    else if (kind === 'paragraph' && open && last !== undefined)
      blocks[blocks.length - 1] = { ...last, text: `${last.text} ${text}` }
    else {
      if (line.startsWith('## ')) section = text
      blocks.push({ kind, section, text })
      open = kind !== 'heading'
    }
  }
  return blocks
}
