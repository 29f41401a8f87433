import { logOdds } from '../triggers/likely-triggers.ts'
import { type OutOfScopeReason, type ScopeRules, toScopeWords } from './scope-rules.ts'

export interface OutOfScopeReading {
  readonly reason: OutOfScopeReason
  /** A key of `official-links.yaml`. */
  readonly link?: string
  /** True if this result takes precedence over triggers that are not urgent. */
  readonly firm?: boolean
  /** The rule that matched, for `explain`. */
  readonly rule: string
}

/** Detects a question that asks for help to deceive. */
export function findDeceit(question: string, { rules }: ScopeRules): OutOfScopeReading | undefined {
  const words = toScopeWords(question)
  const rule = rules.find(({ reason, matches }) => reason === 'asks-to-deceive' && matches(words))
  return rule && { reason: rule.reason, rule: rule.id }
}

/**
 * Detects a question about another country's law, another subject, or a programme without a guide.
 *
 * @param guides the slugs of the published guides
 */
export function findOtherSubject(
  question: string,
  { rules }: ScopeRules,
  guides: ReadonlySet<string>,
): OutOfScopeReading | undefined {
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

/** Below this probability of another subject, the model is sure that even a short question is about immigration. */
const MIN_OTHER_SUBJECT_PROBABILITY = 0.1

/**
 * Returns false if the model is sure that a question is about immigration. Words of another subject, such as taxes or a driver's
 * license, then only describe the circumstances.
 *
 * @param probability the model's probability of another subject
 */
export const mayBeOtherSubject = (probability: number): boolean =>
  probability >= MIN_OTHER_SUBJECT_PROBABILITY

/**
 * The guides cover a question if its similarity to the questions that sections answer outweighs the log-odds of another subject, and a
 * weak rule. The numbers were fitted to labelled questions by left-out authors.
 */
const SIMILARITY_WEIGHT = 20
const WEAK_RULE_WEIGHT = 1.7
const MIN_EVIDENCE = 3.8
/** With less similarity, a question shares hardly a word with the questions that sections answer. */
const MIN_UNDERSTOOD_SIMILARITY = 0.1

/**
 * Detects a question that the guides do not cover.
 *
 * @param similarity the similarity to the questions of the most similar section, from 0 to 1
 * @param probability the model's probability of another subject
 */
export function findUncovered(
  question: string,
  similarity: number,
  probability: number,
  rules: ScopeRules,
): OutOfScopeReading | undefined {
  const words = toScopeWords(question)
  const weakRule = rules.rules.find(({ weak, matches }) => weak && matches(words))
  const evidence =
    SIMILARITY_WEIGHT * similarity - logOdds(probability) - (weakRule === undefined ? 0 : WEAK_RULE_WEIGHT)
  if (evidence >= MIN_EVIDENCE) return undefined
  if (weakRule !== undefined) return { reason: weakRule.reason, rule: weakRule.id }
  if (rules.isAboutImmigration(words)) return { reason: 'no-guide', rule: 'too little evidence' }
  return {
    reason: similarity >= MIN_UNDERSTOOD_SIMILARITY ? 'other-subject' : 'not-understood',
    rule: 'too little evidence',
  }
}
