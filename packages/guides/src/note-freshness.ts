import { parseBlocks } from './guide-body.ts'
import type { DatedGuide } from './packaged-guide.ts'
import { findSourceIds, isUnchecked, listFactBlocks } from './statements.ts'

/** The texts of freshness notes. Each is one line of Markdown. */
export interface FreshnessNotes {
  /**
   * Returns the note for a stale paragraph or list item.
   *
   * @param sources the block's sources, all stale; may be empty
   */
  stale(sources: DatedGuide['sources']): string
  /** The note after the last link or phone number without a source in a section. */
  readonly unchecked: string
}

/** Returns a guide's body with a note after each stale block, and one in each section with unchecked links or phone numbers. */
export function noteFreshness(
  { body, sources }: Pick<DatedGuide, 'body' | 'sources'>,
  notes: FreshnessNotes,
): string {
  const lines = body.split('\n')
  for (const { text, lastLine } of listFactBlocks(body)) {
    const ids = findSourceIds(text)
    const citedSources = sources.filter(({ id }) => ids.includes(id))
    if (citedSources.every(({ stale }) => stale)) lines[lastLine] += ` ${notes.stale(citedSources)}`
  }
  for (const lastLine of findLastUncheckedLines(body)) lines[lastLine] += `\n\n${notes.unchecked}`
  return lines.join('\n')
}

/** Finds, in each section, the last line that has a link or phone number without a source. */
function findLastUncheckedLines(body: string): Iterable<number> {
  const uncheckedBlocks = parseBlocks(body).filter(isUnchecked)
  return new Map(uncheckedBlocks.map(({ section, lastLine }) => [section, lastLine])).values()
}
