import type { Classification, LikelyTrigger } from './likely-triggers.ts'
import type { TriggerFile } from './trigger-file.ts'

/**
 * The minimum evidence for a hand-off. The evidence is the mean of two logarithms, of the model's probabilities of any trigger
 * and of the likeliest one, plus the evidence of a pattern and of urgency, less the evidence of guides and of other subjects. The
 * probability of any trigger would be a worse sign by itself, because words that the model does not know add a little to each
 * trigger. The numbers were fitted to labelled questions from which the model did not learn.
 */
export const MIN_EVIDENCE = -0.65
/** The evidence that is added if a pattern states the trigger that is likeliest according to the model. */
const PATTERN_EVIDENCE = 1.2
/** The evidence that is added if the likeliest trigger is urgent: to miss one does more harm than a needless hand-off. */
const URGENT_EVIDENCE = 0.25
/** The weights of the logarithms of the probabilities of guides and of other subjects. The latter logarithm has a minimum. */
const GUIDE_WEIGHT = 0.15
const OTHER_SUBJECT_WEIGHT = 0.25
const MIN_OTHER_SUBJECT_LOG = -3

/** What patterns and the model say about a text. */
export interface ClassifiedText {
  /** What patterns state, by trigger. */
  readonly statedEvents: ReadonlyMap<string, unknown>
  readonly classification: Classification
  /** The enabled triggers that the model knows, the likeliest first. */
  readonly likelyTriggers: readonly LikelyTrigger[]
}

/** Computes the evidence for a hand-off. Patterns alone decide if the model knows none of the enabled triggers. */
export function computeEvidence(
  triggers: readonly TriggerFile[],
  { statedEvents, classification: { otherSubject }, likelyTriggers }: ClassifiedText,
): number {
  const [likeliest] = likelyTriggers
  if (likeliest === undefined) return statedEvents.size > 0 ? Infinity : -Infinity
  const anyTrigger = sumProbabilities(likelyTriggers)
  const modelEvidence = (computeLog(anyTrigger) + computeLog(likeliest.probability)) / 2
  const patternEvidence = statedEvents.has(likeliest.trigger) ? PATTERN_EVIDENCE : 0
  const isUrgent = triggers.find(({ id }) => id === likeliest.trigger)?.urgency === 'urgent'
  const urgentEvidence = isUrgent ? URGENT_EVIDENCE : 0
  const evidenceOfSubjects =
    GUIDE_WEIGHT * computeLog(1 - anyTrigger - otherSubject) +
    OTHER_SUBJECT_WEIGHT * Math.max(computeLog(otherSubject), MIN_OTHER_SUBJECT_LOG)
  return modelEvidence + patternEvidence + urgentEvidence - evidenceOfSubjects
}

/** Computes the logarithm of a probability. A probability below 0.0001 counts as 0.0001, so the result is finite. */
const computeLog = (probability: number): number => Math.log(Math.max(probability, 1e-4))

export const sumProbabilities = (triggers: readonly LikelyTrigger[]): number =>
  triggers.reduce((sum, { probability }) => sum + probability, 0)
