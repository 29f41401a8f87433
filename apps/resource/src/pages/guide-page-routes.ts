import { GuideSlug } from '@plainpath/domain'
import {
  ATTORNEY_HEADING,
  type DatedGuide,
  guideSections,
  headingAnchor,
  INTRO,
  noteFreshness,
  withNumberedSources,
} from '@plainpath/guides'
import { defineRoute, type PreparedResponse, prepareOnce, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { guidePage, type Html, LEAVE_HEADERS, leavePage, sourceMark } from '@plainpath/pages'
import { z } from 'zod'
import { FRESHNESS_NOTES } from '../guides/freshness-notes.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { type GuideResponses, publishedGuide } from '../guides/guide-responses.ts'
import { relatedGuides } from '../guides/related-guides.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'
import { type MarkdownOptions, renderMarkdown } from './render-markdown.ts'
import { isSensitiveGuide } from './sensitive-guides.ts'

/** The page of a guide; the same address returns its other formats by content negotiation. */
export function guidePageRoutes({
  guides,
  forms: prepared,
  urls,
}: GuidePagesDeps & { forms: GuideResponses }): Route[] {
  const find = (slug: string) =>
    publishedGuide(guides.current(), slug, {
      urls,
      address: urls.guide,
      unknown: 'There is no guide at this address.',
    })
  const pages = preparedPages(urls)
  const forms: Readonly<Record<string, (guide: DatedGuide) => PreparedResponse>> = {
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
      const guide = find(params.slug)
      const form = forms[request.accepts('text/html', ...Object.keys(forms)) ?? '']
      if (form) return { status: 200, prepared: form(guide) }
      const headers = isSensitiveGuide(guide.slug) ? { ...LEAVE_HEADERS, vary: 'Accept' } : {}
      return { status: 200, headers, prepared: pages(guides.current())(guide) }
    },
  })
  return [markdown, page]
}

/** Prepares each page once for each catalog, since a page names other guides. */
function preparedPages(urls: ServiceUrls) {
  const byCatalog = new WeakMap<GuideCatalog, (guide: DatedGuide) => PreparedResponse>()
  return (catalog: GuideCatalog) => {
    const pages = byCatalog.get(catalog) ?? prepareOnce((guide) => prepareGuidePage(guide, catalog, urls))
    byCatalog.set(catalog, pages)
    return pages
  }
}

function prepareGuidePage(guide: DatedGuide, catalog: GuideCatalog, urls: ServiceUrls): PreparedResponse {
  const path = `/guides/${guide.slug}`
  const page = {
    title: guide.title,
    lang: guide.language,
    path,
    place: 'guides',
    under: [{ href: '/guides', text: 'Guides' }],
    body: guideArticle(guide, {
      related: relatedGuides(guide, catalog.published),
      url: urls.guide(guide.slug),
      apiUrl: urls.guideJson(guide.slug),
      markdownUrl: `${path}.md`,
    }),
  } as const
  return preparePage(
    urls,
    isSensitiveGuide(guide.slug)
      ? { ...page, neutralTitle: 'Guide', leave: leavePage() }
      : { ...page, description: guide.summary },
  )
}

/** The page of a guide: its sections, the marks of their sources, and its last part in a box of its own. */
function guideArticle(
  guide: DatedGuide,
  around: Pick<Parameters<typeof guidePage>[1], 'related' | 'url' | 'apiUrl' | 'markdownUrl'>,
): Html {
  const { body, sources } = withNumberedSources(
    noteFreshness(guide, FRESHNESS_NOTES),
    guide.sources,
    (n) => `[\\[${n}\\]](#source-${n})`,
  )
  const [text = '', ...attorney] = body.split(`\n## ${ATTORNEY_HEADING}\n`)
  const parts = guideSections({ ...guide, body: text })
  const options: MarkdownOptions = {
    idOf: uniqueIds(parts.map(({ key }) => key)),
    sourceMark: (n) => {
      const source = sources[n - 1]
      if (!source) throw new Error(`guide ${guide.slug} has no source ${n}`)
      return sourceMark(n, source)
    },
  }
  const [intro, sections] = [parts.find(({ key }) => key === INTRO), parts.filter(({ key }) => key !== INTRO)]
  const closing = withoutDisclaimer(attorney.join('\n').trim(), guide.disclaimer)
  return guidePage(
    { ...guide, sources },
    {
      introHtml: intro && renderMarkdown(intro.markdown, options),
      sections: sections.map((section) => ({ ...section, html: renderMarkdown(section.markdown, options) })),
      isDangerNamed: isSensitiveGuide(guide.slug) && /\bcall 911\b/i.test(guide.body),
      attorneyHtml: closing === '' ? undefined : renderMarkdown(closing, options),
      ...around,
    },
  )
}

/** Ids that the page itself has. */
const OWN_IDS = ['main', 'contents', 'attorney', 'related', 'history', 'sources', 'machines']

/** Gives headings below those of sections their anchors; one that is taken gets a number. */
function uniqueIds(taken: readonly string[]) {
  const ids = new Set([...OWN_IDS, ...taken])
  return (heading: string): string => {
    const anchor = headingAnchor(heading)
    let id = anchor
    for (let count = 1; ids.has(id); count += 1) id = `${anchor}-${count}`
    ids.add(id)
    return id
  }
}

/** The disclaimer closes the section in Markdown; the page prints it below the sources. */
const withoutDisclaimer = (markdown: string, disclaimer: string) =>
  (markdown.endsWith(disclaimer) ? markdown.slice(0, -disclaimer.length) : markdown).trim()
