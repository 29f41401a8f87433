import { Scope } from '@plainpath/domain'
import { z } from 'zod'
import { serviceUrls } from './service-urls.ts'

/** RFC 9728 §2, the members we publish. */
export const ProtectedResourceMetadata = z.strictObject({
  resource: z.url(),
  authorization_servers: z.array(z.url()).length(1),
  scopes_supported: z.array(Scope).min(1),
  bearer_methods_supported: z.array(z.literal('header')).length(1),
  resource_name: z.string(),
})
export type ProtectedResourceMetadata = z.infer<typeof ProtectedResourceMetadata>

/**
 * The document at `/.well-known/oauth-protected-resource/api`, where RFC 9728 §3.1 puts it, and the same bytes at
 * `/.well-known/oauth-protected-resource`, where most clients look.
 */
export function protectedResourceMetadata(config: {
  origin: string
  scopes: readonly Scope[]
}): ProtectedResourceMetadata {
  const urls = serviceUrls(config.origin)
  return ProtectedResourceMetadata.parse({
    resource: urls.base,
    authorization_servers: [urls.origin],
    scopes_supported: [...config.scopes],
    bearer_methods_supported: ['header'],
    resource_name: API_TITLE,
  })
}

export const API_TITLE = 'Plainpath Immigration Guidance API'
export const API_VERSION = '0.1.0'
