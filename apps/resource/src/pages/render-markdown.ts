import { type Html, rawHtml } from '@plainpath/pages'
import MarkdownIt from 'markdown-it'

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable('image')

/** Official pages over https, and places of our own site. */
markdown.validateLink = (address) => /^(?:https:\/\/|\/(?!\/)|#)/.test(address)

/** What rendering is told beside the text. */
interface Anchors {
  readonly anchors?: ReadonlyMap<string, string> | undefined
}

markdown.core.ruler.push('anchors', ({ tokens, env }) => {
  for (const [index, token] of tokens.entries()) {
    const isSection = token.type === 'heading_open' && token.tag === 'h2'
    const anchor = isSection && (env as Anchors).anchors?.get(tokens[index + 1]?.content ?? '')
    if (anchor) token.attrSet('id', anchor)
  }
})

/**
 * Markdown as markup: no raw HTML, no images; a link that leads elsewhere than https or our own site stays text.
 *
 * @param anchors the `id` of each level-2 heading, by its text; none unless given
 */
export const renderMarkdown = (text: string, anchors?: ReadonlyMap<string, string>): Html =>
  rawHtml(markdown.render(text, { anchors } satisfies Anchors))
