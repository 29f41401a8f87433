import { ATTORNEY_LISTS } from '@plainpath/domain'
import { documentRoutes, type Route } from '@plainpath/http'
import { type ListedGuide, resourceDocuments, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

/** Creates the routes of the documents about this API. Documents that list guides follow the catalog; the others never change. */
export const metadataRoutes = (deps: {
  urls: ServiceUrls
  startedAt: Date
  /** Where to report security faults; the mailbox of RFC 2142 §4 when undefined. */
  securityContact: string | undefined
  /** What is published now, by slug. */
  guides: () => readonly ListedGuide[]
}): Route[] =>
  documentRoutes(
    resourceDocuments(deps.urls, {
      attorneyLists: ATTORNEY_LISTS.map(({ url }) => url),
      builtAt: deps.startedAt,
      securityContact: deps.securityContact ?? `mailto:security@${new URL(deps.urls.origin).hostname}`,
      guides: deps.guides,
    }),
    LIMITS.pages,
  )
