import { ATTORNEY_HEADING, parseBlocks, SOURCE_MARKER } from './guide-body.ts'
import type { PackagedGuide } from './packaged-guide.ts'

/** The key of the section before the first level-2 heading. It has no anchor: its address is that of the guide. */
export const INTRO = 'intro'

/** A part of a guide between two level-2 headings. */
export interface GuideSection {
  readonly guide: string
  /** The anchor of its heading on the guide's page, or `intro`. */
  readonly key: string
  /** `slug#anchor`; for the introduction, the slug alone. */
  readonly id: string
  /** Its heading; for the introduction, the title of the guide. */
  readonly heading: string
  /** Without the heading. Paragraphs end in source markers `[^id]`. */
  readonly markdown: string
  /** Without heading, markers, addresses of links and emphasis. One block per line. */
  readonly text: string
}

/** Returns the anchor that GitHub gives a heading: lower case, no punctuation, hyphens for spaces. */
export const headingAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

/** Splits a guide into its sections, in order, without the last one, which refers people to an attorney. */
export function guideSections(
  guide: Pick<PackagedGuide, 'slug' | 'title' | 'body'>,
): readonly GuideSection[] {
  const [intro = '', ...rest] = guide.body.split(/^## +/m)
  const anchorCounts = new Map<string, number>()
  const sections = rest.map((part) => {
    const end = part.indexOf('\n')
    const heading = part.slice(0, end === -1 ? undefined : end).trim()
    const anchor = headingAnchor(heading)
    const before = anchorCounts.get(anchor) ?? 0
    anchorCounts.set(anchor, before + 1)
    const key = before === 0 ? anchor : `${anchor}-${before}`
    return buildSection(guide.slug, key, heading, end === -1 ? '' : part.slice(end))
  })
  const introduction = intro.trim() === '' ? [] : [buildSection(guide.slug, INTRO, guide.title, intro)]
  return [...introduction, ...sections.filter(({ heading }) => heading !== ATTORNEY_HEADING)]
}

function buildSection(guide: string, key: string, heading: string, part: string): GuideSection {
  const markdown = part.trim()
  return {
    guide,
    key,
    id: key === INTRO ? guide : `${guide}#${key}`,
    heading,
    markdown,
    text: parseBlocks(markdown)
      .map(({ text }) => plainText(text))
      .join('\n'),
  }
}

/** Removes markers, addresses of links and emphasis from a block. */
const plainText = (block: string): string =>
  block
    .replace(SOURCE_MARKER, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trim()
