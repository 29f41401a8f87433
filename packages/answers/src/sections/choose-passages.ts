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
const ANSWER_REQUIREMENTS = { minAskShare: 0.5, minLeadOverSecond: 1.2, minLeadOverThird: 1.3 }

/**
 * A question counts as an ask in other words if what they share is at least these parts of their information. The section of the
 * ask then needs less of a lead over the second.
 */
const SAME_QUESTION = { minAskShare: 0.8, minQuestionShare: 0.5, minLeadOverSecond: 1.04 }

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
    ![...types].some((type) => NEVER_COVERED.has(type)) &&
    (isAskInOtherWords(bestHit, types)
      ? isClearlyBest(hits, SAME_QUESTION.minLeadOverSecond)
      : givesEachType(bestHit, types) && isClearlyBest(hits, ANSWER_REQUIREMENTS.minLeadOverSecond))
  return chosenHits.map((hit) => ({
    section: hit.section,
    answers: hit === bestHit && isWholeQuestionAnswered,
  }))
}

/**
 * Returns whether the question is the nearest ask of the section in other words, and asks for no other type of information. Then
 * even an introduction may answer it.
 */
const isAskInOtherWords = (
  { askShare, questionShare, askTypes }: SectionHit,
  types: ReadonlySet<QuestionType>,
): boolean =>
  askShare >= SAME_QUESTION.minAskShare &&
  questionShare >= SAME_QUESTION.minQuestionShare &&
  [...types].every((type) => askTypes.has(type))

/** Returns whether a section gives each requested type of information. An introduction only mentions its subject. */
const givesEachType = ({ section }: SectionHit, types: ReadonlySet<QuestionType>): boolean =>
  section.key !== INTRO && [...types].every((type) => section.types.has(type))

/** Returns whether the best section answers an ask that is near the question, and clearly leads the next two sections. */
function isClearlyBest([best, second, third]: readonly SectionHit[], minLeadOverSecond: number): boolean {
  if (best === undefined || !best.isAskAnswered || best.section.key === CHANGES_KEY) return false
  return (
    best.askShare >= ANSWER_REQUIREMENTS.minAskShare &&
    best.score >= minLeadOverSecond * (second?.score ?? 0) &&
    best.score >= ANSWER_REQUIREMENTS.minLeadOverThird * (third?.score ?? 0)
  )
}
