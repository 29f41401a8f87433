/** A selector of what Tab can reach. */
export const USABLE = 'a[href], button, input:not([type=hidden]), select, summary, textarea'

const ONE_OF_RADIOS = `(document.querySelector('[name="' + each.name + '"]:checked') || document.querySelector('[name="' + each.name + '"]'))`

/**
 * An expression for the elements of a page that Tab reaches: not what is closed, and of radio buttons with one name the chosen
 * one, or else the first.
 */
export const LISTED = `[...document.querySelectorAll("${USABLE}")].filter((each) => each.checkVisibility() && (each.type !== 'radio' || each === ${ONE_OF_RADIOS}))`

/** An expression for the place of the focus among them, and for the outline that marks it. */
export const FOCUSED = `(() => {
  const { outlineWidth, outlineStyle } = getComputedStyle(document.activeElement)
  return { index: ${LISTED}.indexOf(document.activeElement), outline: outlineWidth + ' ' + outlineStyle }
})()`
