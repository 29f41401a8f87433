import { defineRoute, type Route } from '@plainpath/http'
import { API_VERSION, OPERATION_LIST, RETENTION, type ServiceUrls } from '@plainpath/metadata'
import { type Page, renderChangelogPage, renderPrivacyPage, renderTermsPage } from '@plainpath/pages'
import { RELEASES } from './changelog.ts'
import { PUBLIC_PAGE, preparePage } from './page.ts'
import { renderInline } from './render-markdown.ts'

/** Creates the routes for the privacy policy, the terms and the changelog. Each page is rendered once, when the routes are created. */
export function createPolicyAndChangelogRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const defineFixedPage = (
    path: `/${string}`,
    operationId: string,
    content: Pick<Page, 'title' | 'body' | 'navigationEntry'>,
  ) => {
    const prepared = preparePage(urls, { path, ...content })
    return defineRoute({
      ...PUBLIC_PAGE,
      path,
      operationId,
      summary: content.title,
      handle: () => ({ status: 200, prepared }),
    })
  }
  return [
    defineFixedPage('/privacy', 'privacyPage', { title: 'Privacy', body: renderPrivacyPage(RETENTION) }),
    defineFixedPage('/terms', 'termsPage', { title: 'Terms', body: renderTermsPage(API_VERSION) }),
    defineFixedPage('/changelog', 'changelogPage', {
      title: 'API changes',
      body: renderChangelogPage(prepareReleases()),
      navigationEntry: 'developers',
    }),
  ]
}

/** The method, path and reference URL of each operation, by its id. */
const OPERATION_LINKS = new Map(
  OPERATION_LIST.map(({ operationId, method, path }) => [
    operationId,
    { method: method.toUpperCase(), path, url: `/docs#${operationId}` },
  ]),
)

/**
 * Prepares the releases for the page: renders the text of each change, and replaces its operation IDs by links. Omits operations
 * that no longer exist.
 */
const prepareReleases = () =>
  RELEASES.map(({ version, changes }) => ({
    version,
    changes: changes.map(({ day, text, operations }) => ({
      day,
      text: renderInline(text),
      operations: operations.flatMap((id) => OPERATION_LINKS.get(id) ?? []),
    })),
  }))
