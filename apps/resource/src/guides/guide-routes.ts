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
import { MOST_GUIDES, operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import type { GuideCatalog } from './guide-catalog.ts'
import type { GuideLister } from './guide-listing.ts'
import { type EarlierGuide, type GuideResponses, guideVersion, JSON_TYPE } from './guide-responses.ts'

export interface GuideDeps {
  readonly guides: { current(): GuideCatalog }
  readonly earlier: EarlierGuide
  readonly lister: GuideLister
  readonly forms: GuideResponses
  readonly urls: ServiceUrls
}

type Everything = (catalog: GuideCatalog) => PreparedResponse

export function guideRoutes(deps: GuideDeps): {
  routes: Route[]
  findPrepared: (target: string, accept: string | undefined) => FastPathResponse | undefined
} {
  const everything: Everything = prepareOnce((catalog) =>
    prepareResponse(JSON_TYPE, JSON.stringify(GuideList.parse(deps.lister.page(catalog)))),
  )
  const routes = [listRoute(deps, everything), markdownRoute(deps), guideRoute(deps)]
  return { routes, findPrepared: createFastPath(deps, everything) }
}

const LIST = { ...operations.listGuides, limits: LIMITS.reads }
const GUIDE = { ...operations.getGuide, limits: LIMITS.reads }

/** Finds the prepared responses to requests for one published guide or for all guides. They equal those of the routes. */
function createFastPath({ guides, forms }: Pick<GuideDeps, 'guides' | 'forms'>, everything: Everything) {
  const beforeSlug = `${LIST.path}/`
  return (target: string, accept = ''): FastPathResponse | undefined => {
    if (target === LIST.path)
      return { route: LIST.path, limits: LIST.limits, response: everything(guides.current()) }
    const guide = target.startsWith(beforeSlug) && guides.current().find(target.slice(beforeSlug.length))
    const representation = forms.chooseWithoutNegotiation(accept)
    if (!guide || !representation) return undefined
    return { route: GUIDE.path, limits: GUIDE.limits, response: representation(guide) }
  }
}

function listRoute({ guides, lister }: GuideDeps, everything: Everything): Route {
  return defineRoute({
    ...LIST,
    handle({ query: { q, cursor, limit } }) {
      const catalog = guides.current()
      if (q !== undefined) {
        if (cursor !== undefined) throw cursorInSearch()
        return {
          status: 200,
          body: { guides: lister.search(catalog, q, limit ?? MOST_GUIDES), next: null },
        }
      }
      if (cursor === undefined && limit === undefined) return { status: 200, prepared: everything(catalog) }
      return { status: 200, body: lister.page(catalog, { cursor, limit }) }
    },
  })
}

const cursorInSearch = () =>
  new Problem('invalid-request', {
    detail: '?cursor: cannot be sent with q. A search has one page; make it longer with limit.',
    errors: [{ pointer: '?cursor', detail: 'cannot be sent with q' }],
  })

function guideRoute({ guides, earlier, forms, urls }: GuideDeps): Route {
  return defineRoute({
    ...GUIDE,
    async handle({ params: { slug }, query: { version }, request }) {
      const guide = await guideVersion({ guides, earlier }, { slug, version }, inApi(urls))
      return { status: 200, prepared: forms.negotiate(guide, request.accepts) }
    },
  })
}

/** Serves the guide as Markdown under `.md`, for clients that cannot send `Accept`. */
function markdownRoute({ guides, earlier, forms, urls }: GuideDeps): Route {
  return defineRoute({
    ...GUIDE,
    path: '/api/guides/{slug}.md',
    operationId: 'getGuideAsMarkdown',
    async handle({ params: { slug }, query: { version } }) {
      const guide = await guideVersion({ guides, earlier }, { slug, version }, inApi(urls))
      return { status: 200, prepared: forms.asMarkdown(guide) }
    },
  })
}

const inApi = (urls: ServiceUrls) => ({
  urls,
  address: urls.guideJson,
  unknown: `No guide has this slug. GET ${urls.base}/guides lists them.`,
})
