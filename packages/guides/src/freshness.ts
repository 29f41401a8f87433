import { DAY_MS, type SourceKind } from '@plainpath/domain'
import { type Statement, statementsOf } from './statements.ts'

/** For how many days a reading of a source counts; docs/decisions/0030-freshness-is-judged-by-statement.md says why. */
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

/** The last moment at which a source is not stale, in milliseconds since 1970. */
export const freshUntil = ({ kind, checked }: ReadSource): number =>
  Date.parse(checked) + LIMIT_DAYS[kind] * DAY_MS

export const isStale = (source: ReadSource, now: Date): boolean => now.getTime() > freshUntil(source)

/** True when all sources that support a statement are stale, and so when it has none: a citation that is taken away cannot help. */
const isStaleStatement = (statement: Statement, staleSources: ReadonlySet<string>): boolean =>
  statement.sources.every((id) => staleSources.has(id))

interface CitedText {
  readonly body: string
  readonly sources: readonly (ReadSource & { readonly id: string })[]
}

const staleSourceIds = ({ sources }: Pick<CitedText, 'sources'>, now: Date): ReadonlySet<string> =>
  new Set(sources.filter((source) => isStale(source, now)).map(({ id }) => id))

/** The statements of a text that are stale at `now`. */
export function staleStatements(text: CitedText, now: Date): readonly Statement[] {
  const stale = staleSourceIds(text, now)
  return statementsOf(text.body).filter((statement) => isStaleStatement(statement, stale))
}

/** While what is said of the freshness of these sources stays as it is at `now`: after `after`, up to and with `until`, in ms since 1970. */
export function freshnessPeriod(
  sources: readonly ReadSource[],
  now: Date,
): { readonly after: number; readonly until: number } {
  const ends = sources.map(freshUntil)
  const at = now.getTime()
  return {
    after: Math.max(...ends.filter((end) => end < at)),
    until: Math.min(...ends.filter((end) => end >= at)),
  }
}
