import type { FreshnessNotes } from '@plainpath/guides'
import { formatLongDate } from '@plainpath/pages'

/** The freshness notes that are inserted into a guide's text, on pages and in Markdown. */
export const FRESHNESS_NOTES: FreshnessNotes = {
  // All of these sources are stale. The note has the date of the one that was checked last.
  stale(sources) {
    const [newestSource] = sources.toSorted((a, b) => (a.checked < b.checked ? 1 : -1))
    if (!newestSource) return '_We have not checked this._'
    const { kind, checked } = newestSource
    const isLaw = kind === 'statute' || kind === 'regulation'
    return `_We last read this ${isLaw ? 'rule' : 'page'} as of ${formatLongDate(new Date(checked))}._`
  },
  unchecked: '_We have not checked the links and phone numbers here that have no source number._',
}
