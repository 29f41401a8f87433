/**
 * The checks that every guide must pass before it is published: sources, links, markup, reading grade, fixed sections and days.
 * `npm test` runs them over the guides of this package.
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
import { readingGrade, splitSentences } from './reading-grade.ts'
import { findSourceIds, listFactBlocks } from './statements.ts'

interface CheckContext {
  /** All guides that are published together. */
  readonly guides: readonly PackagedGuide[]
  readonly now: Date
}

/** Looks for one kind of mistake in a guide, and returns a description of each place where it occurs. */
type GuideCheck = (guide: PackagedGuide, context: CheckContext) => readonly string[]

const ENDS_IN_MARKERS = /(?:\[\^[a-z0-9-]+\])+$/

/** Every paragraph and list item must end in a marker, except a line that introduces a list. */
const paragraphsWithoutSource: GuideCheck = ({ body }) =>
  listFactBlocks(body)
    .filter(({ text }) => !ENDS_IN_MARKERS.test(text))
    .map(({ text }) => text)

/** The sources of a paragraph support all of it: a marker inside the text would look as if it supported only a part. */
const markersInsideText: GuideCheck = ({ body }) =>
  parseBlocks(body)
    .filter(({ text }) => /\[\^[a-z0-9-]+\](?!\s*(?:\[\^|$))/.test(text))
    .map(({ text }) => text)

const unknownSources: GuideCheck = ({ body, sources }) =>
  findSourceIds(body)
    .filter((id) => !sources.some((source) => source.id === id))
    .map((id) => `[^${id}]`)

const unusedSources: GuideCheck = ({ body, sources }) => {
  const used = new Set(findSourceIds(body))
  return sources.map(({ id }) => id).filter((id) => !used.has(id))
}

const unofficialSources: GuideCheck = ({ sources }) =>
  sources.map(({ url }) => url).filter((url) => !isOfficial(url))

const listSentences = ({ summary, talkToAnAttorneyWhen, body }: PackagedGuide) =>
  [summary, ...talkToAnAttorneyWhen, ...parseBlocks(body).map(({ text }) => text)].flatMap(splitSentences)

const sentencesMatching =
  (...patterns: readonly RegExp[]): GuideCheck =>
  (guide) =>
    listSentences(guide).filter((sentence) => patterns.every((pattern) => pattern.test(sentence)))

/** `$710`, `710 dollars`, `USD 710`. */
const statedFees = sentencesMatching(/\$\s?\d|\bUSD\b|\b\d[\d,.]*\s+(?:US\s+)?dollars?\b/i)

const MONTH =
  '(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)'

/** Calendar days and years, also in the form of the Visa Bulletin (`22JUL19`). They become outdated when the official page changes. */
const statedDates = sentencesMatching(
  new RegExp(
    String.raw`\b${MONTH}\.? \d|\b\d{1,2} ${MONTH}\b|\b\d{1,2}[A-Z]{3}\d{2}\b|\b\d{1,4}[/-]\d{1,2}[/-]\d{1,4}\b|\b(?:19|20)\d\d\b`,
  ),
)

/** A length of time in a sentence with a word about processing. Lengths of time that the law fixes pass. */
const statedProcessingTimes = sentencesMatching(
  /\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|few|several|many)\b[ -](?:business |working )?(?:day|week|month|year)s?\b/i,
  /\b(?:process\w*|takes?|took|usual(?:ly)?|typical(?:ly)?|average|normal(?:ly)?|current(?:ly)?|wait(?:s|ing)?|about how long|(?:answers?|decides?|approves?|arrives?) (?:in|within))\b/i,
)

const LINK = /\[(?<text>[^[\]]+)\]\((?<target>[^()\s]+)\)/g
const INTERNAL = /^\/guides\/(?<slug>[a-z0-9-]+)$/

const findLinks = (markdown: string): string[] =>
  [...markdown.matchAll(LINK)].flatMap(({ groups }) => groups?.['target'] ?? [])

const linksIn = (markdown: string, kind: 'internal' | 'external') =>
  findLinks(markdown).filter((target) => target.startsWith('/') === (kind === 'internal'))

/** Brackets, parentheses and addresses that remain after links and markers are removed belong to a malformed link. */
const malformedLinks: GuideCheck = ({ body }) =>
  parseBlocks(body)
    .filter(({ text }) => /[[\]]|:\/\/|www\./.test(text.replace(LINK, '').replace(SOURCE_MARKER, '')))
    .map(({ text }) => text)

const linksToUnofficialHosts: GuideCheck = ({ body }) =>
  linksIn(body, 'external').filter((target) => !isOfficial(target))

/** Of our own pages, a guide may link only published guides. */
const linksToUnknownGuides: GuideCheck = ({ body }, { guides }) =>
  linksIn(body, 'internal').filter((target) => {
    const slug = INTERNAL.exec(target)?.groups?.['slug']
    return !guides.some((guide) => guide.slug === slug && guide.status === 'published')
  })

/** The aim is grade 8. Grades up to 9 pass, because some terms have no plainer word. */
const HIGHEST_GRADE = 9

const gradeTooHigh: GuideCheck = ({ body }) => {
  const grade = readingGrade(body)
  return grade > HIGHEST_GRADE ? [`grade ${grade.toFixed(1)}, at most ${HIGHEST_GRADE}`] : []
}

