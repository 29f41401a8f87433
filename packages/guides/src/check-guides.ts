/*
 * The checks that every guide must pass before publication. They cover sources, links, markup, reading grade, required sections
 * and dates. `npm test` applies them to the guides in this package. `resource guides check` lists the mistakes.
 */
import { ATTORNEY_LISTS } from '@plainpath/domain'
import {
  ATTORNEY_HEADING,
  type Block,
  CHANGES_HEADING,
  DISCLAIMER,
  parseBlocks,
  SOURCE_MARKER,
} from './guide-body.ts'
import { isOfficial } from './official-hosts.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { computeReadingGrade, splitSentences } from './reading-grade.ts'
import { findSourceIds, listFactBlocks } from './statements.ts'

interface CheckContext {
  /** All guides in the release. */
  readonly guides: readonly PackagedGuide[]
  readonly now: Date
}

/** Describes each occurrence of one kind of mistake in a guide. */
type GuideCheck = (guide: PackagedGuide, context: CheckContext) => readonly string[]

const TRAILING_MARKERS = /(?:\[\^[a-z0-9-]+\])+$/

/** Finds paragraphs and list items without a source marker at the end. A line that introduces a list needs none. */
const findParagraphsWithoutSource: GuideCheck = ({ body }) =>
  listFactBlocks(body)
    .filter(({ text }) => !TRAILING_MARKERS.test(text))
    .map(({ text }) => text)

/** Finds markers inside a text. They would seem to support only part of it, but a paragraph's sources support all of it. */
const findMarkersInsideText: GuideCheck = ({ body }) =>
  parseBlocks(body)
    .filter(({ text }) => /\[\^[a-z0-9-]+\](?!\s*(?:\[\^|$))/.test(text))
    .map(({ text }) => text)

const findUnknownSources: GuideCheck = ({ body, sources }) =>
  findSourceIds(body)
    .filter((id) => !sources.some((source) => source.id === id))
    .map((id) => `[^${id}]`)

const findUnusedSources: GuideCheck = ({ body, sources }) => {
  const citedIds = new Set(findSourceIds(body))
  return sources.map(({ id }) => id).filter((id) => !citedIds.has(id))
}

const findUnofficialSources: GuideCheck = ({ sources }) =>
  sources.map(({ url }) => url).filter((url) => !isOfficial(url))

const listSentences = ({ summary, talkToAnAttorneyWhen, body }: PackagedGuide) =>
  [summary, ...talkToAnAttorneyWhen, ...parseBlocks(body).map(({ text }) => text)].flatMap(splitSentences)

const findSentencesMatchingAll =
  (...patterns: readonly RegExp[]): GuideCheck =>
  (guide) =>
    listSentences(guide).filter((sentence) => patterns.every((pattern) => pattern.test(sentence)))

/** Finds amounts such as `$710`, `710 dollars` and `USD 710`. */
const findStatedFees = findSentencesMatchingAll(/\$\s?\d|\bUSD\b|\b\d[\d,.]*\s+(?:US\s+)?dollars?\b/i)

const MONTH =
  '(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)'

/**
 * Finds calendar dates and years, including the Visa Bulletin format (`22JUL19`). They could become outdated when the official
 * page changes.
 */
const findStatedDates = findSentencesMatchingAll(
  new RegExp(
    String.raw`\b${MONTH}\.? \d|\b\d{1,2} ${MONTH}\b|\b\d{1,2}[A-Z]{3}\d{2}\b|\b\d{1,4}[/-]\d{1,2}[/-]\d{1,4}\b|\b(?:19|20)\d\d\b`,
  ),
)

/**
 * Finds sentences that state a duration and contain a word of processing, waiting or typical times. A duration alone is allowed,
 * because the law sets some.
 */
const findStatedProcessingTimes = findSentencesMatchingAll(
  /\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|few|several|many)\b[ -](?:business |working )?(?:day|week|month|year)s?\b/i,
  /\b(?:process\w*|takes?|took|usual(?:ly)?|typical(?:ly)?|average|normal(?:ly)?|current(?:ly)?|wait(?:s|ing)?|about how long|(?:answers?|decides?|approves?|arrives?) (?:in|within))\b/i,
)

const LINK = /\[(?<text>[^[\]]+)\]\((?<target>[^()\s]+)\)/g
const GUIDE_PATH = /^\/guides\/(?<slug>[a-z0-9-]+)$/

