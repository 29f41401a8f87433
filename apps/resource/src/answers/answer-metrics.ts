import { loadTriggers } from '@plainpath/answers'
import { Answer, type AnswersState } from '@plainpath/domain'
import { loadGuides } from '@plainpath/guides'
import type { Metrics } from '@plainpath/http'

/** The metrics of answers. Labels are outcomes, reasons, trigger ids and guide slugs, so no metric has any part of a question. */
export interface AnswerMetrics {
  countAnswer(answer: Answer): void
  recordState(state: AnswersState): void
}

const OUTCOMES = Answer.shape.outcome.options
const REASONS = Answer.shape.outOfScope.unwrap().shape.reason.options

/** Creates the metrics of answers. Every label value of this release is exported as 0 before it is first counted. */
export function createAnswerMetrics(metrics: Pick<Metrics, 'counters' | 'gauge'>): AnswerMetrics {
  const countOutcome = metrics.counters('answers_total', 'Answers by outcome', 'outcome', OUTCOMES)
  const countTrigger = metrics.counters(
    'answer_triggers_total',
    'Hand-offs to an attorney, by trigger',
    'trigger',
    loadTriggers().map(({ id }) => id),
  )
  const countReason = metrics.counters(
    'answer_refusals_total',
    'Questions that were out of scope, by reason',
    'reason',
    REASONS,
  )
  const countGuide = metrics.counters(
    'answer_guides_total',
    'Answers that show a section of a guide, by guide',
    'guide',
    loadGuides().map(({ slug }) => slug),
  )
  const setPaused = metrics.gauge(
    'answers_paused',
    '1 while operators have paused answers that would otherwise be available',
  )
  const setUnavailable = metrics.gauge('answers_unavailable', '1 while answers are unavailable')
  const setWithdrawn = metrics.gauge('answers_withdrawn_sections', 'Sections that operators have withdrawn')
  const setDisabled = metrics.gauge('answers_disabled_triggers', 'Triggers that operators have disabled')
  return {
    countAnswer({ outcome, passages, handOff, outOfScope }) {
      countOutcome(outcome)
      for (const { trigger } of handOff?.reasons ?? []) countTrigger(trigger)
      for (const guide of new Set(passages.map((passage) => passage.guide))) countGuide(guide)
      if (outOfScope) countReason(outOfScope.reason)
    },
    recordState({ status, withdrawnSections, disabledTriggers }) {
      setPaused(status === 'paused' ? 1 : 0)
      setUnavailable(status === 'unavailable' ? 1 : 0)
      setWithdrawn(withdrawnSections.length)
      setDisabled(disabledTriggers.length)
    },
  }
}
