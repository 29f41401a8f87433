import { loadTriggers } from '@plainpath/answers'
import { Answer, type AnswersState } from '@plainpath/domain'
import { loadGuides } from '@plainpath/guides'
import type { Metrics } from '@plainpath/http'

/** The answer metrics. All label values are from fixed lists, so no metric can contain any part of a question. */
export interface AnswerMetrics {
  countAnswer(answer: Answer): void
  showState(state: AnswersState): void
}

const OUTCOMES = Answer.shape.outcome.options
const REASONS = Answer.shape.outOfScope.unwrap().shape.reason.options

/** Registers the answer metrics. */
export function createAnswerMetrics(metrics: Pick<Metrics, 'counters' | 'gauge'>): AnswerMetrics {
  const countOutcome = metrics.counters('answers_total', 'Answers by outcome', 'outcome', OUTCOMES)
  const countTrigger = metrics.counters(
    'answer_triggers_total',
    'Triggers that handed a person to an attorney',
    'trigger',
    loadTriggers().map(({ id }) => id),
  )
  const countReason = metrics.counters(
    'answer_refusals_total',
    'Questions that no guide answers, by reason',
    'reason',
    REASONS,
  )
  const countGuide = metrics.counters(
    'answer_guides_total',
    'Answers that showed a section of the guide',
    'guide',
    loadGuides().map(({ slug }) => slug),
  )
  const setPaused = metrics.gauge('answers_paused', '1 while operators have paused answers')
  const setUnavailable = metrics.gauge('answers_unavailable', '1 while answers cannot be made')
  const setWithdrawn = metrics.gauge('answers_withdrawn_sections', 'Sections that operators withdrew')
  const setDisabled = metrics.gauge('answers_disabled_triggers', 'Triggers that operators disabled')
  return {
    countAnswer({ outcome, passages, handOff, outOfScope }) {
      countOutcome(outcome)
      for (const { trigger } of handOff?.reasons ?? []) countTrigger(trigger)
      for (const guide of new Set(passages.map((passage) => passage.guide))) countGuide(guide)
      if (outOfScope) countReason(outOfScope.reason)
    },
    showState({ status, withdrawnSections, disabledTriggers }) {
      setPaused(status === 'paused' ? 1 : 0)
      setUnavailable(status === 'unavailable' ? 1 : 0)
      setWithdrawn(withdrawnSections.length)
      setDisabled(disabledTriggers.length)
    },
  }
}
