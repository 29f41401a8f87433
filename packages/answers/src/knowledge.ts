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
import { EVERYDAY_WORDS } from './language/everyday-words.ts'
import { loadScopeRules, type ScopeRules } from './scope/scope-rules.ts'
import { loadEverydayPhrases } from './sections/everyday-phrases.ts'
import { createSectionIndex, type SectionIndex } from './sections/section-index.ts'
import { loadSharedWords } from './triggers/shared-words.ts'
import { computeTriggerVersion, loadTriggers, type TriggerFile } from './triggers/trigger-file.ts'

/** The revision of the code and the models, as a part of `answersVersion`. It must increase with each change of them that changes answers. */
const RULES_REVISION = 19

/** The sections and triggers that operators have disabled. */
export interface Switches {
  /** Section ids, as `guide#anchor`. */
  readonly withdrawnSections: readonly string[]
  readonly disabledTriggers: readonly string[]
}

/** The data from which questions are answered. */
export interface Knowledge {
  /** The published guides, by slug. */
  readonly guides: ReadonlyMap<string, PackagedGuide>
  /** The asks of each guide, by slug: the questions that its sections list, and the triggers to check. */
  readonly asks: ReadonlyMap<string, GuideAsks>
  /** The ids of the triggers that each text in `talkToAnAttorneyWhen` of a guide describes. */
  readonly attorneyItems: AttorneyItems
  readonly sections: SectionIndex
  /** The enabled triggers, in the order of their precedence. */
  readonly triggers: readonly TriggerFile[]
  readonly scope: ScopeRules
  readonly texts: FixedTexts
  readonly links: OfficialLinks
  /** The site's address, without a trailing slash. */
  readonly origin: string
  /** The `answersVersion` of answers: a hash of `RULES_REVISION`, of the words that triggers share, and of everything above but `origin`. */
  readonly version: string
}

/**
 * Caches the current and the previous version of the knowledge, so that reverting a switch needs no new preparation. Each version
 * takes 10 MB.
 */
const preparedByVersion = new LRUCache<string, Omit<Knowledge, 'origin'>>({ max: 2 })

/**
 * Prepares the knowledge for answers. Returns at once if the same version was prepared recently. Otherwise it takes some tenths of a
 * second of processor time, and over a second for the first version of a process.
 *
 * @param options.origin the site's address, without a trailing slash
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
  const publishedGuides = guides.filter(({ status }) => status === 'published')
  const withdrawnSections = new Set(switches.withdrawnSections)
  const disabledTriggers = new Set(switches.disabledTriggers)
  const scope = loadScopeRules()
  const texts = loadFixedTexts()
  const links = loadOfficialLinks()
  const attorneyItems = loadAttorneyItems()
  const sharedWords = loadSharedWords()
  const version = hashVersion([
    RULES_REVISION,
    publishedGuides,
    asks,
    [...attorneyItems],
    triggers.map(computeTriggerVersion),
    [...sharedWords.classes],
    sharedWords.defusers,
    [...EVERYDAY_WORDS],
    scope.data,
    loadEverydayPhrases(),
    texts,
    links,
    [...withdrawnSections].toSorted(),
    [...disabledTriggers].toSorted(),
  ])
  const knowledge = preparedByVersion.get(version) ?? {
    guides: new Map(publishedGuides.map((guide) => [guide.slug, guide])),
    asks: new Map(asks.map((guideAsks) => [guideAsks.guide, guideAsks])),
    attorneyItems,
    sections: createSectionIndex(publishedGuides, asks, withdrawnSections),
    // Passes on the same array if all triggers are enabled, because triggers are compiled once for each array.
    triggers: disabledTriggers.size === 0 ? triggers : triggers.filter(({ id }) => !disabledTriggers.has(id)),
    scope,
    texts,
    links,
    version,
  }
  preparedByVersion.set(version, knowledge)
  return { ...knowledge, origin }
}

/** Prepares knowledge from the packaged guides. */
export const preparePackagedKnowledge = (origin: string): Knowledge =>
  prepareKnowledge({ guides: loadGuides(), origin })

/** Computes a hash that depends only on the values, not on the machine. */
const hashVersion = (values: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16)
