import { ATTORNEY_HEADING, bodyBlocks, SOURCE_MARKER } from './guide-body.ts'
import type { PackagedGuide } from './packaged-guide.ts'

/** What stands before the first level-2 heading is the section of this key. It has no anchor: its address is the guide's. */
export const INTRO = 'intro'

/** A part of a guide between two level-2 headings. */
export interface GuideSection {
  readonly guide: string
  /** The anchor of its heading on the guide's page, or `intro`. */
  readonly key: string
  /** `slug#anchor`; of the introduction, the slug alone. */
  readonly id: string
  /** Its heading; of the introduction, the guide's title. */
  readonly heading: string
  /** Without the heading; paragraphs end in source markers `[^id]`. */
  readonly markdown: string
  /** Without the heading, markers, links' addresses and emphasis; one block a line. */
  readonly text: string
}

/** The anchor of a heading as GitHub makes it: lower case, no punctuation, hyphens for spaces. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

/** The sections of a guide in its order, without the closing one that sends people to an attorney. */
export function guideSections(
  guide: Pick<PackagedGuide, 'slug' | 'title' | 'body'>,
): readonly GuideSection[] {
  const [intro = '', ...rest] = guide.body.split(/^## +/m)
  const taken = new Map<string, number>()
  const sections = rest.map((part) => {
    const end = part.indexOf('\n')
    const heading = part.slice(0, end === -1 ? undefined : end).trim()
    const anchor = anchorOf(heading)
    const before = taken.get(anchor) ?? 0
    taken.set(anchor, before + 1)
    const key = before === 0 ? anchor : `${anchor}-${before}`
    return section(guide.slug, key, heading, end === -1 ? '' : part.slice(end))
  })
  const first = intro.trim() === '' ? [] : [section(guide.slug, INTRO, guide.title, intro)]
  return [...first, ...sections.filter(({ heading }) => heading !== ATTORNEY_HEADING)]
}

function section(guide: string, key: string, heading: string, part: string): GuideSection {
  const markdown = part.trim()
  return {
    guide,
    key,
    id: key === INTRO ? guide : `${guide}#${key}`,
    heading,
    markdown,
    text: bodyBlocks(markdown)
      .map(({ text }) => plainText(text))
      .join('\n'),
  }
}

/** A block without markers, links' addresses and emphasis. */
const plainText = (block: string): string =>
  block
    .replace(SOURCE_MARKER, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trim()
