import { ATTORNEY_LISTS } from '@plainpath/domain'
import { createDocumentRoutes, type Route } from '@plainpath/http'
import { createResourceDocuments, type ListedGuide, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

/**
 * Creates the routes for the documents about this API. Documents that list guides follow the catalog; the others never change.
 */
export const createMetadataRoutes = (deps: {
  urls: ServiceUrls
  /** When the process started. The `Expires` of security.txt (RFC 9116) counts from the month of this day. */
  startedAt: Date
  /** The URL for vulnerability reports; by default the mailbox of RFC 2142 §4. */
  securityContact: string | undefined
  /** Returns the published guides, sorted by slug. */
  listGuides: () => readonly ListedGuide[]
}): Route[] =>
  createDocumentRoutes(
    createResourceDocuments(deps.urls, {
      attorneyLists: ATTORNEY_LISTS.map(({ url }) => url),
      startedAt: deps.startedAt,
      securityContact: deps.securityContact ?? `mailto:security@${new URL(deps.urls.origin).hostname}`,
      listGuides: deps.listGuides,
    }),
    LIMITS.pages,
    LIMITS.reads.anonymous,
  )
