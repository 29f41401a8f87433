import { defineRoute, prepareAnswer, type Route } from '@plainpath/http'
import { API_VERSION, OPERATIONS, RETENTION, type ServiceUrls } from '@plainpath/metadata'
import { changelogPage, type Html, privacyPage, renderPage, termsPage } from '@plainpath/pages'
import { RELEASES } from './changelog.ts'
import { PAGE_TYPE, PUBLIC_PAGE } from './page.ts'

/** What is kept, what is promised, and what changed: the same for everybody, made once. */
export function policyPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const page = (path: `/${string}`, operationId: string, title: string, body: Html) => {
    const prepared = prepareAnswer(PAGE_TYPE, renderPage({ origin: urls.origin, path, title, body }))
    return defineRoute({
      ...PUBLIC_PAGE,
      path,
      operationId,
      summary: title,
      handle: () => ({ status: 200, prepared }),
    })
  }
  return [
    page('/privacy', 'privacyPage', 'Privacy', privacyPage({ rows: RETENTION })),
    page('/terms', 'termsPage', 'Terms', termsPage({ version: API_VERSION })),
    page('/changelog', 'changelogPage', 'Changelog', changelogPage({ releases: describedReleases() })),
  ]
}

const DESCRIBED = new Map(
  OPERATIONS.map(({ operationId, method, path }) => [
    operationId,
    { method: method.toUpperCase(), path, url: `/docs#${operationId}` },
  ]),
)

/** One that is described no more has no address, and is left out. */
const describedReleases = () =>
  RELEASES.map(({ version, changes }) => ({
    version,
    changes: changes.map(({ text, operations }) => ({
      text,
      operations: operations.flatMap((id) => DESCRIBED.get(id) ?? []),
    })),
  }))