const normalizeSummary = (summary: string) =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()

/** Finds the guides before this one with the same summary, so that each pair is reported once. */
const repeatedSummary: GuideCheck = (guide, { guides }) =>
  guides
    .slice(0, guides.indexOf(guide))
    .filter(({ summary }) => normalizeSummary(summary) === normalizeSummary(guide.summary))
    .map(({ slug }) => `the same as ${slug}`)

/** A guide may use headings of level 2 and 3, paragraphs, flat lists, bold and links only. */
const otherMarkup: GuideCheck = ({ body }) => {
  const lines = body.split('\n').filter((line) => /^(?:# |#{4,}|\s+\S|>|\||```|===|---)|<|!\[|`/.test(line))
  const levels =
    parseBlocks(body)[0]?.kind === 'heading' && body.startsWith('### ')
      ? ['begins with a level-3 heading']
      : []
  return [...levels, ...lines]
}

const blocksInSection = (body: string, heading: string): readonly Block[] =>
  parseBlocks(body).filter(({ kind, section }) => kind !== 'heading' && section === heading)

const listSections = (body: string) => [...new Set(parseBlocks(body).flatMap(({ section }) => section ?? []))]

const missingAttorneySection: GuideCheck = ({ body }) =>
  listSections(body).at(-1) === ATTORNEY_HEADING ? [] : [`the last section is not "${ATTORNEY_HEADING}"`]

/** The section must list exactly the triggers of the front matter; its other items are links. */
const differingTriggers: GuideCheck = ({ body, talkToAnAttorneyWhen }) => {
  const listed = blocksInSection(body, ATTORNEY_HEADING).filter(
    ({ kind, text }) => kind === 'item' && findLinks(text).length === 0,
  )
  const texts = listed.map(({ text }) => text)
  return [
    ...talkToAnAttorneyWhen
      .filter((trigger) => !texts.includes(trigger))
      .map((trigger) => `not in the body: ${trigger}`),
    ...texts
      .filter((text) => !talkToAnAttorneyWhen.includes(text))
      .map((text) => `not in the front matter: ${text}`),
  ]
}

const missingAttorneyLists: GuideCheck = ({ body }) => {
  const linked = blocksInSection(body, ATTORNEY_HEADING).flatMap(({ text }) => findLinks(text))
  return ATTORNEY_LISTS.map(({ url }) => url).filter((list) => !linked.includes(list))
}

const missingDisclaimer: GuideCheck = ({ body }) =>
  parseBlocks(body).at(-1)?.text === DISCLAIMER ? [] : ['the body does not end with the disclaimer']

/** A guide never states what changes often: the section before the last one links the official page for each such fact. */
const missingChangesSection: GuideCheck = ({ body }) => {
  if (listSections(body).at(-2) !== CHANGES_HEADING)
    return [`the last section but one is not "${CHANGES_HEADING}"`]
  const items = blocksInSection(body, CHANGES_HEADING).filter(({ kind }) => kind === 'item')
  if (items.length === 0) return [`"${CHANGES_HEADING}" lists nothing`]
  return items
    .filter(({ text }) => !findLinks(text).some(isOfficial))
    .map(({ text }) => `links no official page: ${text}`)
}

/** The day of the newest copy that was read for any guide. Raise it when the cited pages are read again. */
const NEWEST_COPY = '2026-09-22'

const checkedAfterUpdated: GuideCheck = ({ sources, updated }) =>
  sources
    .filter(({ checked }) => checked > updated)
    .map(({ id, checked }) => `${id} was checked ${checked}, the text is of ${updated}`)

/** A day after the newest copy cannot be the day of any copy, so it must be invented. */
const datesAfterNewestCopy: GuideCheck = ({ sources, updated }) =>
  [{ id: 'updated', checked: updated }, ...sources]
    .filter(({ checked }) => checked > NEWEST_COPY)
    .map(({ id, checked }) => `${id}: ${checked} is after ${NEWEST_COPY}`)

/** A review must be of the current text, and cannot be in the future. */
const impossibleReview: GuideCheck = ({ reviewed, updated }, { now }) => {
  if (reviewed === null) return []
  if (reviewed < updated) return [`reviewed ${reviewed}, before the text of ${updated}`]
  return Date.parse(reviewed) > now.getTime() ? [`reviewed ${reviewed} is yet to come`] : []
}

/** The checks, by the mistake that each finds. */
export const GUIDE_CHECKS = {
  'paragraph-without-source': paragraphsWithoutSource,
  'marker-inside-text': markersInsideText,
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

interface GuideFinding {
  readonly slug: string
  readonly check: GuideCheckName
  readonly detail: string
}

/** Runs every check over guides that are published together. Returns an empty list when no guide has a mistake. */
export function checkGuides(guides: readonly PackagedGuide[], now: Date): readonly GuideFinding[] {
  const context: CheckContext = { guides, now }
  const checks = Object.entries(GUIDE_CHECKS) as [GuideCheckName, GuideCheck][]
  return guides.flatMap((guide) =>
    checks.flatMap(([check, find]) =>
      find(guide, context).map((detail) => ({ slug: guide.slug, check, detail })),
    ),
  )
}
