import { ALL_HELP, type Answer, EMERGENCY_LINES } from '@plainpath/domain'
import { type GuideSection, listGuideSections, loadGuides } from '@plainpath/guides'
import { loadFixedTexts, loadOfficialLinks } from './fixed-texts.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

/*
 * A check for tests: an answer must consist of sentences from guides, triggers, fixed texts, help and official links, and of
 * known names and codes.
 */

/** The site's address in the checked answers. */
export const ORIGIN = 'https://plainpath.example'
const guides = loadGuides()
const texts = loadFixedTexts()

/** Lists all strings in a value. */
function listStrings(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listStrings) : []
}

/** Converts a line of an answer to the form of a guide: without source numbers, and with relative links. */
const toGuideLine = (line: string) =>
  line
    .replaceAll(/ ?\[\d+\]/g, '')
    .replaceAll(`](${ORIGIN}/`, '](/')
    .trim()
const removeSourceMarkers = (line: string) => line.replaceAll(/ ?\[\^[a-z0-9-]+\]/g, '').trim()
const listLines = ({ markdown, text }: GuideSection) => [
  ...markdown.split('\n').map(removeSourceMarkers),
  ...text.split('\n'),
]

/** The lines, titles and texts that answers may contain. */
const SENTENCES = new Set([
  ...guides.flatMap((guide) =>
    listGuideSections(guide).flatMap((section) => [section.heading, ...listLines(section)]),
  ),
  ...guides.flatMap(({ title, disclaimer, sources }) => [title, disclaimer, ...listStrings(sources)]),
  ...loadTriggers().flatMap(({ why, ask, doNow, also, source }) => [
    why,
    ask,
    ...doNow,
    source.title,
    source.url,
    ...also.flatMap((addition) => addition.doNow),
  ]),
  ...listStrings([texts, ALL_HELP, EMERGENCY_LINES]),
  ...listStrings(loadOfficialLinks()),
])

/** The names and codes in answers, which are not sentences. */
const CODES = new Set([
  'information',
  'hand_off',
  'out_of_scope',
  'urgent',
  'high',
  'normal',
  'question',
  'facts',
  'attorney',
  'en',
  'es',
  'other-country',
  'other-subject',
  'no-guide',
  'asks-to-deceive',
  'not-understood',
  ...guides.flatMap((guide) => [guide.slug, ...listGuideSections(guide).map(({ id }) => id)]),
  ...loadTriggers().map(({ id }) => id),
])

/**
 * Finds strings in an answer that are not a known sentence, name, code or address. Ignores the person's own words and the version
 * of the answers.
 */
export function findUnknownStrings(answer: Answer): string[] {
  const { limits = '', handOff, ...rest } = answer
  const reasons = handOff?.reasons.map((reason) => ({ ...reason, matched: [] }))
  const lines = listStrings([
    { ...rest, answersVersion: '' },
    { ...handOff, reasons },
  ]).flatMap((text) => text.split('\n').map(toGuideLine))
  // The limits are one sentence, which `describeLimits` joins from known parts.
  const limitLines = limits === '' ? [] : limits.slice(texts.limitsBegin.length + 1, -1).split('; ')
  return [...lines, ...limitLines].filter(
    (line) => line !== '' && !SENTENCES.has(line) && !CODES.has(line) && !line.startsWith(`${ORIGIN}/`),
  )
}
