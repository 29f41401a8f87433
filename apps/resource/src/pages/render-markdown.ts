import { type Html, html, keepTogether, rawHtml, toMarkup } from '@plainpath/pages'
import MarkdownIt, { type Token } from 'markdown-it'

/** The additions that a page makes to the text. */
export interface MarkdownOptions {
  /** Returns the `id` of a heading. Without this option, headings have no `id`. */
  readonly getHeadingId?: ((heading: string) => string) | undefined
  /** Renders the mark behind a paragraph that links to `#source-n`. Without this option, the link stays in the text. */
  readonly renderSourceMark?: ((number: number) => Html) | undefined
}

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable('image')

/** Allows only https links and links within our site. */
markdown.validateLink = (address) => /^(?:https:\/\/|\/(?!\/)|#)/.test(address)

markdown.renderer.rules['text'] = (tokens, index) => {
  const text = tokens[index]?.content ?? ''
  return toMarkup(isInLink(tokens.slice(0, index)) ? keepTogether(text) : linkPhones(text))
}

const isInLink = (precedingTokens: readonly Token[]): boolean =>
  precedingTokens.findLast(({ type }) => type === 'link_open' || type === 'link_close')?.type === 'link_open'

const PHONE = /\b(1-\d{3}-\d{3}-\d{4})\b/

/** Turns phone numbers into links. Splitting by `PHONE`, which has one group, returns a phone number at each odd index. */
const linkPhones = (text: string): Html =>
  html`${text.split(PHONE).map((part, index) => (index % 2 === 1 ? html`<a class="tel" href="${`tel:${part}`}">${part}</a>` : keepTogether(part)))}`

/** Adds the ids of headings. */
markdown.core.ruler.push('ids', ({ tokens, env }) => {
  const { getHeadingId } = env as MarkdownOptions
  if (!getHeadingId) return
  for (const [index, token] of tokens.entries())
    if (token.type === 'heading_open') token.attrSet('id', getHeadingId(tokens[index + 1]?.content ?? ''))
})

/**
 * Moves the source links of each paragraph and list item behind its text, as marks. A hidden paragraph is the text of an item in a
 * list without blank lines, which has no `<p>`.
 */
markdown.core.ruler.push('source-marks', (state) => {
  const { renderSourceMark } = state.env as MarkdownOptions
  if (!renderSourceMark) return
  const createHtmlToken = (markup: string) =>
    Object.assign(new state.Token('html_block', '', 0), { content: markup })
  state.tokens = state.tokens.flatMap((token, index, tokens) => {
    if (token.type === 'paragraph_open')
      return !token.hidden && findSourceNumbers(tokens[index + 1]).length > 0
        ? [createHtmlToken('<div class="cited">'), token]
        : token
    if (token.type !== 'paragraph_close') return token
    const text = tokens[index - 1]
    const numbers = findSourceNumbers(text)
    if (!text || numbers.length === 0) return token
    text.children = removeSourceLinks(text.children ?? [])
    const marks = WORD_JOINER + numbers.map((number) => toMarkup(renderSourceMark(number))).join(' ')
    return token.hidden ? [token, createHtmlToken(marks)] : [createHtmlToken(`</p>${marks}</div>\n`)]
  })
})

/** Prevents a line break before a source mark. */
const WORD_JOINER = '\u2060'

const SOURCE_ANCHOR = /^#source-(\d+)$/

const parseSourceNumber = (token: Token | undefined): number | undefined => {
  const [, number] = SOURCE_ANCHOR.exec(String(token?.type === 'link_open' && token.attrGet('href'))) ?? []
  return number === undefined ? undefined : Number(number)
}

/** Finds the numbers of the sources to which a text links, in order. */
const findSourceNumbers = (text: Token | undefined): number[] =>
  (text?.children ?? []).flatMap((child) => parseSourceNumber(child) ?? [])

/** Removes trailing spaces, and source links, which consist of three tokens each. */
function removeSourceLinks(children: readonly Token[]): Token[] {
  const remainingChildren = children.filter((_, index) =>
    [index, index - 1, index - 2].every((position) => parseSourceNumber(children[position]) === undefined),
  )
  const lastIndex = remainingChildren.findLastIndex(
    ({ type, content }) => type !== 'text' || content.trim() !== '',
  )
  const lastChild = remainingChildren[lastIndex]
  if (lastChild?.type === 'text') lastChild.content = lastChild.content.trimEnd()
  return remainingChildren.slice(0, lastIndex + 1)
}

/** Renders Markdown without raw HTML and images. Only https links and links within our site become links. */
export const renderMarkdown = (text: string, options: MarkdownOptions = {}): Html =>
  rawHtml(markdown.render(text, { ...options }))

/** Renders inline Markdown: without paragraphs, lists and headings. */
export const renderInline = (text: string): Html => rawHtml(markdown.renderInline(text, {}))
