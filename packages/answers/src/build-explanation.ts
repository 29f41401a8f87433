import type { Answer } from '@plainpath/domain'
import { type QuestionReading, selectLikelyTriggers } from './read-question.ts'

const MAX_SCORES = 10

/**
 * Builds the diagnostic data of an answer. `rules` lists the patterns of the stated triggers, then those of triggers that are only
 * likely (`weak`), which suggest checks, and last the rule that decided.
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
      ask: roundToHundredths(scoreParts.ask),
      guide: roundToHundredths(scoreParts.guide),
      typeMatches,
    })),
  }
}

const roundToHundredths = (score: number): number => Math.round(score * 100) / 100
