import { authorizationServerMetadata } from '../authorization-server.ts'
import { scopesOf } from '../features.ts'
import { protectedResourceMetadata } from '../protected-resource.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { jsonDocument, type ServedDocument } from './served-document.ts'

/** `/.well-known/oauth-authorization-server` (RFC 8414). */
export const authorizationServer = ({ origin, features }: DocumentConfig): ServedDocument =>
  jsonDocument(
    serviceUrls(origin).authorizationServer,
    authorizationServerMetadata({ origin, features, scopes: scopesOf(features) }),
  )

/** The metadata of the API (RFC 9728) where the RFC puts it, and the same bytes where most clients look. */
export function protectedResource({ origin, features }: DocumentConfig): ServedDocument[] {
  const document = protectedResourceMetadata({ origin, features, scopes: scopesOf(features) })
  return [`${origin}/.well-known/oauth-protected-resource`, serviceUrls(origin).protectedResource].map(
    (address) => jsonDocument(address, document),
  )
}
