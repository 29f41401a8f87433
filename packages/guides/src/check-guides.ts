import { statedDates, statedFees, statedProcessingTimes } from './checks/changing-fact-checks.ts'
import { checkedAfterUpdated, datesAfterNewestCopy, impossibleReview } from './checks/date-checks.ts'
import {
  differingTriggers,
  missingAttorneyLists,
  missingAttorneySection,
  missingChangesSection,
  missingDisclaimer,
} from './checks/ending-checks.ts'
import type { CheckContext, GuideCheck } from './checks/guide-check.ts'
import { linksToUnknownGuides, linksToUnofficialHosts, malformedLinks } from './checks/link-checks.ts'
import {
  paragraphsWithoutSource,
  unknownSources,
  unofficialSources,
  unusedSources,
} from './checks/source-checks.ts'
import { gradeTooHigh, otherMarkup, repeatedSummary } from './checks/wording-checks.ts'
import type { PackagedGuide } from './packaged-guide.ts'

/** Each check by the mistake it finds. */
export const GUIDE_CHECKS = {
  'paragraph-without-source': paragraphsWithoutSource,
  'unknown-source': unknownSources,
  'unused-source': unusedSources,
  'unofficial-source': unofficialSources,
  'fee-stated': statedFees,
  'date-stated': statedDates,
  'processing-time-stated': statedProcessingTimes,
  'malformed-link': malformedLinks,
  'unofficial-link': linksToUnofficialHosts,
  'unknown-guide-linked': linksToUnknownGuides,
  'grade-too-high': gradeTooHigh,
  'summary-repeated': repeatedSummary,
  'other-markup': otherMarkup,
  'changes-section-missing': missingChangesSection,
  'attorney-section-missing': missingAttorneySection,
  'attorney-triggers-differ': differingTriggers,
  'attorney-lists-missing': missingAttorneyLists,
  'disclaimer-missing': missingDisclaimer,
  'checked-after-updated': checkedAfterUpdated,
  'date-after-newest-copy': datesAfterNewestCopy,
  'impossible-review': impossibleReview,
} satisfies Record<string, GuideCheck>

export type GuideCheckName = keyof typeof GUIDE_CHECKS

export interface GuideFinding {
  readonly slug: string
  readonly check: GuideCheckName
  readonly detail: string
}

/** Runs every check over guides that are to be published together. An empty answer means that none has a mistake. */
export function checkGuides(guides: readonly PackagedGuide[], now: Date): readonly GuideFinding[] {
  const context: CheckContext = { guides, now }
  const checks = Object.entries(GUIDE_CHECKS) as [GuideCheckName, GuideCheck][]
  return guides.flatMap((guide) =>
    checks.flatMap(([check, find]) =>
      find(guide, context).map((detail) => ({ slug: guide.slug, check, detail })),
    ),
  )
}
