import type { QuestionType } from '@plainpath/guides'
import type { Knowledge } from './knowledge.ts'
import type { ShownPassage } from './passages.ts'
import { NEVER_COVERED } from './sections/choose-passages.ts'

/**
 * Describes what the passages may leave open; undefined if one of them answers the whole question. Requested types that are in
 * `NEVER_COVERED` are always open.
 */
export function describeLimits(
  passages: readonly ShownPassage[],
  requestedTypes: ReadonlySet<QuestionType>,
  { texts }: Knowledge,
): string | undefined {
  if (passages.some(({ answers }) => answers)) return undefined
  const coveredTypes = new Set(passages.flatMap(({ section }) => [...section.types]))
  const openSubjects: (keyof typeof texts.limitsOf)[] = [...requestedTypes].filter(
    (type) => !coveredTypes.has(type) || NEVER_COVERED.has(type),
  )
  // No passage answers the whole question, so a part of it may be open even if all types are covered.
  openSubjects.push('subject')
  return `${texts.limitsBegin} ${openSubjects.map((subject) => texts.limitsOf[subject]).join('; ')}.`
}
