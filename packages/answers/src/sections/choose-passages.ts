import type { QuestionType } from '@plainpath/guides'
import type { ShownPassage } from '../passages.ts'
import type { SectionHit, SectionReading } from './section-index.ts'

const MOST_PASSAGES = 5
const MOST_GUIDES = 3
/** How many sections one guide may have: the best section's guide, and each other. */
const MOST_OF = { first: 3, other: 1 }
/** A passage with less than this share of the best one's score is left out. */
const LEAST_SHARE = { first: 0.4, other: 0.6 }

/** Figures and rules that change: guides name the official page instead, so no section fully answers. */
export const NEVER_COVERED: ReadonlySet<QuestionType> = new Set(['cost', 'latest'])

/** The section of each guide that only links official pages, for what changes often. */
const CHANGES = 'what-changes-often-check-here'

/**
 * How near an ask of the section must be for the section to count as an answer, and how many times the next section's
 * score its own must be: where two sections compete, each covers a part at most.
 */
const LEAST_ASK = { score: 3.2, share: 0.7, lead: 1.2 }
/** What is enough where the question says the whole ask and names the kind of thing that it wants to know. */
const LEAST_WHOLE_ASK = { score: 2.6, share: 0.99, lead: 1.05 }

/** The sections to show, the best first: most from the best section's guide, and one each from the next two. */
export function choosePassages({ hits, types }: SectionReading): readonly ShownPassage[] {
  const best = hits[0]
  if (best === undefined) return []
  const chosen: SectionHit[] = []
  const counts = new Map<string, number>()
  for (const hit of hits) {
    if (chosen.length === MOST_PASSAGES) break
    const { guide } = hit.section
    const place = guide === best.section.guide ? 'first' : 'other'
    const count = counts.get(guide) ?? 0
    if (hit.score < best.score * LEAST_SHARE[place] || count === MOST_OF[place]) continue
    if (count === 0 && counts.size === MOST_GUIDES) continue
    counts.set(guide, count + 1)
    chosen.push(hit)
  }
  const lead = best.score / (hits[1]?.score ?? best.score)
  return chosen.map((hit) => ({
    section: hit.section,
    answers: hit === best && answers(hit, types, lead),
  }))
}

/** Whether the section covers what was asked: an ask of it is near, and it answers every kind of question that was asked. */
function answers(
  { section, ask, askShare, answersAsk }: SectionHit,
  types: ReadonlySet<QuestionType>,
  lead: number,
): boolean {
  if (!answersAsk || section.key === CHANGES) return false
  if ([...types].some((type) => NEVER_COVERED.has(type) || !section.types.has(type))) return false
  const reaches = (least: typeof LEAST_ASK) =>
    ask >= least.score && askShare >= least.share && lead >= least.lead
  return reaches(LEAST_ASK) || (types.size > 0 && reaches(LEAST_WHOLE_ASK))
}
