import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'

/** The effect of publishing on one guide, or the reason why it has none. */
export type PublishingStep =
  | 'add'
  | 'change'
  | 'same'
  /** The version of the file is older than the served one. */
  | 'older'
  | 'draft'
  | 'retired'
  /** Served, but not part of this release. It stays until it is retired. */
  | 'not-in-release'
  /** The content differs from the published one under the same version: refused. */
  | 'version-not-raised'

export interface PlannedGuide {
  readonly slug: string
  readonly step: PublishingStep
  /** The served version. */
  readonly from?: number
  /** The version of the file. */
  readonly to?: number
  /** The members of the guide that differ. */
  readonly differs: readonly string[]
}

/** A guide in the store: the content of its file when it was published. */
export interface StoredState {
  readonly content: PackagedGuide
  readonly retired: boolean
}

/** Compares the files of a release with the served guides, by slug. */
export function publishingPlan(
  packaged: readonly PackagedGuide[],
  stored: ReadonlyMap<string, StoredState>,
): readonly PlannedGuide[] {
  const planned = packaged.map((guide) => planGuide(guide, stored.get(guide.slug)))
  const inRelease = new Set(packaged.map(({ slug }) => slug))
  const others = [...stored]
    .filter(([slug]) => !inRelease.has(slug))
    .map(([slug, { content, retired }]): PlannedGuide => {
      const step = retired ? 'retired' : 'not-in-release'
      return { slug, step, from: content.version, differs: [] }
    })
  return [...planned, ...others].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
}

function planGuide(guide: PackagedGuide, stored: StoredState | undefined): PlannedGuide {
  const { slug, version: to } = guide
  if (!stored) return { slug, step: guide.status === 'draft' ? 'draft' : 'add', to, differs: [] }
  const from = stored.content.version
  const differs = findDifferences(guide, stored.content)
  return { slug, step: stepFor(guide, stored, differs), from, to, differs }
}

function stepFor(guide: PackagedGuide, stored: StoredState, differs: readonly string[]): PublishingStep {
  if (stored.retired) return 'retired'
  if (guide.status === 'draft') return 'draft'
  if (differs.length === 0) return 'same'
  if (guide.version < stored.content.version) return 'older'
  return guide.version === stored.content.version ? 'version-not-raised' : 'change'
}

function findDifferences(a: PackagedGuide, b: PackagedGuide): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof PackagedGuide>
  return [...names].filter((name) => !isDeepStrictEqual(a[name], b[name])).toSorted()
}
