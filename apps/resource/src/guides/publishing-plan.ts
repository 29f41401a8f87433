import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'
import { findMissingSections } from './answer-switches.ts'

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
  /** The guide is refused, because the version in the file lacks a withdrawn section. Its text may be under another heading. */
  | 'withdrawn-section-missing'

export interface PlannedGuide {
  readonly slug: string
  readonly step: PublishingStep
  /** The served version, or the last one of a retired guide. Absent if the store does not have the guide. */
  readonly from?: number
  /** The version in the file of this release. Absent if the release does not have the guide. */
  readonly to?: number
  /** The names of the guide's members that differ from the stored version, sorted. */
  readonly differs: readonly string[]
  /** The ids of the withdrawn sections that the version in the file lacks. Present only for `withdrawn-section-missing`. */
  readonly missingSections?: readonly string[]
}

/** The served version of a guide in the store. */
export interface StoredState {
  readonly content: PackagedGuide
  readonly isRetired: boolean
}

/**
 * Compares the files of a release with the served guides.
 *
 * @param stored the served guides by slug
 * @param withdrawnSections the ids of all withdrawn sections
 */
export function createPublishingPlan(
  releaseGuides: readonly PackagedGuide[],
  stored: ReadonlyMap<string, StoredState>,
  withdrawnSections: readonly string[],
): readonly PlannedGuide[] {
  const releasePlans = releaseGuides.map((guide) => {
    const planned = planGuide(guide, stored.get(guide.slug))
    const missingSections = isChange(planned) ? findMissingSections(guide, withdrawnSections) : []
    if (missingSections.length === 0) return planned
    return { ...planned, step: 'withdrawn-section-missing' as const, missingSections }
  })
  const releaseSlugs = new Set(releaseGuides.map(({ slug }) => slug))
  const otherPlans = [...stored]
    .filter(([slug]) => !releaseSlugs.has(slug))
    .map(([slug, { content, isRetired }]): PlannedGuide => {
      const step = isRetired ? 'retired' : 'not-in-release'
      return { slug, step, from: content.version, differs: [] }
    })
  return [...releasePlans, ...otherPlans].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
}

/** Returns whether publishing stores a new version of the guide. */
export const isChange = ({ step }: PlannedGuide): boolean => step === 'add' || step === 'change'

/** Returns whether the guide is refused. Then no guide is published. */
export const isRefused = ({ step }: PlannedGuide): boolean =>
  step === 'version-not-raised' || step === 'withdrawn-section-missing'

/** Says for each withdrawn section that the version in the file lacks how the guide can be published. */
export const describeMissingSections = ({ to, missingSections = [] }: PlannedGuide): string =>
  missingSections
    .map((id) => {
      // The id of an introduction is the slug alone. In a command, it ends in `#intro`.
      const [section, partToKeep] = id.includes('#') ? [id, 'heading'] : [`${id}#intro`, 'introduction']
      return `version ${to} lacks the withdrawn section ${section}: keep its ${partToKeep}, or first run "guides restore ${section}"`
    })
    .join('; ')

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