const findLinkTargets = (markdown: string): string[] =>
  [...markdown.matchAll(LINK)].flatMap(({ groups }) => groups?.['target'] ?? [])

const listTargetsOfKind = (markdown: string, kind: 'internal' | 'external') =>
  findLinkTargets(markdown).filter((target) => target.startsWith('/') === (kind === 'internal'))

/** Finds square brackets and web addresses outside well-formed links and markers. They belong to a malformed link. */
const findMalformedLinks: GuideCheck = ({ body }) =>
  parseBlocks(body)
    .filter(({ text }) => /[[\]]|:\/\/|www\./.test(text.replace(LINK, '').replace(SOURCE_MARKER, '')))
    .map(({ text }) => text)

const findLinksToUnofficialHosts: GuideCheck = ({ body }) =>
  listTargetsOfKind(body, 'external').filter((target) => !isOfficial(target))

/** Finds links to our own site whose target is not a published guide. */
const findLinksToUnknownGuides: GuideCheck = ({ body }, { guides }) =>
  listTargetsOfKind(body, 'internal').filter((target) => {
    const slug = GUIDE_PATH.exec(target)?.groups?.['slug']
    return !guides.some((guide) => guide.slug === slug && guide.status === 'published')
  })

/** Grades up to 9 pass, because some terms have no plainer equivalent. `reading-grade.test.ts` holds the packaged guides to 8. */
const MAX_GRADE = 9

const findGradeTooHigh: GuideCheck = ({ body }) => {
  const grade = computeReadingGrade(body)
  return grade > MAX_GRADE ? [`grade ${grade.toFixed(1)}, at most ${MAX_GRADE}`] : []
}

const normalizeSummary = (summary: string) =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()

/** Finds earlier guides with the same summary. Later guides are ignored, so that each pair is reported once. */
const findRepeatedSummary: GuideCheck = (guide, { guides }) =>
  guides
    .slice(0, guides.indexOf(guide))
    .filter(({ summary }) => normalizeSummary(summary) === normalizeSummary(guide.summary))
    .map(({ slug }) => `the same as ${slug}`)

/**
 * Finds lines with headings of other levels than 2 and 3, indentation, quotes, tables, fences, rules, HTML, images or code. Also
 * finds a body that begins with a level-3 heading.
 */
