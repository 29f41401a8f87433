import { loadTriggers } from '@plainpath/answers'
import { Answer, type AnswersState } from '@plainpath/domain'
import { loadGuides } from '@plainpath/guides'
import type { Metrics } from '@plainpath/http'

/** Counts answers. All labels are from fixed lists, so that no metric contains a part of a question. */
export interface AnswerMetrics {
  countAnswer(answer: Answer): void
  showState(state: AnswersState): void
}

const OUTCOMES = Answer.shape.outcome.options
const REASONS = Answer.shape.outOfScope.unwrap().shape.reason.options

export function answerMetrics(metrics: Pick<Metrics, 'counters' | 'gauge'>): AnswerMetrics {
  const outcomes = metrics.counters('answers_total', 'Answers by outcome', 'outcome', OUTCOMES)
  const triggers = metrics.counters(
    'answer_triggers_total',
    'Triggers that handed a person to an attorney',
    'trigger',
    loadTriggers().map(({ id }) => id),
  )
  const reasons = metrics.counters(
    'answer_refusals_total',
    'Questions that no guide answers, by reason',
    'reason',
    REASONS,
  )
  const guides = metrics.counters(
    'answer_guides_total',
    'Answers that showed a section of the guide',
    'guide',
    loadGuides().map(({ slug }) => slug),
  )
  const paused = metrics.gauge('answers_paused', '1 while operators have paused answers')
  const unavailable = metrics.gauge('answers_unavailable', '1 while answers cannot be made')
  const withdrawn = metrics.gauge('answers_withdrawn_sections', 'Sections that operators withdrew')
  const disabled = metrics.gauge('answers_disabled_triggers', 'Triggers that operators disabled')
  return {
    countAnswer({ outcome, passages, handOff, outOfScope }) {
      outcomes(outcome)
      for (const { trigger } of handOff?.reasons ?? []) triggers(trigger)
      for (const guide of new Set(passages.map((passage) => passage.guide))) guides(guide)
      if (outOfScope) reasons(outOfScope.reason)
    },
    showState({ status, withdrawnSections, disabledTriggers }) {
      paused(status === 'paused' ? 1 : 0)
      unavailable(status === 'unavailable' ? 1 : 0)
      withdrawn(withdrawnSections.length)
      disabled(disabledTriggers.length)
    },
  }
}
