import type { GuideCheck } from './guide-check.ts'

/** The day of the newest copy that was read for any guide. Raise it when somebody opens the cited pages again. */
const NEWEST_COPY = '2026-09-22'

export const checkedAfterUpdated: GuideCheck = ({ sources, updated }) =>
  sources
    .filter(({ checked }) => checked > updated)
    .map(({ id, checked }) => `${id} was checked ${checked}, the text is of ${updated}`)

/** Days that no copy can have are invented. */
export const datesAfterNewestCopy: GuideCheck = ({ sources, updated }) =>
  [{ id: 'updated', checked: updated }, ...sources]
    .filter(({ checked }) => checked > NEWEST_COPY)
    .map(({ id, checked }) => `${id}: ${checked} is after ${NEWEST_COPY}`)

/** A review is of the text as it stands, and has happened. */
export const impossibleReview: GuideCheck = ({ reviewed, updated }, { now }) => {
  if (reviewed === null) return []
  if (reviewed < updated) return [`reviewed ${reviewed}, before the text of ${updated}`]
  return Date.parse(reviewed) > now.getTime() ? [`reviewed ${reviewed} is yet to come`] : []
}
