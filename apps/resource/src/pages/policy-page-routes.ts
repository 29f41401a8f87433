import { defineRoute, type Route } from '@plainpath/http'
import { API_VERSION, OPERATIONS, RETENTION, type ServiceUrls } from '@plainpath/metadata'
import { type Page, renderChangelogPage, renderPrivacyPage, renderTermsPage } from '@plainpath/pages'
import { RELEASES } from './changelog.ts'
import { PUBLIC_PAGE, preparePage } from './page.ts'
import { renderInline } from './render-markdown.ts'

/** Creates the routes for the privacy policy, the terms and the changelog. Each page is rendered once. */
export function createPolicyPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const definePolicyPage = (
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
    definePolicyPage('/privacy', 'privacyPage', { title: 'Privacy', body: renderPrivacyPage(RETENTION) }),
    definePolicyPage('/terms', 'termsPage', { title: 'Terms', body: renderTermsPage(API_VERSION) }),
    definePolicyPage('/changelog', 'changelogPage', {
      title: 'API changes',
      body: renderChangelogPage(linkReleases()),
      navigationEntry: 'developers',
    }),
  ]
}

/** The method, path and reference URL of each operation, by its id. */
const OPERATION_LINKS = new Map(
  OPERATIONS.map(({ operationId, method, path }) => [
    operationId,
    { method: method.toUpperCase(), path, url: `/docs#${operationId}` },
  ]),
)

/** Adds links to the operations of each change. Leaves out operations that no longer exist. */
const linkReleases = () =>
  RELEASES.map(({ version, changes }) => ({
    version,
    changes: changes.map(({ day, text, operations }) => ({
      day,
      text: renderInline(text),
      operations: operations.flatMap((id) => OPERATION_LINKS.get(id) ?? []),
    })),
  }))
