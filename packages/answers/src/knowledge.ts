import { createHash } from 'node:crypto'
import {
  type AttorneyItems,
  type GuideAsks,
  loadAttorneyItems,
  loadGuides,
  loadSectionAsks,
  type PackagedGuide,
} from '@plainpath/guides'
import { LRUCache } from 'lru-cache'
import { type FixedTexts, loadFixedTexts, loadOfficialLinks, type OfficialLinks } from './fixed-texts.ts'
import { loadScopeRules, type ScopeRules } from './scope/scope-rules.ts'
import { guideNames } from './sections/everyday-names.ts'
import { type SectionIndex, sectionIndex } from './sections/section-index.ts'
import { loadTriggers, type TriggerFile } from './triggers/trigger-file.ts'

/** Raise it with every change to code that changes answers, so that `answersVersion` changes. */
const RULES_REVISION = 4

/** The parts of answers that operators turned off. */
export interface Switches {
  /** Ids of sections: `guide#anchor`. */
  readonly withdrawnSections: readonly string[]
  readonly disabledTriggers: readonly string[]
}

/** Everything from which answers are made. */
export interface Knowledge {
  readonly guides: ReadonlyMap<string, PackagedGuide>
  readonly asks: ReadonlyMap<string, GuideAsks>
  readonly attorneyItems: AttorneyItems
  readonly sections: SectionIndex
  /** In the order in which they are reported. */
  readonly triggers: readonly TriggerFile[]
  readonly scope: ScopeRules
  readonly texts: FixedTexts
  readonly links: OfficialLinks
  /** The site's address, without a slash at its end. */
  readonly origin: string
  readonly version: string
}

/** Prepared knowledge, by version: turning a switch back needs no new preparation. */
const preparedByVersion = new LRUCache<string, Omit<Knowledge, 'origin'>>({ max: 4 })

/**
 * Prepares everything from which answers are made. Takes up to half a second, or no time if the same was prepared recently.
 *
 * @param options.origin the site's address, without a slash at its end
 */
export function prepareKnowledge({
  guides,
  asks = loadSectionAsks(),
  triggers = loadTriggers(),
  switches = { withdrawnSections: [], disabledTriggers: [] },
  origin,
}: {
  guides: readonly PackagedGuide[]
  asks?: readonly GuideAsks[]
  triggers?: readonly TriggerFile[]
  switches?: Switches
  origin: string
}): Knowledge {
  const published = guides.filter(({ status }) => status === 'published')
  const withdrawn = new Set(switches.withdrawnSections)
  const disabled = new Set(switches.disabledTriggers)
  const scope = loadScopeRules()
  const texts = loadFixedTexts()
  const links = loadOfficialLinks()
  const attorneyItems = loadAttorneyItems()
  const version = hashVersion([
    RULES_REVISION,
    published,
    asks,
    [...attorneyItems],
    triggers,
    scope.data,
    guideNames(),
    texts,
    links,
    [...withdrawn].toSorted(),
    [...disabled].toSorted(),
  ])
  const knowledge = preparedByVersion.get(version) ?? {
    guides: new Map(published.map((guide) => [guide.slug, guide])),
    asks: new Map(asks.map((file) => [file.guide, file])),
    attorneyItems,
    sections: sectionIndex(published, asks, withdrawn),
    // The same list while all are enabled, since triggers are compiled once for each list.
    triggers: disabled.size === 0 ? triggers : triggers.filter(({ id }) => !disabled.has(id)),
    scope,
    texts,
    links,
    version,
  }
  preparedByVersion.set(version, knowledge)
  return { ...knowledge, origin }
}

/** Prepares the knowledge of the packaged guides. */
export const packagedKnowledge = (origin: string): Knowledge =>
  prepareKnowledge({ guides: loadGuides(), origin })

/** Computes a hash that is the same for the same values on every machine. */
const hashVersion = (values: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16)
