import { GuideList } from '@plainpath/domain'
import {
  defineRoute,
  type FastPathResponse,
  type PreparedResponse,
  Problem,
  prepareOnce,
  prepareResponse,
  type Route,
} from '@plainpath/http'
import { MAX_GUIDES_PER_PAGE, operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import type { GuideCatalog } from './guide-catalog.ts'
import type { GuideLister } from './guide-listing.ts'
import {
  type GuideResponses,
  JSON_TYPE,
  type ReadEarlierGuide,
  requireGuideVersion,
} from './guide-responses.ts'

export interface GuideDeps {
  readonly guides: { current(): GuideCatalog }
  readonly readEarlierGuide: ReadEarlierGuide
  readonly lister: GuideLister
  readonly guideResponses: GuideResponses
  readonly urls: ServiceUrls
}

type PrepareFullList = (catalog: GuideCatalog) => PreparedResponse

/** Creates the routes for guides, and the function with which the fast path finds their responses. */
export function createGuideRoutes(deps: GuideDeps): {
  routes: Route[]
  findFastPathResponse: (target: string, accept: string | undefined) => FastPathResponse | undefined
} {
  const prepareFullList: PrepareFullList = prepareOnce((catalog) =>
    prepareResponse(JSON_TYPE, JSON.stringify(GuideList.parse(deps.lister.list(catalog)))),
  )
  const routes = [createListRoute(deps, prepareFullList), createMarkdownRoute(deps), createGuideRoute(deps)]
  return { routes, findFastPathResponse: createFastPathFinder(deps, prepareFullList) }
}

const LIST_OPERATION = { ...operations.listGuides, limits: LIMITS.reads }
const GUIDE_OPERATION = { ...operations.getGuide, limits: LIMITS.reads }

/**
 * Creates the function that finds the response for a published guide or the full list. The route would return the same response.
 */
function createFastPathFinder(
  { guides, guideResponses }: Pick<GuideDeps, 'guides' | 'guideResponses'>,
  prepareFullList: PrepareFullList,
) {
  const guidePrefix = `${LIST_OPERATION.path}/`
  return (target: string, accept = ''): FastPathResponse | undefined => {
    if (target === LIST_OPERATION.path)
      return {
        route: LIST_OPERATION.path,
        limits: LIST_OPERATION.limits,
        response: prepareFullList(guides.current()),
      }
    const guide = target.startsWith(guidePrefix) && guides.current().find(target.slice(guidePrefix.length))
    const prepare = guideResponses.findFormatWithoutNegotiation(accept)
    if (!guide || !prepare) return undefined
    return { route: GUIDE_OPERATION.path, limits: GUIDE_OPERATION.limits, response: prepare(guide) }
  }
}

function createListRoute({ guides, lister }: GuideDeps, prepareFullList: PrepareFullList): Route {
  return defineRoute({
    ...LIST_OPERATION,
    handle({ query: { q, cursor, limit } }) {
      const catalog = guides.current()
      if (q !== undefined) {
        if (cursor !== undefined) throw createCursorInSearchProblem()
        return {
          status: 200,
          // Caches must not store what people search for.
          headers: { 'cache-control': 'no-store' },
          body: { guides: lister.search(catalog, q, limit ?? MAX_GUIDES_PER_PAGE), next: null },
        }
      }
      if (cursor === undefined && limit === undefined)
        return { status: 200, prepared: prepareFullList(catalog) }
      return { status: 200, body: lister.list(catalog, { cursor, limit }) }
    },
  })
}

const createCursorInSearchProblem = () =>
  new Problem('invalid-request', {
    detail: '?cursor: cannot be sent with q. A search has only one page. Use limit to get more results.',
    errors: [{ pointer: '?cursor', detail: 'cannot be sent with q' }],
  })

function createGuideRoute({ guides, readEarlierGuide, guideResponses, urls }: GuideDeps): Route {
  return defineRoute({
    ...GUIDE_OPERATION,
    async handle({ params: { slug }, query: { version }, request }) {
      const guide = await requireGuideVersion(
        { guides, readEarlierGuide },
        { slug, version },
        createApiProblemOptions(urls),
      )
      return { status: 200, prepared: guideResponses.negotiate(guide, request.accepts) }
    },
  })
}

/** Creates the route that serves a guide as Markdown at `{slug}.md`, for clients that cannot send an `Accept` header. */
function createMarkdownRoute({ guides, readEarlierGuide, guideResponses, urls }: GuideDeps): Route {
  return defineRoute({
    ...GUIDE_OPERATION,
    path: '/api/guides/{slug}.md',
    operationId: 'getGuideAsMarkdown',
    async handle({ params: { slug }, query: { version } }) {
      const guide = await requireGuideVersion(
        { guides, readEarlierGuide },
        { slug, version },
        createApiProblemOptions(urls),
      )
      return { status: 200, prepared: guideResponses.prepareMarkdown(guide) }
    },
  })
}

const createApiProblemOptions = (urls: ServiceUrls) => ({
  urls,
  guideUrl: urls.guideJson,
  unknownGuideDetail: `No guide has this slug. GET ${urls.base}/guides lists them.`,
})
