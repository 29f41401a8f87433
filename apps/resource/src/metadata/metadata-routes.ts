import { ATTORNEY_LISTS } from '@plainpath/guides'
import { documentRoutes, type Route } from '@plainpath/http'
import { guideDocuments, type ListedGuide, resourceDocuments } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

export interface MetadataDeps {
  readonly origin: string
  readonly startedAt: Date
  /** Security faults are reported there; unless set, to the mailbox that RFC 2142 §4 names. */
  readonly securityContact: string | undefined
  /** What is published now, by slug. */
  readonly guides: () => readonly ListedGuide[]
}

/** The documents about this API: made once, but for those that list the guides. */
export function metadataRoutes({ origin, startedAt, securityContact, guides }: MetadataDeps): Route[] {
  const config = {
    origin,
    attorneyLists: ATTORNEY_LISTS,
    builtAt: startedAt,
    securityContact: securityContact ?? `mailto:security@${new URL(origin).hostname}`,
  }
  const { llms, sitemap } = guideDocuments(config, guides())
  return documentRoutes(
    [
      ...resourceDocuments(config),
      { ...llms, content: () => guideDocuments(config, guides()).llms.content },
      { ...sitemap, content: () => guideDocuments(config, guides()).sitemap.content },
    ],
    LIMITS.pages,
  )
}
