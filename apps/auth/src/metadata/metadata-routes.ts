import { documentRoutes, type LimitPolicy, type Route } from '@plainpath/http'
import { authDocuments } from '@plainpath/metadata'

/** The authorization server's metadata (RFC 8414) and `/auth.md`, built once. */
export const metadataRoutes = (deps: { origin: string; limits: readonly LimitPolicy[] }): Route[] =>
  documentRoutes(authDocuments(deps), { address: deps.limits })
