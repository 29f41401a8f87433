import { readFileSync, writeFileSync } from 'node:fs'
import { err, ok, type Result } from '@plainpath/domain'
import { stringify } from 'yaml'
import { z } from 'zod'
import { CONTENT_FOLDER } from './load-guides.ts'
import { isOfficial } from './official-hosts.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { splitSentences } from './reading-grade.ts'
import { findSourceIds, listFactBlocks } from './statements.ts'

/** The result of checking one source of one guide again. Other members in the file are notes for people. */
const Reading = z.object({
  /** The guide's slug. */
  guide: z.string(),
  /** The id of the source in the guide. */
  source: z.string(),
  /** The address of the copy that was read. It becomes the source's URL. */
  url: z.url(),
  newest_copy_date: z.iso.date(),
  /** The evidence for the copy's date. It contains every date in the copy, as `YYYY-MM-DD`. */
  how_dated: z.string(),
  /** The source's new `checkedBy`. */
  checked_by: z.string().min(1),
  /** For sentences of the guide, by their beginning without markers, whether the copy supports them. Only `supported` counts. */
  verdicts: z.array(
    z.object({ sentence_starts: z.string().min(1), verdict: z.string(), quote: z.string().default('') }),
  ),
})
export type Reading = z.infer<typeof Reading>

/** Parses a file of readings, one JSON object per line. Returns the readings, or all mistakes with their line numbers. */
export function parseReadings(jsonLines: string): Result<readonly Reading[], readonly string[]> {
  const readings: Reading[] = []
  const mistakes: string[] = []
  for (const [index, line] of jsonLines.split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = Reading.safeParse(parseJson(line))
    if (parsed.success) readings.push(parsed.data)
    else mistakes.push(`line ${index + 1}: ${z.prettifyError(parsed.error)}`)
  }
  return mistakes.length > 0 ? err(mistakes) : ok(readings)
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

type SourceReading = Pick<PackagedGuide['sources'][number], 'checked' | 'checkedBy' | 'url'>

/** A change to one source of a guide. */
export interface RecheckedSource {
  readonly guide: string
  readonly source: string
  readonly before: SourceReading
  readonly after: SourceReading
}

export interface RecheckPlan {
  readonly changes: readonly RecheckedSource[]
  /** The readings that change nothing, with the reason for each. */
  readonly skipped: readonly { readonly guide: string; readonly source: string; readonly why: string }[]
}

/**
 * Decides which sources to update. A source receives the copy's date only if the copy is newer, is from an official host, and
 * supports each paragraph and list item that cites the source. If a copy states several dates, the earliest counts.
 */
export function planRecheck(
  guides: readonly PackagedGuide[],
  readings: readonly Reading[],
  now: Date,
): RecheckPlan {
  const changes: RecheckedSource[] = []
  const skipped: { guide: string; source: string; why: string }[] = []
  for (const reading of readings) {
    const guide = guides.find(({ slug }) => slug === reading.guide)
    const before = guide?.sources.find(({ id }) => id === reading.source)
    const { source } = reading
    const after = { checked: findEarliestDate(reading), checkedBy: reading.checked_by, url: reading.url }
    const reasonToKeep = guide && before ? findReasonToKeep(guide, before, reading, now) : 'no such source'
    if (reasonToKeep !== undefined || !before)
      skipped.push({ guide: reading.guide, source, why: reasonToKeep ?? '' })
    else changes.push({ guide: reading.guide, source, before: pickSourceReading(before), after })
  }
  return { changes, skipped }
}

const pickSourceReading = ({ checked, checkedBy, url }: SourceReading): SourceReading => ({
  checked,
  checkedBy,
  url,
})

const findEarliestDate = ({ newest_copy_date, how_dated }: Reading): string =>
  [newest_copy_date, ...(how_dated.match(/\b\d{4}-\d\d-\d\d\b/g) ?? [])].toSorted()[0] ?? newest_copy_date

/** Returns why a reading does not change its source, or undefined if it does. */
function findReasonToKeep(
  guide: PackagedGuide,
  before: SourceReading,
  reading: Reading,
  now: Date,
): string | undefined {
  const date = findEarliestDate(reading)
  if (Date.parse(date) > now.getTime()) return `${date} is yet to come`
  if (date <= before.checked) return `the copy of ${date} is not newer than ${before.checked}`
  if (!isOfficial(reading.url)) return `${reading.url} is no official address`
  const unsupportedText = listFactBlocks(guide.body)
    .filter(({ text }) => findSourceIds(text).includes(reading.source))
    .map(({ text }) => splitSentences(text).join(' '))
    .find((text) => !isSupported(text, reading.verdicts))
  return unsupportedText === undefined ? undefined : `not found in the copy: ${unsupportedText.slice(0, 70)}`
}

/** Returns whether there are verdicts on sentences of a text, and all of them are `supported`. */
function isSupported(text: string, verdicts: Reading['verdicts']): boolean {
  const matchingVerdicts = verdicts.filter(({ sentence_starts }) => text.includes(sentence_starts))
  return matchingVerdicts.length > 0 && matchingVerdicts.every(({ verdict }) => verdict === 'supported')
}

/** Updates the changed sources, `updated` and `version` in the guide files. Returns the slugs of the changed guides. */
export function writeRecheck({ changes }: RecheckPlan, folder: URL = CONTENT_FOLDER): readonly string[] {
  const slugs = [...new Set(changes.map(({ guide }) => guide))]
  for (const slug of slugs) {
    const file = new URL(`${slug}.md`, folder)
    const guideChanges = changes.filter(({ guide }) => guide === slug)
    let text = readFileSync(file, 'utf8')
    for (const change of guideChanges) text = replaceSource(text, change)
    const checkDates = guideChanges.map(({ after }) => after.checked).toSorted()
    writeFileSync(file, updateVersionAndDate(text, checkDates.at(-1) ?? ''))
  }
  return slugs
}

/**
 * Replaces the members of one source in the text of a guide file. Other lines do not change. Each member must be on one line,
 * with an indentation of four spaces.
 *
 * @throws {Error} if the source does not begin with its id on a line of its own
 */
function replaceSource(text: string, { source, after }: RecheckedSource): string {
  const lines = text.split('\n')
  const start = lines.indexOf(`  - id: ${source}`)
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('    '))
  if (start === -1) throw new Error(`${source} is not written as "  - id: ${source}" on a line of its own`)
  return lines
    .map((line, index) => {
      const [member] = Object.entries(after).filter(([name]) => line.startsWith(`    ${name}: `))
      return index > start && index < end && member
        ? `    ${member[0]}: ${formatYamlScalar(member[1])}`
        : line
    })
    .join('\n')
}

const formatYamlScalar = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) ? text : stringify(text, { lineWidth: 0 }).trimEnd()

/** Increments `version`, and sets `updated` to the newest check date if that is later. */
const updateVersionAndDate = (text: string, newestCheckDate: string) =>
  text
    .replace(/^version: (\d+)$/m, (_, version: string) => `version: ${Number(version) + 1}`)
    .replace(
      /^updated: (.*)$/m,
      (_, updated: string) => `updated: ${updated > newestCheckDate ? updated : newestCheckDate}`,
    )
