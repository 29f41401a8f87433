import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'

/** What publishing does with a guide, or the reason why it does nothing. */
export type PublishingStep =
  | 'add'
  | 'change'
  | 'same'
  /** The version in the file is older than the served version. */
  | 'older'
  /** The guide is a draft in this release. A published version stays served. */
  | 'draft'
  /** The guide was retired, and a retired guide is never published again. */
  | 'retired'
  /** The guide is served, but not part of this release. It stays until it is retired. */
  | 'not-in-release'
  /** The guide is refused, because its content differs from the published content of the same version. */
  | 'version-not-raised'

export interface PlannedGuide {
  readonly slug: string
  readonly step: PublishingStep
  /** The served version, or the last one of a retired guide. Absent if the store does not have the guide. */
  readonly from?: number
  /** The version in the file of this release. Absent if the release does not have the guide. */
  readonly to?: number
  /** The names of the guide's members that differ from the stored version, sorted. */
  readonly differs: readonly string[]
}

/** The served version of a guide in the store. */
export interface StoredState {
  readonly content: PackagedGuide
  readonly isRetired: boolean
}

/** Compares the files of a release with the served guides. `stored` is keyed by slug. */
export function createPublishingPlan(
  releaseGuides: readonly PackagedGuide[],
  stored: ReadonlyMap<string, StoredState>,
): readonly PlannedGuide[] {
  const releasePlans = releaseGuides.map((guide) => planGuide(guide, stored.get(guide.slug)))
  const releaseSlugs = new Set(releaseGuides.map(({ slug }) => slug))
  const otherPlans = [...stored]
    .filter(([slug]) => !releaseSlugs.has(slug))
    .map(([slug, { content, isRetired }]): PlannedGuide => {
      const step = isRetired ? 'retired' : 'not-in-release'
      return { slug, step, from: content.version, differs: [] }
    })
  return [...releasePlans, ...otherPlans].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
}

function planGuide(guide: PackagedGuide, stored: StoredState | undefined): PlannedGuide {
  const { slug, version: to } = guide
  if (!stored) return { slug, step: guide.status === 'draft' ? 'draft' : 'add', to, differs: [] }
  const from = stored.content.version
  const differs = findDifferences(guide, stored.content)
  return { slug, step: chooseStep(guide, stored, differs), from, to, differs }
}

function chooseStep(guide: PackagedGuide, stored: StoredState, differs: readonly string[]): PublishingStep {
  if (stored.isRetired) return 'retired'
  if (guide.status === 'draft') return 'draft'
  if (differs.length === 0) return 'same'
  if (guide.version < stored.content.version) return 'older'
  return guide.version === stored.content.version ? 'version-not-raised' : 'change'
}

function findDifferences(a: PackagedGuide, b: PackagedGuide): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof PackagedGuide>
  return [...names].filter((name) => !isDeepStrictEqual(a[name], b[name])).toSorted()
}
