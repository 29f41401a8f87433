import { ATTORNEY_HEADING, type DatedGuide, withNumberedSources } from '@plainpath/guides'
import { guidePage, type Html } from '@plainpath/pages'
import { renderMarkdown } from './render-markdown.ts'

/** The page of a guide: its markers are links to the numbered sources, its last part stands in a box of its own. */
export function guideArticle(guide: DatedGuide, addresses: { apiUrl: string; markdownUrl: string }): Html {
  const { body, sources } = withNumberedSources(
    guide.body,
    guide.sources,
    (n) => `[\\[${n}\\]](#source-${n})`,
  )
  const [text = '', ...attorney] = body.split(`\n## ${ATTORNEY_HEADING}\n`)
  const closing = attorney.join('\n').trim()
  return guidePage(
    { ...guide, sources },
    {
      bodyHtml: renderMarkdown(text),
      ...(closing && { attorneyHtml: attorneySection(closing, guide.disclaimer) }),
      ...addresses,
    },
  )
}

/** The disclaimer closes the section in Markdown; the page prints it below the sources. */
function attorneySection(markdown: string, disclaimer: string): Html {
  const text = markdown.endsWith(disclaimer) ? markdown.slice(0, -disclaimer.length) : markdown
  return renderMarkdown(`## ${ATTORNEY_HEADING}\n\n${text}`)
}
