import { bodyBlocks } from './guide-body.ts'
import type { DatedGuide } from './packaged-guide.ts'
import { factBlocks, isUnchecked, sourceIdsIn } from './statements.ts'

/** What is said in the text of a guide about what was checked, each as Markdown in one line. */
export interface FreshnessNotes {
  /** Said after a paragraph or list item that is stale. @param sources those that support it, all stale; perhaps none */
  stale(sources: DatedGuide['sources']): string
  /** Said once in each section where a link or phone number has no source. */
  readonly unchecked: string
}

/** The body of a guide with a note wherever what it says is stale or was never checked. */
export function noteFreshness(
  { body, sources }: Pick<DatedGuide, 'body' | 'sources'>,
  notes: FreshnessNotes,
): string {
  const lines = body.split('\n')
  for (const { text, lastLine } of factBlocks(body)) {
    const ids = sourceIdsIn(text)
    const support = sources.filter(({ id }) => ids.includes(id))
    if (support.every(({ stale }) => stale)) lines[lastLine] += ` ${notes.stale(support)}`
  }
  for (const lastLine of lastUncheckedLines(body)) lines[lastLine] += `\n\n${notes.unchecked}`
  return lines.join('\n')
}

/** By section, the line after which its links and phone numbers all have a source, or there are none. */
function lastUncheckedLines(body: string): Iterable<number> {
  const unchecked = bodyBlocks(body).filter(isUnchecked)
  return new Map(unchecked.map(({ section, lastLine }) => [section, lastLine])).values()
}
