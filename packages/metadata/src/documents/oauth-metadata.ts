import { authorizationServerMetadata } from '../authorization-server.ts'
import { protectedResourceMetadata } from '../protected-resource.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { jsonDocument, type ServedDocument } from './served-document.ts'

/** `/.well-known/oauth-authorization-server` (RFC 8414). */
export const authorizationServer = ({ origin }: DocumentConfig): ServedDocument =>
  jsonDocument(serviceUrls(origin).authorizationServer, authorizationServerMetadata({ origin }))

/** The metadata of the API (RFC 9728) where the RFC puts it, and the same bytes where most clients look. */
export function protectedResource({ origin }: DocumentConfig): ServedDocument[] {
  const document = protectedResourceMetadata({ origin })
  return [`${origin}/.well-known/oauth-protected-resource`, serviceUrls(origin).protectedResource].map(
    (address) => jsonDocument(address, document),
  )
}
