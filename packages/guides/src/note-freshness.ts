import { parseBlocks } from './guide-body.ts'
import type { DatedGuide } from './packaged-guide.ts'
import { findSourceIds, isUnchecked, listFactBlocks } from './statements.ts'

/** The notes on freshness that are added to the text of a guide, each one line of Markdown. */
export interface FreshnessNotes {
  /** The note after a stale paragraph or list item. @param sources the sources that support it, all stale; may be empty */
  stale(sources: DatedGuide['sources']): string
  /** The note in each section with a link or phone number that has no source. */
  readonly unchecked: string
}

/** Returns the body of a guide with a note after each block that is stale or was never checked. */
export function noteFreshness(
  { body, sources }: Pick<DatedGuide, 'body' | 'sources'>,
  notes: FreshnessNotes,
): string {
  const lines = body.split('\n')
  for (const { text, lastLine } of listFactBlocks(body)) {
    const ids = findSourceIds(text)
    const support = sources.filter(({ id }) => ids.includes(id))
    if (support.every(({ stale }) => stale)) lines[lastLine] += ` ${notes.stale(support)}`
  }
  for (const lastLine of lastUncheckedLines(body)) lines[lastLine] += `\n\n${notes.unchecked}`
  return lines.join('\n')
}

/** Finds in each section the last line with a link or phone number that has no source. */
function lastUncheckedLines(body: string): Iterable<number> {
  const unchecked = parseBlocks(body).filter(isUnchecked)
  return new Map(unchecked.map(({ section, lastLine }) => [section, lastLine])).values()
}
