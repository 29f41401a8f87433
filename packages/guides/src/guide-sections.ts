import { ATTORNEY_HEADING, parseBlocks, SOURCE_MARKER } from './guide-body.ts'
import type { PackagedGuide } from './packaged-guide.ts'

/** The key of the section before the first level-2 heading. It has no anchor; the guide's own address leads to it. */
export const INTRO = 'intro'

/** A part of a guide: the text under one level-2 heading, or before the first. */
export interface GuideSection {
  readonly guide: string
  /** The heading's anchor on the guide page, or `intro`. */
  readonly key: string
  /** `slug#anchor`; for the introduction, the slug alone. */
  readonly id: string
  /** The section's heading; for the introduction, the guide's title. */
  readonly heading: string
  /** The Markdown without the heading. Paragraphs end in source markers `[^id]`. */
  readonly markdown: string
  /** The index in the guide's body at which `markdown` begins. */
  readonly start: number
  /** The text without heading, markers, link addresses and emphasis. It has one block per line. */
  readonly text: string
}

/** Returns the anchor that GitHub gives a heading: lower case, no punctuation, hyphens for spaces. */
export const toHeadingAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

/** Splits a guide into its sections, in order. Omits the attorney section. */
export function listGuideSections(
  guide: Pick<PackagedGuide, 'slug' | 'title' | 'body'>,
): readonly GuideSection[] {
  const { slug, title, body } = guide
  const headings = [...body.matchAll(/^## +(?<heading>.*)/gm)]
  const anchorCounts = new Map<string, number>()
  const sections = headings.map(({ index, 0: line, groups }, position) => {
    const heading = groups?.['heading']?.trim() ?? ''
    const anchor = toHeadingAnchor(heading)
    const earlierCount = anchorCounts.get(anchor) ?? 0
    anchorCounts.set(anchor, earlierCount + 1)
    const key = earlierCount === 0 ? anchor : `${anchor}-${earlierCount}`
    const start = index + line.length
    const part = body.slice(start, headings[position + 1]?.index)
    return buildSection(slug, { key, heading }, part, start)
  })
  const introduction = buildSection(
    slug,
    { key: INTRO, heading: title },
    body.slice(0, headings[0]?.index),
    0,
  )
  return [
    ...(introduction.markdown === '' ? [] : [introduction]),
    ...sections.filter(({ heading }) => heading !== ATTORNEY_HEADING),
  ]
}

/** @param partStart the index in the guide's body at which `part` begins */
function buildSection(
  guide: string,
  { key, heading }: Pick<GuideSection, 'key' | 'heading'>,
  part: string,
  partStart: number,
): GuideSection {
  const markdown = part.trim()
  return {
    guide,
    key,
    id: key === INTRO ? guide : `${guide}#${key}`,
    heading,
    markdown,
    start: partStart + part.indexOf(markdown),
    text: parseBlocks(markdown)
      .map(({ text }) => toPlainText(text))
      .join('\n'),
  }
}

/** Removes markers, link addresses and emphasis from a block. */
const toPlainText = (block: string): string =>
  block
    .replace(SOURCE_MARKER, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trim()
