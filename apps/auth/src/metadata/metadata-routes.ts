import type { Scope } from '@plainpath/domain'
import { defineRoute, type LimitPolicy, type Route } from '@plainpath/http'
import { AuthorizationServerMetadata, authorizationServerMetadata } from '@plainpath/metadata'

/** `/.well-known/oauth-authorization-server` (RFC 8414), built once. */
export function metadataRoutes(deps: {
  origin: string
  scopes: readonly Scope[]
  limits: readonly LimitPolicy[]
}): Route[] {
  const document = authorizationServerMetadata(deps)
  return [
    defineRoute({
      method: 'get',
      path: '/.well-known/oauth-authorization-server',
      operationId: 'getAuthorizationServerMetadata',
      summary: 'OAuth 2.0 authorization server metadata',
      access: 'open',
      limits: { address: deps.limits },
      responses: { 200: AuthorizationServerMetadata },
      cache: 'public',
      handle: () => ({ status: 200, body: document }),
    }),
  ]
}
