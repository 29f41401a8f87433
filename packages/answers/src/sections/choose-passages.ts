import { INTRO, type QuestionType } from '@plainpath/guides'
import type { ShownPassage } from '../passages.ts'
import type { SectionHit, SectionReading } from './section-index.ts'

const MAX_PASSAGES = 5
const MAX_GUIDES = 4
/** The maximum number of sections from the best section's guide, and from each other guide. */
const MAX_SECTIONS = { bestGuide: 3, otherGuide: 1 }
/** The minimum score of a section, as a share of the best score. */
const MIN_SCORE_SHARES = { bestGuide: 0.4, otherGuide: 0.5 }

/** The types of information that change often. Guides link to the official page instead, so no section fully answers them. */
export const NEVER_COVERED: ReadonlySet<QuestionType> = new Set(['cost', 'latest'])

/** The key of the section with links to official pages, for information that changes often. */
const CHANGES_KEY = 'what-changes-often-check-here'

/**
 * The requirements for a section to count as the answer: the share of its nearest ask that is in the question, and the ratios of
 * its score to the second and third scores. If sections compete, each covers at most a part of the question.
 */
const ANSWER_REQUIREMENTS = { minAskShare: 0.5, minLeadOverSecond: 1.04, minLeadOverThird: 1.3 }

/**
 * Chooses the sections to show, best first and five at most: up to three from the best section's guide, and one each from up to
 * three other guides.
 */
export function choosePassages({ hits, types, questionCount }: SectionReading): readonly ShownPassage[] {
  const bestHit = hits[0]
  if (bestHit === undefined) return []
  const chosenHits: SectionHit[] = []
  const countsByGuide = new Map<string, number>()
  for (const hit of hits) {
    if (chosenHits.length === MAX_PASSAGES) break
    const { guide } = hit.section
    const guideRank = guide === bestHit.section.guide ? 'bestGuide' : 'otherGuide'
    const count = countsByGuide.get(guide) ?? 0
    if (hit.score < bestHit.score * MIN_SCORE_SHARES[guideRank] || count === MAX_SECTIONS[guideRank]) continue
    if (count === 0 && countsByGuide.size === MAX_GUIDES) continue
    countsByGuide.set(guide, count + 1)
    chosenHits.push(hit)
  }
  const isWholeQuestionAnswered =
    questionCount <= 1 &&
    [...types].every((type) => bestHit.section.types.has(type) && !NEVER_COVERED.has(type)) &&
    isClearlyBest(hits)
  return chosenHits.map((hit) => ({
    section: hit.section,
    answers: hit === bestHit && isWholeQuestionAnswered,
  }))
}

/** Returns whether the best section answers an ask that is near the question, and clearly leads the next two sections. */
function isClearlyBest([best, second, third]: readonly SectionHit[]): boolean {
  if (
    best === undefined ||
    !best.isAskAnswered ||
    best.section.key === CHANGES_KEY ||
    best.section.key === INTRO
  )
    return false
  return (
    best.askShare >= ANSWER_REQUIREMENTS.minAskShare &&
    best.score >= ANSWER_REQUIREMENTS.minLeadOverSecond * (second?.score ?? 0) &&
    best.score >= ANSWER_REQUIREMENTS.minLeadOverThird * (third?.score ?? 0)
  )
}
