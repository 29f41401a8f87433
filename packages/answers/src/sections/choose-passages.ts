import type { QuestionType } from '@plainpath/guides'
import type { ShownPassage } from '../passages.ts'
import type { SectionHit, SectionReading } from './section-index.ts'

const MOST_PASSAGES = 5
const MOST_GUIDES = 3
/** The most sections of one guide: of the guide of the best section, and of each other guide. */
const MOST_SECTIONS = { first: 3, other: 1 }
/** Sections with less than this share of the best score are left out. */
const LEAST_SHARE = { first: 0.4, other: 0.6 }

/** The types of questions about what changes often. Guides link the official page instead, so no section fully answers them. */
export const NEVER_COVERED: ReadonlySet<QuestionType> = new Set(['cost', 'latest'])

/** The section of each guide that only links official pages, for what changes often. */
const CHANGES = 'what-changes-often-check-here'

/**
 * The requirements for a section to count as an answer: the score and share of its nearest ask, and its lead, the ratio of its score
 * to that of the next section. If two sections compete, each covers at most a part of the question.
 */
const LEAST_ASK = { score: 3.2, share: 0.7, lead: 1.2 }
/** Lower requirements, for a question that contains the whole ask and names the type of information that it requests. */
const LEAST_WHOLE_ASK = { score: 2.6, share: 0.99, lead: 1.05 }

/** Chooses the sections to show, the best first: most from the guide of the best section, and one each from two other guides. */
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
    if (hit.score < best.score * LEAST_SHARE[place] || count === MOST_SECTIONS[place]) continue
    if (count === 0 && counts.size === MOST_GUIDES) continue
    counts.set(guide, count + 1)
    chosen.push(hit)
  }
  const lead = best.score / (hits[1]?.score ?? best.score)
  return chosen.map((hit) => ({
    section: hit.section,
    answers: hit === best && coversQuestion(hit, types, lead),
  }))
}

/** Tells whether a section answers the whole question: one of its asks is near, and it gives every requested type of information. */
function coversQuestion(
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
