import { type Html, html, keepTogether, rawHtml, toMarkup } from '@plainpath/pages'
import MarkdownIt, { type Token } from 'markdown-it'

/** Options for pages that add heading ids or source marks. */
export interface MarkdownOptions {
  /** Returns the `id` of a heading, given its Markdown. Without this option, headings have no `id`. */
  readonly getHeadingId?: ((heading: string) => string) | undefined
  /**
   * Renders the source mark that follows a paragraph or list item, for each link to `#source-n` in it. Without this option, the
   * links stay in the text.
   */
  readonly renderSourceMark?: ((number: number) => Html) | undefined
}

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable('image')

/** Allows only https links and links within our site. */
markdown.validateLink = (address) => /^(?:https:\/\/|\/(?!\/)|#)/.test(address)

// Words that must stay on one line are kept together. A phone number in a link gets no link of its own, because links do not
// nest.
markdown.renderer.rules['text'] = (tokens, index) => {
  const text = tokens[index]?.content ?? ''
  return toMarkup(isInLink(tokens.slice(0, index)) ? keepTogether(text) : linkPhoneNumbers(text))
}

const isInLink = (precedingTokens: readonly Token[]): boolean =>
  precedingTokens.findLast(({ type }) => type === 'link_open' || type === 'link_close')?.type === 'link_open'

const PHONE_NUMBER = /\b(1-\d{3}-\d{3}-\d{4})\b/

/**
 * Turns phone numbers into links. `PHONE_NUMBER` has one capturing group, so `split` returns a phone number at each odd index.
 */
const linkPhoneNumbers = (text: string): Html =>
  html`${text.split(PHONE_NUMBER).map((part, index) => (index % 2 === 1 ? html`<a class="tel" href="${`tel:${part}`}">${part}</a>` : keepTogether(part)))}`

/** Gives each heading an `id`. */
markdown.core.ruler.push('heading-ids', ({ tokens, env }) => {
  const { getHeadingId } = env as MarkdownOptions
  if (!getHeadingId) return
  for (const [index, token] of tokens.entries())
    if (token.type === 'heading_open') token.attrSet('id', getHeadingId(tokens[index + 1]?.content ?? ''))
})

/**
 * Replaces the source links of a paragraph or list item with source marks after its text. A `<p>` cannot contain a mark that is
 * a block element, so a `<div>` holds both. In a list without blank lines, markdown-it hides the paragraph of an item and
 * renders no `<p>` for it. The item then holds the marks.
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
    const inlineToken = tokens[index - 1]
    const numbers = findSourceNumbers(inlineToken)
    if (!inlineToken || numbers.length === 0) return token
    inlineToken.children = removeSourceLinks(inlineToken.children ?? [])
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

/** Finds the numbers of the sources to which an inline token links, in order. */
const findSourceNumbers = (inlineToken: Token | undefined): number[] =>
  (inlineToken?.children ?? []).flatMap((child) => parseSourceNumber(child) ?? [])

/** Removes source links, which consist of three tokens each (opening, text, closing), and then trailing spaces. */
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

/**
 * Renders Markdown. Escapes raw HTML, and renders no images. Only https links, links within our site and phone numbers become
 * links.
 */
export const renderMarkdown = (text: string, options: MarkdownOptions = {}): Html =>
  // A copy, because markdown-it writes into this object.
  rawHtml(markdown.render(text, { ...options }))

/** Renders inline Markdown: without paragraphs, lists or headings. */
export const renderInline = (text: string): Html => rawHtml(markdown.renderInline(text, {}))
