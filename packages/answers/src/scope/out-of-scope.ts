import type { SectionReading } from '../sections/section-index.ts'
import { type OutOfScopeReason, type ScopeRules, scopeWords } from './scope-rules.ts'

export interface OutOfScopeReading {
  readonly reason: OutOfScopeReason
  /** A key of `official-links.yaml`. */
  readonly link?: string
  /** True if it takes precedence over triggers that are not urgent. */
  readonly firm?: boolean
  /** The rule that decided, for `explain`. */
  readonly rule: string
}

/** Finds out whether the question requests help to deceive. */
export function findDeceit(question: string, { rules }: ScopeRules): OutOfScopeReading | undefined {
  const words = scopeWords(question)
  const rule = rules.find(({ reason, holds }) => reason === 'asks-to-deceive' && holds(words))
  return rule && { reason: rule.reason, rule: rule.id }
}

/**
 * Finds out whether the question is about another country's law, another subject, or a programme without a guide.
 *
 * @param guides the slugs of the guides that are published
 */
export function findOtherSubject(
  question: string,
  { rules }: ScopeRules,
  guides: ReadonlySet<string>,
): OutOfScopeReading | undefined {
  const words = scopeWords(question)
  const rule = rules.find(
    ({ reason, weak, unlessGuide, holds }) =>
      reason !== 'asks-to-deceive' &&
      !weak &&
      !(unlessGuide !== undefined && guides.has(unlessGuide)) &&
      holds(words),
  )
  if (rule === undefined) return undefined
  const { reason, link, firm, id } = rule
  return { reason, rule: id, firm, ...(link !== undefined && { link }) }
}

/** The weights of evidence that the guides cover a question, in addition to the score of the nearest ask. */
const EVIDENCE = {
  immigration: 0.6,
  near: 0.2,
  otherTopic: -0.45,
  weakRule: -1.5,
  likelyTriggers: 1,
  otherSubject: -4,
}
/** With less evidence, the guides do not cover the question. Chosen on the questions of two of five authors. */
const LEAST_EVIDENCE = 2

/**
 * Finds out whether the guides cover too little of the question to answer it.
 *
 * @param likely `triggers`: the sum of the scores of likely triggers, which are evidence that the question is about immigration;
 *   `other`: the probability of another subject
 */
export function findUncovered(
  question: string,
  reading: SectionReading,
  likely: { readonly triggers: number; readonly other: number },
  rules: ScopeRules,
): OutOfScopeReading | undefined {
  const words = scopeWords(question)
  const immigration = rules.immigrationPhrases(words)
  const other = rules.otherTopic(words)
  const weakRule = rules.rules.find(({ weak, holds }) => weak && holds(words))
  const evidence =
    reading.nearestAsk +
    immigration * EVIDENCE.immigration +
    rules.nearPhrases(words) * EVIDENCE.near +
    other.words * EVIDENCE.otherTopic +
    (weakRule === undefined ? 0 : EVIDENCE.weakRule) +
    likely.triggers * EVIDENCE.likelyTriggers +
    likely.other * EVIDENCE.otherSubject
  if (evidence >= LEAST_EVIDENCE) return undefined
  if (weakRule !== undefined) return { reason: weakRule.reason, rule: weakRule.id }
  if (other.words >= 2) return { reason: 'other-subject', rule: `topic ${other.topic}` }
  return { reason: immigration > 0 ? 'no-guide' : 'not-understood', rule: 'too little evidence' }
}
