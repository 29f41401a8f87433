import { computeLogOdds } from '../triggers/likely-triggers.ts'
import { type OutOfScopeReason, type ScopeRules, toScopeWords } from './scope-rules.ts'

export interface OutOfScopeMatch {
  readonly reason: OutOfScopeReason
  /** A key of `official-links.yaml`. */
  readonly link?: string
  /** True if this result takes precedence over triggers that are not urgent. */
  readonly firm?: boolean
  /** The reason in `explain`: the id of the rule that matched, or words such as `too little evidence`. */
  readonly rule: string
}

/** Detects a question that asks for help with deceiving someone. */
export function findDeceit(question: string, { rules }: ScopeRules): OutOfScopeMatch | undefined {
  const words = toScopeWords(question)
  const rule = rules.find(({ reason, matches }) => reason === 'asks-to-deceive' && matches(words))
  return rule && { reason: rule.reason, rule: rule.id }
}

/**
 * Detects a question about another country's law, another subject, or a programme without a guide. Weak rules count only in
 * `findUncovered`.
 *
 * @param guides the slugs of the published guides
 */
export function findOtherSubject(
  question: string,
  { rules }: ScopeRules,
  guides: ReadonlySet<string>,
): OutOfScopeMatch | undefined {
  const words = toScopeWords(question)
  const rule = rules.find(
    ({ reason, weak, unlessGuide, matches }) =>
      reason !== 'asks-to-deceive' &&
      !weak &&
      !(unlessGuide !== undefined && guides.has(unlessGuide)) &&
      matches(words),
  )
  if (rule === undefined) return undefined
  const { reason, link, firm, id } = rule
  return { reason, rule: id, firm, ...(link !== undefined && { link }) }
}

/** Below this probability of another subject, a question counts as one about immigration. */
const MIN_OTHER_SUBJECT_PROBABILITY = 0.1

/**
 * Returns false if the model is sure that a question is about immigration. Words of another subject, such as taxes or a driver's
 * license, then merely describe the circumstances.
 *
 * @param probability the model's probability of another subject
 */
export const mayBeOtherSubject = (probability: number): boolean =>
  probability >= MIN_OTHER_SUBJECT_PROBABILITY

/**
 * The guides cover a question if its evidence is at least `MIN_EVIDENCE`. The evidence is `SIMILARITY_WEIGHT` times the
 * question's similarity, less the log-odds of another subject, and less `WEAK_RULE_WEIGHT` if a weak rule matches. A question
 * with a certain phrase counts as one about immigration, whatever the model's probability of another subject is. The numbers were
 * fitted to labelled questions, leaving out one group of authors at a time.
 */
const SIMILARITY_WEIGHT = 20
const WEAK_RULE_WEIGHT = 1.7
const MIN_EVIDENCE = 4.2
/** A question with a lower similarity has hardly a word in common with any question that the guides answer. */
const MIN_UNDERSTOOD_SIMILARITY = 0.1

/**
 * Detects a question that the guides do not cover. The reason is that of a matching weak rule, or else `no-guide`,
 * `other-subject` or `not-understood`.
 *
 * @param similarity the similarity to the labelled questions of the closest section, from 0 to 1
 * @param probability the model's probability of another subject
 */
export function findUncovered(
  question: string,
  similarity: number,
  probability: number,
  scope: ScopeRules,
): OutOfScopeMatch | undefined {
  const words = toScopeWords(question)
  const weakRule = scope.rules.find(({ weak, matches }) => weak && matches(words))
  const otherSubject = scope.isCertain(words)
    ? Math.min(probability, MIN_OTHER_SUBJECT_PROBABILITY)
    : probability
  const evidence =
    SIMILARITY_WEIGHT * similarity -
    computeLogOdds(otherSubject) -
    (weakRule === undefined ? 0 : WEAK_RULE_WEIGHT)
  if (evidence >= MIN_EVIDENCE) return undefined
  if (weakRule !== undefined) return { reason: weakRule.reason, rule: weakRule.id }
  if (scope.isAboutImmigration(words)) return { reason: 'no-guide', rule: 'too little evidence' }
  return {
    reason: similarity >= MIN_UNDERSTOOD_SIMILARITY ? 'other-subject' : 'not-understood',
    rule: 'too little evidence',
  }
}
