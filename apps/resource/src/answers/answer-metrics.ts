import { loadTriggers } from '@plainpath/answers'
import { Answer, type AnswersState } from '@plainpath/domain'
import { loadGuides } from '@plainpath/guides'
import type { Metrics } from '@plainpath/http'

/**
 * The metrics of answers. Labels are outcomes, reasons, trigger ids and guide slugs, so no metric contains a part of a question.
 */
export interface AnswerMetrics {
  countAnswer(answer: Answer): void
  recordState(state: AnswersState): void
}

const OUTCOMES = Answer.shape.outcome.options
const REASONS = Answer.shape.outOfScope.unwrap().shape.reason.options

/** Creates the metrics of answers. Every label value of this release is exported as 0 before it is first counted. */
export function createAnswerMetrics(
  metrics: Pick<Metrics, 'createLabelledCounter' | 'createGauge'>,
): AnswerMetrics {
  const countOutcome = metrics.createLabelledCounter(
    'answers_total',
    'Answers by outcome',
    'outcome',
    OUTCOMES,
  )
  const countTrigger = metrics.createLabelledCounter(
    'answer_triggers_total',
    'Hand-offs to an attorney, by trigger',
    'trigger',
    loadTriggers().map(({ id }) => id),
  )
  const countReason = metrics.createLabelledCounter(
    'answer_refusals_total',
    'Questions that were out of scope, by reason',
    'reason',
    REASONS,
  )
  const countGuide = metrics.createLabelledCounter(
    'answer_guides_total',
    'Answers that show a section of a guide, by guide',
    'guide',
    loadGuides().map(({ slug }) => slug),
  )
  const setPaused = metrics.createGauge(
    'answers_paused',
    '1 while operators have paused answers that would otherwise be available',
  )
  const setUnavailable = metrics.createGauge('answers_unavailable', '1 while answers are unavailable')
  const setWithdrawn = metrics.createGauge(
    'answers_withdrawn_sections',
    'Sections that operators have withdrawn',
  )
  const setDisabled = metrics.createGauge(
    'answers_disabled_triggers',
    'Triggers that operators have disabled',
  )
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
