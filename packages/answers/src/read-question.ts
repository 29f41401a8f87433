import type { AnswerRequest } from '@plainpath/domain'
import type { Knowledge } from './knowledge.ts'
import { detectLanguage, type QuestionLanguage } from './scope/question-language.ts'
import type { SectionReading } from './sections/section-index.ts'
import { readTriggers, type SuggestedCheck, type TriggerReading } from './triggers/match-triggers.ts'

/** The result of reading a question, from which the answer is decided. */
export interface QuestionReading {
  readonly question: string
  readonly language: QuestionLanguage
  readonly triggers: TriggerReading
  readonly sections: SectionReading
  /** The facts that the request states: for each trigger id, whether the trigger applies to the person. */
  readonly facts: Readonly<Record<string, boolean>>
}

/** Detects a question's language, its triggers, and the sections that match it. This takes most of the time of an answer. */
export function readQuestion(
  { question, facts }: AnswerRequest,
  knowledge: Knowledge,
  today: Date,
): QuestionReading {
  const triggers = readTriggers(question, knowledge.triggers, today)
  return {
    question,
    language: detectLanguage(question, knowledge.sections.isKnownWord),
    triggers,
    sections: knowledge.sections.find(question, triggers.likelySubjects),
    facts: facts ?? {},
  }
}

/** The minimum score (see `SuggestedCheck`) of a likely trigger. An answer from sections asks whether such a trigger applies. */
const MIN_LIKELY_SCORE = 0.03

/** Selects the triggers that are likely although the question does not state them. */
export const selectLikelyTriggers = ({ suggestedChecks }: TriggerReading): readonly SuggestedCheck[] =>
  suggestedChecks.filter(({ score }) => score >= MIN_LIKELY_SCORE)
