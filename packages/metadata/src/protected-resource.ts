import { Scope } from '@plainpath/domain'
import { z } from 'zod'
import { API_TITLE } from './api-version.ts'
import { serviceUrls } from './service-urls.ts'

/** RFC 9728 §2, the members we publish. */
export const ProtectedResourceMetadata = z.strictObject({
  resource: z.url(),
  authorization_servers: z.array(z.url()).length(1),
  scopes_supported: z.array(Scope).min(1),
  bearer_methods_supported: z.array(z.literal('header')).length(1),
  resource_name: z.string(),
  resource_documentation: z.url(),
  resource_policy_uri: z.url(),
  resource_tos_uri: z.url(),
})
export type ProtectedResourceMetadata = z.infer<typeof ProtectedResourceMetadata>

/**
 * The document at `/.well-known/oauth-protected-resource/api`, where RFC 9728 §3.1 puts it, and the same bytes at
 * `/.well-known/oauth-protected-resource`, where most clients look.
 */
export function protectedResourceMetadata({ origin }: { origin: string }): ProtectedResourceMetadata {
  const urls = serviceUrls(origin)
  return ProtectedResourceMetadata.parse({
    resource: urls.base,
    authorization_servers: [urls.origin],
    scopes_supported: Scope.options,
    bearer_methods_supported: ['header'],
    resource_name: API_TITLE,
    resource_documentation: urls.authMd,
    resource_policy_uri: urls.privacy,
    resource_tos_uri: urls.terms,
  })
}
