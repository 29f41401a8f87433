/** A selector for the kinds of elements that Tab can reach. */
export const FOCUSABLE_SELECTOR = 'a[href], button, input:not([type=hidden]), select, summary, textarea'

/** A JavaScript expression for the radio button that Tab reaches among those with the name of `each`, a variable of `TAB_STOPS`. */
const REACHED_RADIO = `(document.querySelector('[name="' + each.name + '"]:checked') || document.querySelector('[name="' + each.name + '"]'))`

/**
 * A JavaScript expression for the elements of a page that Tab reaches. It excludes collapsed content, and all but one of the radio
 * buttons with one name: the chosen one, or else the first.
 */
export const TAB_STOPS = `[...document.querySelectorAll("${FOCUSABLE_SELECTOR}")].filter((each) => each.checkVisibility() && (each.type !== 'radio' || each === ${REACHED_RADIO}))`

/** A JavaScript expression for the index of the focused element among the elements of `TAB_STOPS`, and for its outline. */
export const FOCUS_STATE = `(() => {
  const { outlineWidth, outlineStyle } = getComputedStyle(document.activeElement)
  return { index: ${TAB_STOPS}.indexOf(document.activeElement), outline: outlineWidth + ' ' + outlineStyle }
})()`
