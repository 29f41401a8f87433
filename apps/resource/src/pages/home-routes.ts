import { defineRoute, type PreparedResponse, prepareOnce, prepareResponse, type Route } from '@plainpath/http'
import { agentCommands, documentLinks, homeLinkHeader, type ServiceUrls } from '@plainpath/metadata'
import { homePage } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { FEED_PATH } from '../guides/guide-feed.ts'
import { homeMarkdown } from './home-markdown.ts'
import {
  FORM_HEADERS,
  type GuidePagesDeps,
  MARKDOWN_TYPE,
  PUBLIC_PAGE,
  pageText,
  preparePage,
} from './page.ts'
import { ReferralQuery } from './waitlist-page-routes.ts'

const DESCRIPTION =
  'Plain-English guides to U.S. immigration, each backed by official sources, for people and their agents.'

/** The home page, for people and for agents; `/index.md` is the same as Markdown. */
export function homeRoutes({ guides, urls }: GuidePagesDeps): Route[] {
  const partsOf = (catalog: GuideCatalog) => ({
    guides: catalog.list().guides,
    commands: agentCommands(urls),
    links: linksForAgents(urls),
  })
  const pageOf = (catalog: GuideCatalog, referredBySlug?: string) => ({
    title: 'Plainpath: plain-English guides to U.S. immigration',
    description: DESCRIPTION,
    path: '/',
    body: homePage({ ...partsOf(catalog), referredBySlug }),
  })
  const asPage = prepareOnce<GuideCatalog>((catalog) => preparePage(urls, pageOf(catalog)))
  const asMarkdown = prepareOnce<GuideCatalog>((catalog) =>
    prepareResponse(MARKDOWN_TYPE, homeMarkdown({ ...partsOf(catalog), urls })),
  )
  const headers = { ...FORM_HEADERS, link: homeLinkHeader(urls) }
  const forms: Readonly<Record<string, (catalog: GuideCatalog) => PreparedResponse>> = {
    'text/html': asPage,
    'text/markdown': asMarkdown,
  }

  const home = defineRoute({
    ...PUBLIC_PAGE,
    path: '/',
    operationId: 'homePage',
    summary: 'What the service is, for people and for agents',
    request: { query: ReferralQuery },
    handle({ query: { ref }, request }) {
      const form = forms[request.accepts(...Object.keys(forms)) ?? ''] ?? asPage
      return form === asPage && ref !== undefined
        ? { status: 200, headers, text: pageText(urls, pageOf(guides.current(), ref)) }
        : { status: 200, headers, prepared: form(guides.current()) }
    },
  })

  const markdown = defineRoute({
    ...PUBLIC_PAGE,
    path: '/index.md',
    operationId: 'homePageAsMarkdown',
    summary: 'The home page as Markdown',
    handle: () => ({ status: 200, prepared: asMarkdown(guides.current()) }),
  })

  return [home, markdown]
}

/** What an agent reads first; the footer has the policies. */
const linksForAgents = (urls: ServiceUrls) => [
  ...documentLinks(urls)
    .filter(({ rel }) => !['privacy-policy', 'terms-of-service'].includes(rel))
    .toSorted((one, other) => Number(other.rel === 'service-doc') - Number(one.rel === 'service-doc'))
    .map(({ href, title }) => ({ href, text: title })),
  { href: '/api/guides', text: 'The guides as JSON' },
  { href: '/api/triggers', text: 'When a person needs an attorney, as JSON' },
  { href: FEED_PATH, text: 'Changes to the guides (Atom)' },
  { href: urls.skills, text: 'Skills for agents' },
  { href: urls.authorizationServer, text: 'The authorization server (RFC 8414)' },
  { href: urls.protectedResource, text: 'The API as a protected resource (RFC 9728)' },
]
