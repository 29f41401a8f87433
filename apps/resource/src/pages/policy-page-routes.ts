import { defineRoute, type Route } from '@plainpath/http'
import { API_VERSION, OPERATIONS, RETENTION, type ServiceUrls } from '@plainpath/metadata'
import { changelogPage, type Html, privacyPage, termsPage } from '@plainpath/pages'
import { RELEASES } from './changelog.ts'
import { PUBLIC_PAGE, preparePage } from './page.ts'
import { renderInline } from './render-markdown.ts'

/** What is kept, what is promised, and what changed: the same for everybody, made once. */
export function policyPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const page = (path: `/${string}`, operationId: string, title: string, body: Html) => {
    const prepared = preparePage(urls, { path, title, body })
    return defineRoute({
      ...PUBLIC_PAGE,
      path,
      operationId,
      summary: title,
      handle: () => ({ status: 200, prepared }),
    })
  }
  return [
    page('/privacy', 'privacyPage', 'Privacy', privacyPage(RETENTION)),
    page('/terms', 'termsPage', 'Terms', termsPage(API_VERSION)),
    page('/changelog', 'changelogPage', 'API changes', changelogPage(describedReleases())),
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
    changes: changes.map(({ day, text, operations }) => ({
      day,
      text: renderInline(text),
      operations: operations.flatMap((id) => DESCRIBED.get(id) ?? []),
    })),
  }))
