import { readFileSync, writeFileSync } from 'node:fs'
import { err, ok, type Result } from '@plainpath/domain'
import { stringify } from 'yaml'
import { z } from 'zod'
import { CONTENT } from './load-guides.ts'
import { isOfficial } from './official-hosts.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { sentencesOf } from './reading-grade.ts'
import { factBlocks, sourceIdsIn } from './statements.ts'

/** What somebody found who read one source of one guide again. Members that are not named here are for people. */
const Reading = z.object({
  guide: z.string(),
  source: z.string(),
  url: z.url(),
  newest_copy_date: z.iso.date(),
  /** How the day of the copy is known. Every day that the copy gives stands here as `YYYY-MM-DD`. */
  how_dated: z.string(),
  /** The `checkedBy` of the source from now on. */
  checked_by: z.string().min(1),
  verdicts: z.array(
    z.object({ sentence_starts: z.string().min(1), verdict: z.string(), quote: z.string().default('') }),
  ),
})
export type Reading = z.infer<typeof Reading>

/** A line of a file of readings, or what is wrong with it. */
export function parseReadings(jsonLines: string): Result<readonly Reading[], readonly string[]> {
  const readings: Reading[] = []
  const mistakes: string[] = []
  for (const [index, line] of jsonLines.split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = Reading.safeParse(jsonOrUndefined(line))
    if (parsed.success) readings.push(parsed.data)
    else mistakes.push(`line ${index + 1}: ${z.prettifyError(parsed.error)}`)
  }
  return mistakes.length > 0 ? err(mistakes) : ok(readings)
}

function jsonOrUndefined(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

type Read = Pick<PackagedGuide['sources'][number], 'checked' | 'checkedBy' | 'url'>

/** What a reading does to one source of one guide. */
export interface RecheckedSource {
  readonly guide: string
  readonly source: string
  readonly before: Read
  readonly after: Read
}

export interface RecheckPlan {
  readonly changes: readonly RecheckedSource[]
  /** Readings that change no day, each with the reason. */
  readonly left: readonly { readonly guide: string; readonly source: string; readonly why: string }[]
}

/**
 * Decides which sources get a new day. A copy that gives several days counts from the earliest. A source keeps its day unless the
 * copy is newer and each paragraph and list item that cites it was found in that copy.
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
    const why = guide && before ? whyLeft(guide, before, reading, now) : 'no such source'
    if (why !== undefined || !before) left.push({ guide: reading.guide, source, why: why ?? '' })
    else changes.push({ guide: reading.guide, source, before: readOf(before), after })
  }
  return { changes, left }
}

const readOf = ({ checked, checkedBy, url }: Read): Read => ({ checked, checkedBy, url })

const earliestDay = ({ newest_copy_date, how_dated }: Reading): string =>
  [newest_copy_date, ...(how_dated.match(/\b\d{4}-\d\d-\d\d\b/g) ?? [])].toSorted()[0] ?? newest_copy_date

function whyLeft(guide: PackagedGuide, before: Read, reading: Reading, now: Date): string | undefined {
  const day = earliestDay(reading)
  if (Date.parse(day) > now.getTime()) return `${day} is yet to come`
  if (day <= before.checked) return `the copy of ${day} is not newer than ${before.checked}`
  if (!isOfficial(reading.url)) return `${reading.url} is no official address`
  const missing = factBlocks(guide.body)
    .filter(({ text }) => sourceIdsIn(text).includes(reading.source))
    .map(({ text }) => sentencesOf(text).join(' '))
    .find((text) => !isCarried(text, reading.verdicts))
  return missing === undefined ? undefined : `not found in the copy: ${missing.slice(0, 70)}`
}

/** True when somebody looked for it, and all that they looked for was there. */
function isCarried(text: string, verdicts: Reading['verdicts']): boolean {
  const own = verdicts.filter(({ sentence_starts }) => text.includes(sentence_starts))
  return own.length > 0 && own.every(({ verdict }) => verdict === 'supported')
}

/** Writes days, `updated` and the next version into the files of the guides that a plan changes. @returns their slugs */
export function writeRecheck({ changes }: RecheckPlan, folder: URL = CONTENT): readonly string[] {
  const slugs = [...new Set(changes.map(({ guide }) => guide))]
  for (const slug of slugs) {
    const file = new URL(`${slug}.md`, folder)
    const own = changes.filter(({ guide }) => guide === slug)
    const text = own.reduce(withRead, readFileSync(file, 'utf8'))
    writeFileSync(
      file,
      withNextVersion(
        text,
        own
          .map(({ after }) => after.checked)
          .toSorted()
          .at(-1) ?? '',
      ),
    )
  }
  return slugs
}

/** The file with the members of one source replaced; all other lines stay as they are. */
function withRead(text: string, { source, after }: RecheckedSource): string {
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

const withNextVersion = (text: string, newest: string) =>
  text
    .replace(/^version: (\d+)$/m, (_, version: string) => `version: ${Number(version) + 1}`)
    .replace(/^updated: (.*)$/m, (_, updated: string) => `updated: ${updated > newest ? updated : newest}`)
