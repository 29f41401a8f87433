import { GuideSlug } from '@plainpath/domain'
import {
  ATTORNEY_HEADING,
  type DatedGuide,
  INTRO,
  listGuideSections,
  noteFreshness,
  numberSources,
  toHeadingAnchor,
} from '@plainpath/guides'
import { defineRoute, type PreparedResponse, prepareOnce, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type Html,
  LEAVE_HEADERS,
  renderGuidePage,
  renderQuickExit,
  renderSourceMark,
} from '@plainpath/pages'
import { z } from 'zod'
import { FRESHNESS_NOTES } from '../guides/freshness-notes.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { type GuideResponses, requirePublishedGuide } from '../guides/guide-responses.ts'
import { chooseRelatedGuides } from '../guides/related-guides.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'
import { type MarkdownOptions, renderMarkdown } from './render-markdown.ts'
import { isSensitiveGuide } from './sensitive-guides.ts'

/** Creates the routes for guide pages. The address of a page also serves Markdown and JSON, by content negotiation. */
export function createGuidePageRoutes({
  guides,
  guideResponses,
  urls,
}: GuidePagesDeps & { guideResponses: GuideResponses }): Route[] {
  const requireGuide = (slug: string) =>
    requirePublishedGuide(guides.current(), slug, {
      urls,
      guideUrl: urls.guide,
      unknownGuideDetail: 'There is no guide at this address.',
    })
  const choosePagePreparer = createPagePreparerCache(urls)
  const otherFormats: Readonly<Record<string, (guide: DatedGuide) => PreparedResponse>> = {
    'text/markdown': guideResponses.prepareMarkdown,
    'application/json': guideResponses.prepareJson,
  }

  const markdownRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: '/guides/{slug}.md',
    operationId: 'guidePageAsMarkdown',
    summary: 'A guide as Markdown',
    request: { params: z.object({ slug: GuideSlug }) },
    handle: ({ params }) => ({
      status: 200,
      prepared: guideResponses.prepareMarkdown(requireGuide(params.slug)),
    }),
  })

  const pageRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: '/guides/{slug}',
    operationId: 'guidePage',
    summary: 'A guide as a page',
    request: { params: z.object({ slug: GuideSlug }) },
    handle({ params, request }) {
      const guide = requireGuide(params.slug)
      // A client that accepts none of the three formats gets the page.
      const prepareOtherFormat =
        otherFormats[request.accepts('text/html', ...Object.keys(otherFormats)) ?? '']
      if (prepareOtherFormat) return { status: 200, prepared: prepareOtherFormat(guide) }
      // `no-store` turns off the public caching of the route, which would set `Vary`.
      const headers = isSensitiveGuide(guide.slug) ? { ...LEAVE_HEADERS, vary: 'Accept' } : {}
      return { status: 200, headers, prepared: choosePagePreparer(guides.current())(guide) }
    },
  })
  return [markdownRoute, pageRoute]
}

/** Creates a cache of page preparers by catalog, because a page links to other guides of its catalog. */
function createPagePreparerCache(urls: ServiceUrls) {
  const preparersByCatalog = new WeakMap<GuideCatalog, (guide: DatedGuide) => PreparedResponse>()
  return (catalog: GuideCatalog) => {
    const preparer =
      preparersByCatalog.get(catalog) ?? prepareOnce((guide) => prepareGuidePage(guide, catalog, urls))
    preparersByCatalog.set(catalog, preparer)
    return preparer
  }
}

function prepareGuidePage(guide: DatedGuide, catalog: GuideCatalog, urls: ServiceUrls): PreparedResponse {
  const path = `/guides/${guide.slug}`
  const page = {
    title: guide.title,
    lang: guide.language,
    path,
    navigationEntry: 'guides',
    breadcrumbs: [{ href: '/guides', text: 'Guides' }],
    body: renderGuideArticle(guide, {
      related: chooseRelatedGuides(guide, catalog.guides),
      url: urls.guide(guide.slug),
      apiUrl: urls.guideJson(guide.slug),
      markdownUrl: `${path}.md`,
    }),
  } as const
  return preparePage(
    urls,
    isSensitiveGuide(guide.slug)
      ? { ...page, neutralTitle: 'Guide', quickExit: renderQuickExit() }
      : { ...page, description: guide.summary },
  )
}

/** Renders a guide: the sections with source marks, and the last section, which is about attorneys, in a separate box. */
function renderGuideArticle(
  guide: DatedGuide,
  links: Pick<Parameters<typeof renderGuidePage>[1], 'related' | 'url' | 'apiUrl' | 'markdownUrl'>,
): Html {
  const { body, sources } = numberSources(
    noteFreshness(guide, FRESHNESS_NOTES),
    guide.sources,
    (number) => `[\\[${number}\\]](#source-${number})`,
  )
  // Without the last section, there are no attorney parts, and the page shows the plain list of reasons instead.
  const [text = '', ...attorneyParts] = body.split(`\n## ${ATTORNEY_HEADING}\n`)
  const parts = listGuideSections({ ...guide, body: text })
  const options: MarkdownOptions = {
    getHeadingId: createUniqueIds(parts.map(({ key }) => key)),
    renderSourceMark: (number) => {
      const source = sources[number - 1]
      if (!source) throw new Error(`guide ${guide.slug} has no source ${number}`)
      return renderSourceMark(number, source)
    },
  }
  const intro = parts.find(({ key }) => key === INTRO)
  const sections = parts.filter(({ key }) => key !== INTRO)
  const attorneyMarkdown = removeDisclaimer(attorneyParts.join('\n').trim(), guide.disclaimer)
  return renderGuidePage(
    { ...guide, sources },
    {
      introHtml: intro && renderMarkdown(intro.markdown, options),
      sections: sections.map((section) => ({ ...section, html: renderMarkdown(section.markdown, options) })),
      hasEmergencyNumber: isSensitiveGuide(guide.slug) && /\bcall 911\b/i.test(guide.body),
      attorneyHtml: attorneyMarkdown === '' ? undefined : renderMarkdown(attorneyMarkdown, options),
      ...links,
    },
  )
}

/** The ids that the page uses outside the guide's text. */
const PAGE_IDS = ['main', 'contents', 'attorney', 'related', 'history', 'sources', 'machines']

/** Creates the function that returns a unique id for each heading inside a section. If its anchor is taken, the id ends in a number. */
function createUniqueIds(sectionIds: readonly string[]) {
  const ids = new Set([...PAGE_IDS, ...sectionIds])
  return (heading: string): string => {
    const anchor = toHeadingAnchor(heading)
    let id = anchor
    for (let count = 1; ids.has(id); count += 1) id = `${anchor}-${count}`
    ids.add(id)
    return id
  }
}

/** Removes the disclaimer from the end of the last section, because the page shows it below the sources. */
const removeDisclaimer = (markdown: string, disclaimer: string) =>
  (markdown.endsWith(disclaimer) ? markdown.slice(0, -disclaimer.length) : markdown).trim()
