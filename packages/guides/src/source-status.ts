import type { SourceKind } from '@plainpath/domain'
import { getFreshUntil, LIMIT_DAYS, staleStatements } from './freshness.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { listStatements } from './statements.ts'

/** A source that becomes stale within these days is due to be read again. */
const DUE_DAYS = 30
const DAY_MS = 86_400_000

/** The roles that read sources again, by kind. Decision 30 describes them. */
const OWNERS = {
  statute: 'legal editor',
  regulation: 'legal editor',
  'form-instructions': 'content editor',
  'agency-page': 'content editor',
  contact: 'support desk',
} as const satisfies Record<SourceKind, string>

type SourceState = 'stale' | 'due' | 'fresh'

/** A source as it was read on one day, for all guides that cite it. Days are `YYYY-MM-DD`. */
interface SourceStatus {
  readonly title: string
  readonly url: string
  readonly agency: string
  readonly kind: SourceKind
  readonly owner: string
  readonly checked: string
  readonly limitDays: number
  /** The last day on which it is fresh. */
  readonly freshUntil: string
  readonly state: SourceState
  readonly guides: readonly string[]
}

interface GuideStatus {
  readonly slug: string
  readonly statements: number
  readonly staleStatements: number
  /** The stale sources of its stale statements as `id (day)`, and `no source` if a statement has none. */
  readonly why: readonly string[]
}

export interface FreshnessStatus {
  readonly guides: readonly GuideStatus[]
  /** Oldest reading first. */
  readonly sources: readonly SourceStatus[]
}

type RatedGuide = Pick<PackagedGuide, 'slug' | 'body'> & {
  readonly sources: readonly Pick<
    PackagedGuide['sources'][number],
    'id' | 'title' | 'url' | 'agency' | 'kind' | 'checked'
  >[]
}

/** Reports what is stale or due at `now`, by guide and by source. */
export function freshnessStatus(guides: readonly RatedGuide[], now: Date): FreshnessStatus {
  return { guides: guides.map((guide) => guideStatus(guide, now)), sources: sourceStatuses(guides, now) }
}

function guideStatus(guide: RatedGuide, now: Date): GuideStatus {
  const stale = staleStatements(guide, now)
  const reasons = guide.sources.filter(({ id }) => stale.some(({ sources }) => sources.includes(id)))
  const unsupported = stale.some(({ sources }) => sources.length === 0)
  return {
    slug: guide.slug,
    statements: listStatements(guide.body).length,
    staleStatements: stale.length,
    why: [...reasons.map(({ id, checked }) => `${id} (${checked})`), ...(unsupported ? ['no source'] : [])],
  }
}

function sourceStatuses(guides: readonly RatedGuide[], now: Date): SourceStatus[] {
  const readings = guides.flatMap((guide) => guide.sources.map((source) => ({ ...source, slug: guide.slug })))
  const byReading = Map.groupBy(readings, ({ url, kind, checked }) => [checked, kind, url].join(' '))
  return [...byReading.values()]
    .flatMap(([first, ...others]) => {
      if (!first) return []
      const { title, url, agency, kind, checked } = first
      const until = getFreshUntil(first)
      return {
        ...{ title, url, agency, kind, checked },
        owner: OWNERS[kind],
        limitDays: LIMIT_DAYS[kind],
        freshUntil: new Date(until).toISOString().slice(0, 10),
        state: classify(until, now),
        guides: [...new Set([first, ...others].map(({ slug }) => slug))],
      }
    })
    .toSorted((a, b) => (a.checked === b.checked ? (a.url < b.url ? -1 : 1) : a.checked < b.checked ? -1 : 1))
}

function classify(until: number, now: Date): SourceState {
  if (now.getTime() > until) return 'stale'
  return now.getTime() > until - DUE_DAYS * DAY_MS ? 'due' : 'fresh'
}

/** Formats the status as text: what is due by agency and kind, every guide, every source by age. */
export function describeStatus({ guides, sources }: FreshnessStatus): string {
  const stale = guides.filter(({ staleStatements: count }) => count > 0)
  const statements = sum(guides.map((guide) => guide.statements))
  const count = sum(guides.map(({ staleStatements: each }) => each))
  return [
    `${count} of ${statements} statements are stale, in ${stale.length} of ${guides.length} guides.`,
    '',
    'TO READ AGAIN, by agency and kind',
    ...formatTable(['stale', 'due', 'of', 'kind', 'owner', 'agency'], listDueGroups(sources)),
    '',
    'GUIDES',
    ...formatTable(
      ['guide', 'statements', 'stale', 'why'],
      guides.map(({ slug, statements: all, staleStatements: old, why }) => [slug, all, old, why.join(', ')]),
    ),
    '',
    'SOURCES, oldest reading first',
    ...formatTable(
      ['checked', 'fresh until', 'state', 'kind', 'owner', 'address', 'guides'],
      sources.map((each) => [
        ...[each.checked, each.freshUntil, each.state, each.kind, each.owner, each.url],
        each.guides.join(', '),
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

/** Formats rows under their names, each column as wide as its widest cell. */
function formatTable(names: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const table = [names, ...rows]
  const widths = names.map((_, at) => Math.max(...table.map((row) => String(row[at]).length)))
  return table.map((row) =>
    row
      .map((cell, at) => String(cell).padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
