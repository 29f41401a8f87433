import { DAY_MS, type SourceKind } from '@plainpath/domain'
import { listStatements, type Statement } from './statements.ts'

/** The number of days after `checked` for which a source stays fresh, by kind. Decision 30 gives the reasons. */
export const LIMIT_DAYS = {
  statute: 400,
  regulation: 400,
  'form-instructions': 200,
  'agency-page': 200,
  contact: 100,
} as const satisfies Record<SourceKind, number>

interface CheckedSource {
  readonly kind: SourceKind
  /** The date of the copy that was checked, as `YYYY-MM-DD`. */
  readonly checked: string
}

/** Returns the last time at which a source is fresh, in milliseconds since 1970. */
export const getFreshUntil = ({ kind, checked }: CheckedSource): number =>
  Date.parse(checked) + LIMIT_DAYS[kind] * DAY_MS

export const isStale = (source: CheckedSource, now: Date): boolean => now.getTime() > getFreshUntil(source)

/** Returns whether a statement has no fresh source. Without any source it is stale too, so removing a citation never makes it fresh. */
const isStatementStale = (statement: Statement, staleIds: ReadonlySet<string>): boolean =>
  statement.sources.every((id) => staleIds.has(id))

interface CitedText {
  readonly body: string
  readonly sources: readonly (CheckedSource & { readonly id: string })[]
}

const findStaleSourceIds = ({ sources }: Pick<CitedText, 'sources'>, now: Date): ReadonlySet<string> =>
  new Set(sources.filter((source) => isStale(source, now)).map(({ id }) => id))

/** Lists the statements of a text that are stale at `now`. */
export function listStaleStatements(text: CitedText, now: Date): readonly Statement[] {
  const staleIds = findStaleSourceIds(text, now)
  return listStatements(text.body).filter((statement) => isStatementStale(statement, staleIds))
}

/**
 * Returns the period around `now` in which no source becomes stale. It starts after `after` and includes `until`, in
 * milliseconds since 1970; either can be infinite. Values that depend on freshness may be cached for this period.
 */
export function findFreshnessPeriod(
  sources: readonly CheckedSource[],
  now: Date,
): { readonly after: number; readonly until: number } {
  const freshUntilTimes = sources.map(getFreshUntil)
  const nowMs = now.getTime()
  return {
    after: Math.max(...freshUntilTimes.filter((time) => time < nowMs)),
    until: Math.min(...freshUntilTimes.filter((time) => time >= nowMs)),
  }
}
