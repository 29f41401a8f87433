import { defineRoute, type PreparedResponse, prepareOnce, prepareResponse, type Route } from '@plainpath/http'
import {
  formatHomeLinkHeader,
  listAgentShellCommands,
  listDocumentLinks,
  type ServiceUrls,
} from '@plainpath/metadata'
import { renderHomePage } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { FEED_PATH } from '../guides/guide-feed.ts'
import { formatHomeAsMarkdown } from './home-markdown.ts'
import {
  FORM_HEADERS,
  type GuidePagesDeps,
  MARKDOWN_TYPE,
  PUBLIC_PAGE,
  preparePage,
  renderPageText,
} from './page.ts'
import { ReferralQuery } from './waitlist-page-routes.ts'

const DESCRIPTION =
  'Plain-English guides to U.S. immigration, each backed by official sources, for people and their agents.'

/** Creates the routes for the home page, and for the same content as Markdown at `/index.md`. */
export function createHomeRoutes({ guides, urls }: GuidePagesDeps): Route[] {
  const createContent = (catalog: GuideCatalog) => ({
    guides: catalog.list().guides,
    commands: listAgentShellCommands(urls),
    links: listLinksForAgents(urls),
  })
  const createPage = (catalog: GuideCatalog, referredBySlug?: string) => ({
    title: 'Plainpath: plain-English guides to U.S. immigration',
    description: DESCRIPTION,
    path: '/',
    body: renderHomePage({ ...createContent(catalog), referredBySlug }),
  })
  const preparePageOnce = prepareOnce<GuideCatalog>((catalog) => preparePage(urls, createPage(catalog)))
  const prepareMarkdownOnce = prepareOnce<GuideCatalog>((catalog) =>
    prepareResponse(MARKDOWN_TYPE, formatHomeAsMarkdown({ ...createContent(catalog), urls })),
  )
  const headers = { ...FORM_HEADERS, link: formatHomeLinkHeader(urls) }
  const formats: Readonly<Record<string, (catalog: GuideCatalog) => PreparedResponse>> = {
    'text/html': preparePageOnce,
    'text/markdown': prepareMarkdownOnce,
  }

  const homeRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: '/',
    operationId: 'homePage',
    summary: 'What the service is, for people and for agents',
    request: { query: ReferralQuery },
    handle({ query: { ref }, request }) {
      // A client that accepts neither format gets the page.
      const prepare = formats[request.accepts(...Object.keys(formats)) ?? ''] ?? preparePageOnce
      // The waitlist form contains the referral, so a page with a referral is rendered for each request.
      return prepare === preparePageOnce && ref !== undefined
        ? { status: 200, headers, text: renderPageText(urls, createPage(guides.current(), ref)) }
        : { status: 200, headers, prepared: prepare(guides.current()) }
    },
  })

  const markdownRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: '/index.md',
    operationId: 'homePageAsMarkdown',
    summary: 'The home page as Markdown',
    handle: () => ({ status: 200, prepared: prepareMarkdownOnce(guides.current()) }),
  })

  return [homeRoute, markdownRoute]
}

/** Lists the links for agents, developer documentation first. Leaves out the policies, to which the footer links. */
const listLinksForAgents = (urls: ServiceUrls) => [
  ...listDocumentLinks(urls)
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