const findUnsupportedMarkup: GuideCheck = ({ body }) => {
  const lines = body.split('\n').filter((line) => /^(?:# |#{4,}|\s+\S|>|\||```|===|---)|<|!\[|`/.test(line))
  const headingMistakes =
    parseBlocks(body)[0]?.kind === 'heading' && body.startsWith('### ')
      ? ['begins with a level-3 heading']
      : []
  return [...headingMistakes, ...lines]
}

const listBlocksInSection = (body: string, heading: string): readonly Block[] =>
  parseBlocks(body).filter(({ kind, section }) => kind !== 'heading' && section === heading)

const listSections = (body: string) => [...new Set(parseBlocks(body).flatMap(({ section }) => section ?? []))]

const findMissingAttorneySection: GuideCheck = ({ body }) =>
  listSections(body).at(-1) === ATTORNEY_HEADING ? [] : [`the last section is not "${ATTORNEY_HEADING}"`]

/** Compares the items of the attorney section with `talkToAnAttorneyWhen`. Ignores items that contain links. */
const findDifferingAttorneyItems: GuideCheck = ({ body, talkToAnAttorneyWhen }) => {
  const items = listBlocksInSection(body, ATTORNEY_HEADING).filter(
    ({ kind, text }) => kind === 'item' && findLinkTargets(text).length === 0,
  )
  const itemTexts = items.map(({ text }) => text)
  return [
    ...talkToAnAttorneyWhen
      .filter((text) => !itemTexts.includes(text))
      .map((text) => `not in the body: ${text}`),
    ...itemTexts
      .filter((text) => !talkToAnAttorneyWhen.includes(text))
      .map((text) => `not in the front matter: ${text}`),
  ]
}

const findMissingAttorneyLists: GuideCheck = ({ body }) => {
  const linkedUrls = listBlocksInSection(body, ATTORNEY_HEADING).flatMap(({ text }) => findLinkTargets(text))
  return ATTORNEY_LISTS.map(({ url }) => url).filter((url) => !linkedUrls.includes(url))
}

const findMissingDisclaimer: GuideCheck = ({ body }) =>
  parseBlocks(body).at(-1)?.text === DISCLAIMER ? [] : ['the body does not end with the disclaimer']

/**
 * Finds a missing or empty section of links, and items in it without a link to an official page. A guide does not state facts
 * that change often, and this section links to the official page for each of them.
 */
const findMissingChangesSection: GuideCheck = ({ body }) => {
  if (listSections(body).at(-2) !== CHANGES_HEADING)
    return [`the next-to-last section is not "${CHANGES_HEADING}"`]
  const items = listBlocksInSection(body, CHANGES_HEADING).filter(({ kind }) => kind === 'item')
  if (items.length === 0) return [`"${CHANGES_HEADING}" has no list items`]
  return items
    .filter(({ text }) => !findLinkTargets(text).some(isOfficial))
    .map(({ text }) => `has no link to an official page: ${text}`)
}

/** The date of the newest copy that anybody has read, of all sources. Raise it when newer copies are read. */
const NEWEST_COPY_DATE = '2026-09-22'

const findCheckedAfterUpdated: GuideCheck = ({ sources, updated }) =>
  sources
    .filter(({ checked }) => checked > updated)
    .map(({ id, checked }) => `${id} was checked on ${checked}, after the text was updated on ${updated}`)

/** Finds dates after `NEWEST_COPY_DATE`, which must be wrong. */
const findDatesAfterNewestCopy: GuideCheck = ({ sources, updated }) =>
  [{ id: 'updated', checked: updated }, ...sources]
    .filter(({ checked }) => checked > NEWEST_COPY_DATE)
    .map(({ id, checked }) => `${id}: ${checked} is after ${NEWEST_COPY_DATE}`)

/** Finds a review before the last update of the text, or in the future. */
const findInvalidReviewDate: GuideCheck = ({ reviewed, updated }, { now }) => {
  if (reviewed === null) return []
  if (reviewed < updated) return [`reviewed on ${reviewed}, before the text was updated on ${updated}`]
  return Date.parse(reviewed) > now.getTime() ? [`reviewed on ${reviewed}, which is in the future`] : []
}

/** The checks, keyed by the mistake that they find. */
export const GUIDE_CHECKS = {
  'paragraph-without-source': findParagraphsWithoutSource,
  'marker-inside-text': findMarkersInsideText,
  'unknown-source': findUnknownSources,
  'unused-source': findUnusedSources,
  'unofficial-source': findUnofficialSources,
  'fee-stated': findStatedFees,
  'date-stated': findStatedDates,
  'processing-time-stated': findStatedProcessingTimes,
  'malformed-link': findMalformedLinks,
  'unofficial-link': findLinksToUnofficialHosts,
  'unknown-guide-linked': findLinksToUnknownGuides,
  'grade-too-high': findGradeTooHigh,
  'summary-repeated': findRepeatedSummary,
  'other-markup': findUnsupportedMarkup,
  'changes-section-missing': findMissingChangesSection,
  'attorney-section-missing': findMissingAttorneySection,
  'attorney-triggers-differ': findDifferingAttorneyItems,
  'attorney-lists-missing': findMissingAttorneyLists,
  'disclaimer-missing': findMissingDisclaimer,
  'checked-after-updated': findCheckedAfterUpdated,
  'date-after-newest-copy': findDatesAfterNewestCopy,
  'impossible-review': findInvalidReviewDate,
} satisfies Record<string, GuideCheck>

export type GuideCheckName = keyof typeof GUIDE_CHECKS

interface GuideFinding {
  readonly slug: string
  readonly check: GuideCheckName
  /** The offending text, or what is wrong. */
  readonly detail: string
}

/** Runs every check on every guide of a release, and returns the mistakes. */
export function checkGuides(guides: readonly PackagedGuide[], now: Date): readonly GuideFinding[] {
  const context: CheckContext = { guides, now }
  const checks = Object.entries(GUIDE_CHECKS) as [GuideCheckName, GuideCheck][]
  return guides.flatMap((guide) =>
    checks.flatMap(([check, findMistakes]) =>
      findMistakes(guide, context).map((detail) => ({ slug: guide.slug, check, detail })),
    ),
  )
}
