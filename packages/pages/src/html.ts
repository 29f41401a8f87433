const TEXT = Symbol('markup')

/** Markup that is safe to send. Only `html` and `rawHtml` make it; nothing parsed from a request can pass for it. */
export interface Html {
  readonly [TEXT]: string
}

/** What may stand in a template. `undefined`, `null` and `false` print nothing. */
export type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined | null | false

/**
 * Builds markup. Each value is escaped for text and for quoted attributes; `Html` passes through.
 *
 * @throws {TypeError} for a value inside a tag but outside quotes, where escaping would not hold, and for a value that
 *   is not an `HtmlValue`.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  if (!CHECKED.has(strings)) checkPlaces(strings)
  let markup = strings[0] ?? ''
  for (const [index, value] of values.entries()) markup += print(value) + (strings[index + 1] ?? '')
  return rawHtml(markup)
}

/** Markup made elsewhere, such as rendered Markdown. The caller answers for it: nothing is escaped. */
export const rawHtml = (trusted: string): Html => Object.freeze({ [TEXT]: trusted })

/** The markup as it is sent. */
export const markupOf = (value: Html): string => value[TEXT]

function print(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(value)
  if (isList(value)) return value.map(print).join('')
  if (TEXT in value) return markupOf(value)
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

/** Templates that were checked; a template in the source is the same array at every call. */
const CHECKED = new WeakSet<TemplateStringsArray>()

type Place = 'text' | 'tag' | '"' | "'"

function checkPlaces(strings: TemplateStringsArray) {
  let place: Place = 'text'
  for (const text of strings.slice(0, -1)) {
    for (const character of text) place = placeAfter(place, character)
    if (place === 'tag') throw new TypeError('in a tag, a value needs quotes around it')
  }
  CHECKED.add(strings)
}

function placeAfter(place: Place, character: string): Place {
  if (place === 'text') return character === '<' ? 'tag' : 'text'
  if (place !== 'tag') return character === place ? 'tag' : place
  if (character === '"' || character === "'") return character
  return character === '>' ? 'text' : 'tag'
}
