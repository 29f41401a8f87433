import { GuideSlug } from '@plainpath/domain'
import {
  ATTORNEY_HEADING,
  type DatedGuide,
  guideSections,
  noteFreshness,
  withNumberedSources,
} from '@plainpath/guides'
import { defineRoute, type PreparedResponse, prepareOnce, type Route } from '@plainpath/http'
import { guidePage, type Html } from '@plainpath/pages'
import { z } from 'zod'
import { FRESHNESS_NOTES } from '../guides/freshness-notes.ts'
import { type GuideForms, publishedGuide } from '../guides/guide-answers.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'
import { renderMarkdown } from './render-markdown.ts'

/** A guide for people; the same address gives its other forms to who asks for them. */
export function guidePageRoutes({
  guides,
  forms: prepared,
  urls,
}: GuidePagesDeps & { forms: GuideForms }): Route[] {
  const find = (slug: string) =>
    publishedGuide(guides.current(), slug, {
      urls,
      address: urls.guide,
      unknown: 'There is no guide at this address.',
    })
  const guideAsPage = prepareOnce<DatedGuide>((guide) => {
    const path = `/guides/${guide.slug}`
    const addresses = { apiUrl: urls.guideJson(guide.slug), markdownUrl: `${path}.md` }
    return preparePage(urls, {
      title: guide.title,
      description: guide.summary,
      lang: guide.language,
      path,
      body: guideArticle(guide, addresses),
    })
  })
  const forms: Readonly<Record<string, (guide: DatedGuide) => PreparedResponse>> = {
    'text/html': guideAsPage,
    'text/markdown': prepared.asMarkdown,
    'application/json': prepared.asJson,
  }

  const markdown = defineRoute({
    ...PUBLIC_PAGE,
    path: '/guides/{slug}.md',
    operationId: 'guidePageAsMarkdown',
    summary: 'A guide as Markdown',
    request: { params: z.object({ slug: GuideSlug }) },
    handle: ({ params }) => ({ status: 200, prepared: prepared.asMarkdown(find(params.slug)) }),
  })

  const page = defineRoute({
    ...PUBLIC_PAGE,
    path: '/guides/{slug}',
    operationId: 'guidePage',
    summary: 'A guide as a page',
    request: { params: z.object({ slug: GuideSlug }) },
    handle({ params, request }) {
      const form = forms[request.accepts(...Object.keys(forms)) ?? ''] ?? guideAsPage
      return { status: 200, prepared: form(find(params.slug)) }
    },
  })

  return [markdown, page]
}

/** The page of a guide: its markers are links to the numbered sources, its last part stands in a box of its own. */
function guideArticle(guide: DatedGuide, addresses: { apiUrl: string; markdownUrl: string }): Html {
  const { body, sources } = withNumberedSources(
    noteFreshness(guide, FRESHNESS_NOTES),
    guide.sources,
    (n) => `[\\[${n}\\]](#source-${n})`,
  )
  const [text = '', ...attorney] = body.split(`\n## ${ATTORNEY_HEADING}\n`)
  const closing = attorney.join('\n').trim()
  return guidePage(
    { ...guide, sources },
    {
      bodyHtml: renderMarkdown(text, anchorsOf(guide)),
      ...(closing && { attorneyHtml: attorneySection(closing, guide.disclaimer) }),
      ...addresses,
    },
  )
}

/** Answers link to the sections of a guide by these. */
const anchorsOf = (guide: DatedGuide) =>
  new Map(guideSections(guide).map(({ heading, key }) => [heading, key]))

/** The disclaimer closes the section in Markdown; the page prints it below the sources. */
function attorneySection(markdown: string, disclaimer: string): Html {
  const text = markdown.endsWith(disclaimer) ? markdown.slice(0, -disclaimer.length) : markdown
  return renderMarkdown(`## ${ATTORNEY_HEADING}\n\n${text}`)
}
