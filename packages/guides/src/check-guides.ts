import { ATTORNEY_LISTS } from '@plainpath/domain'
import {
  ATTORNEY_HEADING,
  type Block,
  bodyBlocks,
  CHANGES_HEADING,
  DISCLAIMER,
  SOURCE_MARKER,
} from './guide-body.ts'
import { isOfficial } from './official-hosts.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { readingGrade, sentencesOf } from './reading-grade.ts'
import { factBlocks, sourceIdsIn } from './statements.ts'

interface CheckContext {
  /** All guides that are published together. */
  readonly guides: readonly PackagedGuide[]
  readonly now: Date
}

/** Looks for one mistake in one guide; each answer says where it is. */
type GuideCheck = (guide: PackagedGuide, context: CheckContext) => readonly string[]

const ENDS_IN_MARKERS = /(?:\[\^[a-z0-9-]+\])+$/

/** Every paragraph and list item ends in a marker, but for a line that introduces a list. */
const paragraphsWithoutSource: GuideCheck = ({ body }) =>
  factBlocks(body)
    .filter(({ text }) => !ENDS_IN_MARKERS.test(text))
    .map(({ text }) => text)

/** The sources of a paragraph support all of it, so one that is named earlier would seem to support what it does not. */
const markersInsideText: GuideCheck = ({ body }) =>
  bodyBlocks(body)
    .filter(({ text }) => /\[\^[a-z0-9-]+\](?!\s*(?:\[\^|$))/.test(text))
    .map(({ text }) => text)

const unknownSources: GuideCheck = ({ body, sources }) =>
  sourceIdsIn(body)
    .filter((id) => !sources.some((source) => source.id === id))
    .map((id) => `[^${id}]`)

const unusedSources: GuideCheck = ({ body, sources }) => {
  const used = new Set(sourceIdsIn(body))
  return sources.map(({ id }) => id).filter((id) => !used.has(id))
}

const unofficialSources: GuideCheck = ({ sources }) =>
  sources.map(({ url }) => url).filter((url) => !isOfficial(url))

const sentencesOfGuide = ({ summary, talkToAnAttorneyWhen, body }: PackagedGuide) =>
  [summary, ...talkToAnAttorneyWhen, ...bodyBlocks(body).map(({ text }) => text)].flatMap(sentencesOf)

const sentencesThat =
  (...patterns: readonly RegExp[]): GuideCheck =>
  (guide) =>
    sentencesOfGuide(guide).filter((sentence) => patterns.every((pattern) => pattern.test(sentence)))

/** `$710`, `710 dollars`, `USD 710`. */
const statedFees = sentencesThat(/\$\s?\d|\bUSD\b|\b\d[\d,.]*\s+(?:US\s+)?dollars?\b/i)

const MONTH =
  '(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)'

/** Days and years of the calendar, also as a Visa Bulletin writes them (`22JUL19`): they go out of date with the page they came from. */
const statedDates = sentencesThat(
  new RegExp(
    String.raw`\b${MONTH}\.? \d|\b\d{1,2} ${MONTH}\b|\b\d{1,2}[A-Z]{3}\d{2}\b|\b\d{1,4}[/-]\d{1,2}[/-]\d{1,4}\b|\b(?:19|20)\d\d\b`,
  ),
)

/** A length of time next to a word about how long the government takes; lengths that the law fixes pass. */
const statedProcessingTimes = sentencesThat(
  /\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|few|several|many)\b[ -](?:business |working )?(?:day|week|month|year)s?\b/i,
  /\b(?:process\w*|takes?|took|usual(?:ly)?|typical(?:ly)?|average|normal(?:ly)?|current(?:ly)?|wait(?:s|ing)?|about how long|(?:answers?|decides?|approves?|arrives?) (?:in|within))\b/i,
)

const LINK = /\[(?<text>[^[\]]+)\]\((?<target>[^()\s]+)\)/g
const INTERNAL = /^\/guides\/(?<slug>[a-z0-9-]+)$/

const linksOf = (markdown: string): string[] =>
  [...markdown.matchAll(LINK)].flatMap(({ groups }) => groups?.['target'] ?? [])

const linksIn = (markdown: string, kind: 'internal' | 'external') =>
  linksOf(markdown).filter((target) => target.startsWith('/') === (kind === 'internal'))

/** Brackets, parentheses and addresses that are left once links and markers are taken out belong to a broken link. */
const malformedLinks: GuideCheck = ({ body }) =>
  bodyBlocks(body)
    .filter(({ text }) => /[[\]]|:\/\/|www\./.test(text.replace(LINK, '').replace(SOURCE_MARKER, '')))
    .map(({ text }) => text)

