import { DAY_MS, type SourceKind } from '@plainpath/domain'
import { listStatements, type Statement } from './statements.ts'

/** The days after which a source that was read is stale, by kind. The reasons are in decision 30. */
export const LIMIT_DAYS = {
  statute: 400,
  regulation: 400,
  'form-instructions': 200,
  'agency-page': 200,
  contact: 100,
} as const satisfies Record<SourceKind, number>

interface ReadSource {
  readonly kind: SourceKind
  /** The day of the copy that was read, `YYYY-MM-DD`. */
  readonly checked: string
}

/** Returns the last moment at which a source is fresh, in milliseconds since 1970. */
export const getFreshUntil = ({ kind, checked }: ReadSource): number =>
  Date.parse(checked) + LIMIT_DAYS[kind] * DAY_MS

export const isStale = (source: ReadSource, now: Date): boolean => now.getTime() > getFreshUntil(source)

/** A statement is stale when all its sources are. One without sources is stale, too: removing a citation must not help. */
const isStatementStale = (statement: Statement, staleSources: ReadonlySet<string>): boolean =>
  statement.sources.every((id) => staleSources.has(id))

interface CitedText {
  readonly body: string
  readonly sources: readonly (ReadSource & { readonly id: string })[]
}

const staleSourceIds = ({ sources }: Pick<CitedText, 'sources'>, now: Date): ReadonlySet<string> =>
  new Set(sources.filter((source) => isStale(source, now)).map(({ id }) => id))

/** Lists the statements of a text that are stale at `now`. */
export function staleStatements(text: CitedText, now: Date): readonly Statement[] {
  const stale = staleSourceIds(text, now)
  return listStatements(text.body).filter((statement) => isStatementStale(statement, stale))
}

/**
 * Returns the period around `now` in which none of the sources becomes stale: after `after`, up to and including `until`, in
 * milliseconds since 1970. Values that depend on their freshness may be cached for this period.
 */
export function freshnessPeriod(
  sources: readonly ReadSource[],
  now: Date,
): { readonly after: number; readonly until: number } {
  const ends = sources.map(getFreshUntil)
  const at = now.getTime()
  return {
    after: Math.max(...ends.filter((end) => end < at)),
    until: Math.min(...ends.filter((end) => end >= at)),
  }
}
