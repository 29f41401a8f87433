import { DAY_MS, type SourceKind } from '@plainpath/domain'
import { getFreshUntil, LIMIT_DAYS, listStaleStatements } from './freshness.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { listStatements } from './statements.ts'

/** A source is due for a new check when it becomes stale within this many days. */
const DUE_DAYS = 30

/** The role that checks each kind of source. Decision 30 describes the roles. */
const OWNERS = {
  statute: 'legal editor',
  regulation: 'legal editor',
  'form-instructions': 'content editor',
  'agency-page': 'content editor',
  contact: 'support desk',
} as const satisfies Record<SourceKind, string>

type SourceState = 'stale' | 'due' | 'fresh'

/** A source as checked on one day, for all guides that cite it. Days are `YYYY-MM-DD`. */
interface SourceStatus {
  readonly title: string
  readonly url: string
  readonly agency: string
  readonly kind: SourceKind
  readonly owner: string
  readonly checked: string
  readonly limitDays: number
  /** The last day on which the source is fresh. */
  readonly freshUntil: string
  readonly state: SourceState
  readonly guides: readonly string[]
}

interface GuideStatus {
  readonly slug: string
  readonly statements: number
  readonly staleStatements: number
  /** The sources of the stale statements as `id (day)`, and `no source` if a statement has none. */
  readonly why: readonly string[]
}

export interface FreshnessStatus {
  readonly guides: readonly GuideStatus[]
  /** Sorted by check date, oldest first. */
  readonly sources: readonly SourceStatus[]
}

type CheckedGuide = Pick<PackagedGuide, 'slug' | 'body'> & {
  readonly sources: readonly Pick<
    PackagedGuide['sources'][number],
    'id' | 'title' | 'url' | 'agency' | 'kind' | 'checked'
  >[]
}

/** Returns the freshness of each guide and source at `now`. */
export function summarizeFreshness(guides: readonly CheckedGuide[], now: Date): FreshnessStatus {
  return { guides: guides.map((guide) => summarizeGuide(guide, now)), sources: summarizeSources(guides, now) }
}

function summarizeGuide(guide: CheckedGuide, now: Date): GuideStatus {
  const staleStatements = listStaleStatements(guide, now)
  const staleSources = guide.sources.filter(({ id }) =>
    staleStatements.some(({ sources }) => sources.includes(id)),
  )
  const lacksSource = staleStatements.some(({ sources }) => sources.length === 0)
  return {
    slug: guide.slug,
    statements: listStatements(guide.body).length,
    staleStatements: staleStatements.length,
    why: [
      ...staleSources.map(({ id, checked }) => `${id} (${checked})`),
      ...(lacksSource ? ['no source'] : []),
    ],
  }
}

function summarizeSources(guides: readonly CheckedGuide[], now: Date): SourceStatus[] {
  const citations = guides.flatMap((guide) =>
    guide.sources.map((source) => ({ ...source, slug: guide.slug })),
  )
  const citationsByCheck = Map.groupBy(citations, ({ url, kind, checked }) => [checked, kind, url].join(' '))
  return [...citationsByCheck.values()]
    .flatMap(([first, ...others]) => {
      if (!first) return []
      const { title, url, agency, kind, checked } = first
      const freshUntil = getFreshUntil(first)
      return {
        title,
        url,
        agency,
        kind,
        checked,
        owner: OWNERS[kind],
        limitDays: LIMIT_DAYS[kind],
        freshUntil: new Date(freshUntil).toISOString().slice(0, 10),
        state: getState(freshUntil, now),
        guides: [...new Set([first, ...others].map(({ slug }) => slug))],
      }
    })
    .toSorted(compareByCheckDate)
}

/** Compares sources by check date, and sources of the same date by URL. */
function compareByCheckDate(a: SourceStatus, b: SourceStatus): number {
  if (a.checked !== b.checked) return a.checked < b.checked ? -1 : 1
  return a.url < b.url ? -1 : 1
}

function getState(freshUntil: number, now: Date): SourceState {
  if (now.getTime() > freshUntil) return 'stale'
  return now.getTime() > freshUntil - DUE_DAYS * DAY_MS ? 'due' : 'fresh'
}

/** Formats the status as text: counts of stale and due sources by agency and kind, then all guides, then all sources by age. */
export function describeStatus({ guides, sources }: FreshnessStatus): string {
  const staleGuides = guides.filter((guide) => guide.staleStatements > 0)
  const statementCount = sum(guides.map((guide) => guide.statements))
  const staleCount = sum(guides.map((guide) => guide.staleStatements))
  return [
    `${staleCount} of ${statementCount} statements are stale, in ${staleGuides.length} of ${guides.length} guides.`,
    '',
    'TO READ AGAIN, by agency and kind',
    ...formatTable(['stale', 'due', 'of', 'kind', 'owner', 'agency'], listDueGroups(sources)),
    '',
    'GUIDES',
    ...formatTable(
      ['guide', 'statements', 'stale', 'why'],
      guides.map(({ slug, statements, staleStatements, why }) => [
        slug,
        statements,
        staleStatements,
        why.join(', '),
      ]),
    ),
    '',
    'SOURCES, oldest reading first',
    ...formatTable(
      ['checked', 'fresh until', 'state', 'kind', 'owner', 'address', 'guides'],
      sources.map((source) => [
        source.checked,
        source.freshUntil,
        source.state,
        source.kind,
        source.owner,
        source.url,
        source.guides.join(', '),
      ]),
    ),
  ].join('\n')
}

function listDueGroups(sources: readonly SourceStatus[]): Cell[][] {
  const groups = Map.groupBy(sources, ({ agency, kind }) => `${agency}\n${kind}`)
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group
      if (!first) return []
      const [stale, due] = (['stale', 'due'] as const).map(
        (state) => group.filter((source) => source.state === state).length,
      )
      return [[stale ?? 0, due ?? 0, group.length, first.kind, first.owner, first.agency] satisfies Cell[]]
    })
    .filter(([stale, due]) => Number(stale) + Number(due) > 0)
    .toSorted((a, b) => Number(b[0]) - Number(a[0]))
}

type Cell = string | number

/** Formats rows under column names. Each column is as wide as its widest cell. */
function formatTable(columnNames: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const table = [columnNames, ...rows]
  const widths = columnNames.map((_, column) => Math.max(...table.map((row) => String(row[column]).length)))
  return table.map((row) =>
    row
      .map((cell, column) => String(cell).padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
