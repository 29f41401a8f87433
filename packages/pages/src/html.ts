const MARKUP = Symbol('markup')

/** Markup that is safe to send. Only `html` and `rawHtml` can create it: JSON from a request cannot contain the symbol key. */
export interface Html {
  readonly [MARKUP]: string
}

/** A value in a template. `undefined`, `null` and `false` render as nothing. */
export type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined | null | false

/**
 * Builds markup. Escapes each value for text and for quoted attributes; `Html` values pass through. Does not check addresses: a
 * `javascript:` URL in `href` passes.
 *
 * @throws {TypeError} if a value is inside a tag but outside quotes, where escaping does not make it safe, or is not an `HtmlValue`
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  if (!CHECKED_TEMPLATES.has(strings)) checkPositions(strings)
  let markup = strings[0] ?? ''
  for (const [index, value] of values.entries()) markup += renderValue(value) + (strings[index + 1] ?? '')
  return rawHtml(markup)
}

/** Wraps markup from elsewhere, such as rendered Markdown, without escaping it. The caller must ensure that it is safe. */
export const rawHtml = (trustedMarkup: string): Html => Object.freeze({ [MARKUP]: trustedMarkup })

/** Returns the markup as a string. */
export const toMarkup = (value: Html): string => value[MARKUP]

function renderValue(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(value)
  if (isList(value)) return value.map(renderValue).join('')
  if (MARKUP in value) return toMarkup(value)
  throw new TypeError('this value cannot stand in a page')
}

const isList = (value: Html | readonly HtmlValue[]): value is readonly HtmlValue[] => Array.isArray(value)

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeText = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/** The templates that `checkPositions` has accepted. A template literal passes the same array each time it is evaluated. */
const CHECKED_TEMPLATES = new WeakSet<TemplateStringsArray>()

/** The position of a value: in text, in a tag outside quotes, or within one kind of quotes. */
type Position = 'text' | 'tag' | '"' | "'"

/**
 * Checks that no value of a template is inside a tag but outside quotes, and remembers the template.
 *
 * @throws {TypeError} if one is
 */
function checkPositions(strings: TemplateStringsArray) {
  let position: Position = 'text'
  for (const text of strings.slice(0, -1)) {
    for (const character of text) position = getPositionAfter(position, character)
    if (position === 'tag') throw new TypeError('in a tag, a value needs quotes around it')
  }
  CHECKED_TEMPLATES.add(strings)
}

function getPositionAfter(position: Position, character: string): Position {
  if (position === 'text') return character === '<' ? 'tag' : 'text'
  if (position !== 'tag') return character === position ? 'tag' : position
  if (character === '"' || character === "'") return character
  return character === '>' ? 'text' : 'tag'
}
