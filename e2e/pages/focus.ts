/** A selector for the elements that Tab can reach. */
export const USABLE = 'a[href], button, input:not([type=hidden]), select, summary, textarea'

const CHOSEN_RADIO = `(document.querySelector('[name="' + each.name + '"]:checked') || document.querySelector('[name="' + each.name + '"]'))`

/**
 * An expression for the elements of a page that Tab reaches. It excludes collapsed content, and all but one of the radio buttons
 * with one name: the chosen one, or else the first.
 */
export const LISTED = `[...document.querySelectorAll("${USABLE}")].filter((each) => each.checkVisibility() && (each.type !== 'radio' || each === ${CHOSEN_RADIO}))`

/** An expression for the index of the focused element among these, and for its outline. */
export const FOCUSED = `(() => {
  const { outlineWidth, outlineStyle } = getComputedStyle(document.activeElement)
  return { index: ${LISTED}.indexOf(document.activeElement), outline: outlineWidth + ' ' + outlineStyle }
})()`
