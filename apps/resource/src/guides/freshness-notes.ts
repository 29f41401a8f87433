import type { FreshnessNotes } from '@plainpath/guides'
import { formatLongDate } from '@plainpath/pages'

/** The freshness notes that are inserted into a guide's text, on pages and in Markdown. */
export const FRESHNESS_NOTES: FreshnessNotes = {
  stale(sources) {
    const newest = sources.toSorted((a, b) => (a.checked < b.checked ? 1 : -1))[0]
    if (!newest) return '_We have not checked this._'
    const isLaw = newest.kind === 'statute' || newest.kind === 'regulation'
    return `_We last read this ${isLaw ? 'rule' : 'page'} as of ${formatLongDate(new Date(newest.checked))}._`
  },
  unchecked: '_We have not checked the links and phone numbers here that have no source number._',
}
