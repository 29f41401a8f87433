import type { Answer } from '@plainpath/domain'
import { type QuestionReading, selectLikelyTriggers } from './read-question.ts'

const MAX_SCORES = 10

/**
 * Builds the diagnostic data of an answer. `scores` has the best sections, at most `MAX_SCORES`. `rules` lists, in this order:
 *
 * - the patterns of each stated trigger, as `trigger/pattern`
 * - the patterns of each trigger that is likely but not stated, as `weak trigger/pattern`
 * - the rule that decided
 *
 * A pattern is its id, or `likely` if only the model reports the trigger.
 * The defusers of a weak pattern follow it: `pattern/defuser`.
 */
export function buildExplanation(
  { language, triggers, sections }: QuestionReading,
  rule: string,
): Answer['explain'] {
  return {
    language,
    rules: [
      ...triggers.matches.flatMap(({ trigger, patterns }) => patterns.map((id) => `${trigger}/${id}`)),
      ...selectLikelyTriggers(triggers).flatMap(({ trigger, patterns }) =>
        patterns.map((id) => `weak ${trigger}/${id}`),
      ),
      rule,
    ],
    questionTypes: [...sections.types],
    scores: sections.hits.slice(0, MAX_SCORES).map(({ section, score, scoreParts, typeMatches }) => ({
      id: section.id,
      score: roundToHundredths(score),
      section: roundToHundredths(scoreParts.section),
      // The score of the section's nearest ask: a question that the section answers, or one that is only near its subject.
      ask: roundToHundredths(scoreParts.ask),
      guide: roundToHundredths(scoreParts.guide),
      typeMatches,
    })),
  }
}

const roundToHundredths = (score: number): number => Math.round(score * 100) / 100
