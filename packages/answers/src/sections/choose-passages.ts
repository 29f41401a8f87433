import type { QuestionType } from '@plainpath/guides'
import type { ShownPassage } from '../passages.ts'
import type { SectionHit, SectionReading } from './section-index.ts'

const MOST_PASSAGES = 5
const MOST_GUIDES = 3
/** How many sections one guide may have: the first guide, and each other. */
const MOST_OF = { first: 3, other: 2 }
/** A passage of less than this share of the best one's score is left out. */
const LEAST_SHARE = 0.4

/** Figures and rules that change: guides name the official page instead, so no section fully answers. */
const NEVER_COVERED: ReadonlySet<QuestionType> = new Set(['cost', 'latest'])

/** The sections to show, the best first: most from the best guide, and some from the next ones. */
export function choosePassages({ hits, types }: SectionReading): readonly ShownPassage[] {
  const chosen: SectionHit[] = []
  const counts = new Map<string, number>()
  const least = (hits[0]?.score ?? 0) * LEAST_SHARE
  for (const hit of hits) {
    if (chosen.length === MOST_PASSAGES || hit.score < least) break
    const { guide } = hit.section
    const count = counts.get(guide) ?? 0
    const most = guide === (chosen[0]?.section.guide ?? guide) ? MOST_OF.first : MOST_OF.other
    if (count >= most || (count === 0 && counts.size === MOST_GUIDES)) continue
    counts.set(guide, count + 1)
    chosen.push(hit)
  }
  return chosen.map(({ section, typeMatches, askShare }) => {
    const changes = [...types].some((type) => NEVER_COVERED.has(type))
    return { section, answers: !changes && (types.size === 0 ? askShare >= 0.5 : typeMatches) }
  })
}
