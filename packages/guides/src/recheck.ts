import { readFileSync, writeFileSync } from 'node:fs'
import { err, ok, type Result } from '@plainpath/domain'
import { stringify } from 'yaml'
import { z } from 'zod'
import { CONTENT } from './load-guides.ts'
import { isOfficial } from './official-hosts.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { splitSentences } from './reading-grade.ts'
import { findSourceIds, listFactBlocks } from './statements.ts'

/** The result of reading one source of one guide again. Members that are not listed here are notes for people. */
const Reading = z.object({
  guide: z.string(),
  source: z.string(),
  url: z.url(),
  newest_copy_date: z.iso.date(),
  /** How the day of the copy is known, with every day that the copy gives as `YYYY-MM-DD`. */
  how_dated: z.string(),
  /** The new `checkedBy` of the source. */
  checked_by: z.string().min(1),
  verdicts: z.array(
    z.object({ sentence_starts: z.string().min(1), verdict: z.string(), quote: z.string().default('') }),
  ),
})
export type Reading = z.infer<typeof Reading>

/** Parses a file of readings, one JSON object per line. Returns the readings, or all mistakes with their lines. */
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

/** The change of one source of one guide by a reading. */
export interface RecheckedSource {
  readonly guide: string
  readonly source: string
  readonly before: SourceReading
  readonly after: SourceReading
}

export interface RecheckPlan {
  readonly changes: readonly RecheckedSource[]
  /** Readings that change nothing, each with the reason. */
  readonly left: readonly { readonly guide: string; readonly source: string; readonly why: string }[]
}

/**
 * Decides which sources get a new day. A copy that gives several days counts from the earliest. A source gets the day of the copy
 * only if the copy is newer and supports each paragraph and list item that cites the source.
 */
export function planRecheck(
  guides: readonly PackagedGuide[],
  readings: readonly Reading[],
  now: Date,
): RecheckPlan {
  const changes: RecheckedSource[] = []
  const left: { guide: string; source: string; why: string }[] = []
  for (const reading of readings) {
    const guide = guides.find(({ slug }) => slug === reading.guide)
    const before = guide?.sources.find(({ id }) => id === reading.source)
    const { source } = reading
    const after = { checked: earliestDay(reading), checkedBy: reading.checked_by, url: reading.url }
    const why = guide && before ? findReasonToKeep(guide, before, reading, now) : 'no such source'
    if (why !== undefined || !before) left.push({ guide: reading.guide, source, why: why ?? '' })
    else changes.push({ guide: reading.guide, source, before: pickReadMembers(before), after })
  }
  return { changes, left }
}

const pickReadMembers = ({ checked, checkedBy, url }: SourceReading): SourceReading => ({
  checked,
  checkedBy,
  url,
})

const earliestDay = ({ newest_copy_date, how_dated }: Reading): string =>
  [newest_copy_date, ...(how_dated.match(/\b\d{4}-\d\d-\d\d\b/g) ?? [])].toSorted()[0] ?? newest_copy_date

function findReasonToKeep(
  guide: PackagedGuide,
  before: SourceReading,
  reading: Reading,
  now: Date,
): string | undefined {
  const day = earliestDay(reading)
  if (Date.parse(day) > now.getTime()) return `${day} is yet to come`
  if (day <= before.checked) return `the copy of ${day} is not newer than ${before.checked}`
  if (!isOfficial(reading.url)) return `${reading.url} is no official address`
  const missing = listFactBlocks(guide.body)
    .filter(({ text }) => findSourceIds(text).includes(reading.source))
    .map(({ text }) => splitSentences(text).join(' '))
    .find((text) => !isSupported(text, reading.verdicts))
  return missing === undefined ? undefined : `not found in the copy: ${missing.slice(0, 70)}`
}

/** Tells whether the text has verdicts, and all of them are `supported`. */
function isSupported(text: string, verdicts: Reading['verdicts']): boolean {
  const matching = verdicts.filter(({ sentence_starts }) => text.includes(sentence_starts))
  return matching.length > 0 && matching.every(({ verdict }) => verdict === 'supported')
}

/** Writes days, `updated` and the next version into the files of the guides that a plan changes. Returns their slugs. */
export function writeRecheck({ changes }: RecheckPlan, folder: URL = CONTENT): readonly string[] {
  const slugs = [...new Set(changes.map(({ guide }) => guide))]
  for (const slug of slugs) {
    const file = new URL(`${slug}.md`, folder)
    const matching = changes.filter(({ guide }) => guide === slug)
    const text = matching.reduce(replaceSource, readFileSync(file, 'utf8'))
    writeFileSync(
      file,
      raiseVersion(
        text,
        matching
          .map(({ after }) => after.checked)
          .toSorted()
          .at(-1) ?? '',
      ),
    )
  }
  return slugs
}

/** Replaces the members of one source in the text of a file. All other lines stay as they are. */
function replaceSource(text: string, { source, after }: RecheckedSource): string {
  const lines = text.split('\n')
  const start = lines.indexOf(`  - id: ${source}`)
  const next = lines.findIndex((line, at) => at > start && !line.startsWith('    '))
  if (start === -1) throw new Error(`${source} is not written as "  - id: ${source}" on a line of its own`)
  return lines
    .map((line, at) => {
      const [member] = Object.entries(after).filter(([name]) => line.startsWith(`    ${name}: `))
      return at > start && at < next && member ? `    ${member[0]}: ${yamlScalar(member[1])}` : line
    })
    .join('\n')
}

const yamlScalar = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) ? text : stringify(text, { lineWidth: 0 }).trimEnd()

const raiseVersion = (text: string, newest: string) =>
  text
    .replace(/^version: (\d+)$/m, (_, version: string) => `version: ${Number(version) + 1}`)
    .replace(/^updated: (.*)$/m, (_, updated: string) => `updated: ${updated > newest ? updated : newest}`)
