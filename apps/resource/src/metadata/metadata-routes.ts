import { ATTORNEY_LISTS } from '@plainpath/domain'
import { documentRoutes, type Route } from '@plainpath/http'
import { type ListedGuide, resourceDocuments, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

/** The documents about this API: made once, but for those that list the guides. */
export const metadataRoutes = (deps: {
  urls: ServiceUrls
  startedAt: Date
  /** Security faults are reported there; unless set, to the mailbox that RFC 2142 §4 names. */
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
