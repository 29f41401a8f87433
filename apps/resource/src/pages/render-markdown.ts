import { type Html, rawHtml } from '@plainpath/pages'
import MarkdownIt from 'markdown-it'

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable('image')

/** Official pages over https, and places of our own site. */
markdown.validateLink = (address) => /^(?:https:\/\/|\/(?!\/)|#)/.test(address)

/** Markdown as markup: no raw HTML, no images; a link that leads elsewhere than https or our own site stays text. */
export const renderMarkdown = (text: string): Html => rawHtml(markdown.render(text))
