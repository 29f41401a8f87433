import { type Html, html, keepForms, markupOf, rawHtml } from '@plainpath/pages'
import MarkdownIt, { type Token } from 'markdown-it'

/** What a page adds to the text. */
export interface MarkdownOptions {
  /** Returns the `id` of a heading. Without it headings have none. */
  readonly idOf?: ((heading: string) => string) | undefined
  /** Returns what stands behind a paragraph for its link to `#source-n`. Without it the link stays where it is. */
  readonly sourceMark?: ((number: number) => Html) | undefined
}

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable('image')

/** Official pages over https, and places of our own site. */
markdown.validateLink = (address) => /^(?:https:\/\/|\/(?!\/)|#)/.test(address)

markdown.renderer.rules['text'] = (tokens, index) => {
  const text = tokens[index]?.content ?? ''
  return markupOf(isInLink(tokens.slice(0, index)) ? keepForms(text) : linkPhones(text))
}

const isInLink = (before: readonly Token[]): boolean =>
  before.findLast(({ type }) => type === 'link_open' || type === 'link_close')?.type === 'link_open'

const PHONE = /\b(1-\d{3}-\d{3}-\d{4})\b/

/** A number to call is a link, on one line. */
const linkPhones = (text: string): Html =>
  html`${text.split(PHONE).map((part, nth) => (nth % 2 === 1 ? html`<a class="tel" href="${`tel:${part}`}">${part}</a>` : keepForms(part)))}`

markdown.core.ruler.push('ids', ({ tokens, env }) => {
  const { idOf } = env as MarkdownOptions
  if (!idOf) return
  for (const [index, token] of tokens.entries())
    if (token.type === 'heading_open') token.attrSet('id', idOf(tokens[index + 1]?.content ?? ''))
})

markdown.core.ruler.push('source-marks', (state) => {
  const { sourceMark } = state.env as MarkdownOptions
  if (!sourceMark) return
  const raw = (markup: string) => Object.assign(new state.Token('html_block', '', 0), { content: markup })
  state.tokens = state.tokens.flatMap((token, index, all) => {
    if (token.type === 'paragraph_open')
      return !token.hidden && sourcesOf(all[index + 1]).length > 0
        ? [raw('<div class="cited">'), token]
        : token
    if (token.type !== 'paragraph_close') return token
    const text = all[index - 1]
    const numbers = sourcesOf(text)
    if (!text || numbers.length === 0) return token
    text.children = withoutSources(text.children ?? [])
    const marks = numbers.map((number) => markupOf(sourceMark(number))).join(' ')
    return token.hidden ? [token, raw(marks)] : [raw(`</p>${marks}</div>\n`)]
  })
})

const SOURCE = /^#source-(\d+)$/

const sourceOf = (token: Token | undefined): number | undefined => {
  const [, number] = SOURCE.exec(String(token?.type === 'link_open' && token.attrGet('href'))) ?? []
  return number === undefined ? undefined : Number(number)
}

/** The numbers of the sources that a text links to, in order. */
const sourcesOf = (text: Token | undefined): number[] =>
  (text?.children ?? []).flatMap((child) => sourceOf(child) ?? [])

/** A link to a source is three tokens: its beginning, its text and its end. */
const withoutSources = (children: readonly Token[]): Token[] =>
  children.filter((_, index) =>
    [index, index - 1, index - 2].every((at) => sourceOf(children[at]) === undefined),
  )

/** Markdown as markup: no raw HTML, no images; a link that leads elsewhere than https or our own site stays text. */
export const renderMarkdown = (text: string, options: MarkdownOptions = {}): Html =>
  rawHtml(markdown.render(text, { ...options }))

/** The same for text within a line: no paragraph, no list, no heading. */
export const renderInline = (text: string): Html => rawHtml(markdown.renderInline(text, {}))
