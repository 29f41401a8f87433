import type { Answer } from '@plainpath/domain'
import { INTRO, isStale, numberSources } from '@plainpath/guides'
import type { Knowledge } from './knowledge.ts'
import type { IndexedSection } from './sections/section-index.ts'

/** A section that an answer shows. */
export interface ShownPassage {
  readonly section: IndexedSection
  /** True if the section answers the whole question. */
  readonly answers: boolean
}

/**
 * Builds a passage of an answer from a section, with the sources that it cites, in the order of their numbers. Links to our own
 * pages become absolute.
 */
export function buildPassage(
  { section, answers }: ShownPassage,
  { guides, origin }: Knowledge,
  today: Date,
): Answer['passages'][number] {
  const guide = guides.get(section.guide)
  if (guide === undefined) throw new Error(`no guide ${section.guide}`)
  const citedSources = guide.sources.filter(({ id }) => section.markdown.includes(`[^${id}]`))
  const { body, sources } = numberSources(section.markdown, citedSources)
  const anchor = section.key === INTRO ? '' : `#${section.key}`
  return {
    id: section.id,
    guide: section.guide,
    guideTitle: guide.title,
    heading: section.heading,
    text: section.text,
    markdown: body.replaceAll('](/', `](${origin}/`),
    url: `${origin}/guides/${section.guide}${anchor}`,
    answers,
    sources: sources.map((source) => {
      const { title, url, agency, checked } = source
      return { title, url, agency, checked, stale: isStale(source, today) }
    }),
  }
}