const linksToUnofficialHosts: GuideCheck = ({ body }) =>
  linksIn(body, 'external').filter((target) => !isOfficial(target))

/** The only pages of our own that a guide may link are published guides. */
const linksToUnknownGuides: GuideCheck = ({ body }, { guides }) =>
  linksIn(body, 'internal').filter((target) => {
    const slug = INTERNAL.exec(target)?.groups?.['slug']
    return !guides.some((guide) => guide.slug === slug && guide.status === 'published')
  })

/** We write for grade 8; up to 9 is let pass, for the words that have no plainer twin. */
const HIGHEST_GRADE = 9

const gradeTooHigh: GuideCheck = ({ body }) => {
  const grade = readingGrade(body)
  return grade > HIGHEST_GRADE ? [`grade ${grade.toFixed(1)}, at most ${HIGHEST_GRADE}`] : []
}

const inOneForm = (summary: string) =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()

/** Names the guides before this one that have its summary, so that a pair is reported once. */
const repeatedSummary: GuideCheck = (guide, { guides }) =>
  guides
    .slice(0, guides.indexOf(guide))
    .filter(({ summary }) => inOneForm(summary) === inOneForm(guide.summary))
    .map(({ slug }) => `the same as ${slug}`)

/** Headings of level 2 and 3, paragraphs, flat lists, bold and links are all that a guide uses. */
const otherMarkup: GuideCheck = ({ body }) => {
  const lines = body.split('\n').filter((line) => /^(?:# |#{4,}|\s+\S|>|\||```|===|---)|<|!\[|`/.test(line))
  const levels =
    bodyBlocks(body)[0]?.kind === 'heading' && body.startsWith('### ')
      ? ['begins with a level-3 heading']
      : []
  return [...levels, ...lines]
}

const inSection = (body: string, heading: string): readonly Block[] =>
  bodyBlocks(body).filter(({ kind, section }) => kind !== 'heading' && section === heading)

const sectionsOf = (body: string) => [...new Set(bodyBlocks(body).flatMap(({ section }) => section ?? []))]

const missingAttorneySection: GuideCheck = ({ body }) =>
  sectionsOf(body).at(-1) === ATTORNEY_HEADING ? [] : [`the last section is not "${ATTORNEY_HEADING}"`]

/** The section lists exactly the triggers of the front matter; the other items there are links. */
const differingTriggers: GuideCheck = ({ body, talkToAnAttorneyWhen }) => {
  const listed = inSection(body, ATTORNEY_HEADING).filter(
    ({ kind, text }) => kind === 'item' && linksOf(text).length === 0,
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
  const linked = inSection(body, ATTORNEY_HEADING).flatMap(({ text }) => linksOf(text))
  return ATTORNEY_LISTS.map(({ url }) => url).filter((list) => !linked.includes(list))
}

const missingDisclaimer: GuideCheck = ({ body }) =>
  bodyBlocks(body).at(-1)?.text === DISCLAIMER ? [] : ['the body does not end with the disclaimer']

/** What changes often is never stated: the section before the last one links the official page of each such thing. */
const missingChangesSection: GuideCheck = ({ body }) => {
  if (sectionsOf(body).at(-2) !== CHANGES_HEADING)
    return [`the last section but one is not "${CHANGES_HEADING}"`]
  const items = inSection(body, CHANGES_HEADING).filter(({ kind }) => kind === 'item')
  if (items.length === 0) return [`"${CHANGES_HEADING}" lists nothing`]
  return items
    .filter(({ text }) => !linksOf(text).some(isOfficial))
    .map(({ text }) => `links no official page: ${text}`)
}

/** The day of the newest copy that was read for any guide. Raise it when somebody opens the cited pages again. */
const NEWEST_COPY = '2026-09-22'

const checkedAfterUpdated: GuideCheck = ({ sources, updated }) =>
  sources
    .filter(({ checked }) => checked > updated)
    .map(({ id, checked }) => `${id} was checked ${checked}, the text is of ${updated}`)

/** Days that no copy can have are invented. */
const datesAfterNewestCopy: GuideCheck = ({ sources, updated }) =>
  [{ id: 'updated', checked: updated }, ...sources]
    .filter(({ checked }) => checked > NEWEST_COPY)
    .map(({ id, checked }) => `${id}: ${checked} is after ${NEWEST_COPY}`)

/** A review is of the text as it stands, and has happened. */
const impossibleReview: GuideCheck = ({ reviewed, updated }, { now }) => {
  if (reviewed === null) return []
  if (reviewed < updated) return [`reviewed ${reviewed}, before the text of ${updated}`]
  return Date.parse(reviewed) > now.getTime() ? [`reviewed ${reviewed} is yet to come`] : []
}

/** Each check by the mistake it finds. */
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
