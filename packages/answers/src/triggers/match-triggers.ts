import type { Clause } from '../language/clauses.ts'
import { splitClauses } from '../language/clauses.ts'
import type { TriggerFile } from './trigger-file.ts'

/** A trigger that the question states. */
export interface TriggerMatch {
  readonly trigger: string
  /** The person's words. */
  readonly matched: readonly string[]
  /** The patterns that matched, for `explain`. */
  readonly patterns: readonly string[]
  /** Indexes of the clauses that state it. */
  readonly clauses: readonly number[]
}

/** A trigger that is likely and not certain. */
export interface SuggestedCheck {
  readonly trigger: string
  /** From 0 to 1. */
  readonly score: number
  readonly patterns: readonly string[]
}

export interface TriggerReading {
  /** In the order of the triggers' precedence. */
  readonly matches: readonly TriggerMatch[]
  /** The likeliest first. */
  readonly weak: readonly SuggestedCheck[]
  readonly clauses: readonly Clause[]
  /** Whether a danger to a person is stated; such a question is handed off even if it asks for help to deceive. */
  readonly dangerStated: boolean
}

/** Reads which triggers a question states. */
export function readTriggers(question: string, triggers: readonly TriggerFile[], today: Date): TriggerReading {
  void triggers
  void today
  return { matches: [], weak: [], clauses: splitClauses(question), dangerStated: false }
}
