import { authorizationServerMetadata, protectedResourceMetadata } from '../oauth-metadata.ts'
import { openApiDescription } from '../openapi/openapi-description.ts'
import { serviceUrls } from '../service-urls.ts'
import { authMd } from './auth-md.ts'
import { aiCatalog, apiCatalog, apiRoot, OPENAPI_TYPE } from './catalogs.ts'
import { serverCards } from './mcp-server.ts'
import { llmsTxt, robotsTxt, securityTxt, sitemap } from './root-files.ts'
import {
  type DocumentConfig,
  jsonDocument,
  type ListedGuide,
  type ResourceDocumentConfig,
  type ServedDocument,
} from './served-document.ts'
import { agentSkills } from './skills.ts'

/** What the authorization server serves beside its endpoints. */
export const authDocuments = (config: DocumentConfig): ServedDocument[] => [
  jsonDocument(serviceUrls(config.origin).authorizationServer, authorizationServerMetadata(config)),
  authMd(config),
]

/** What the API serves beside its operations and pages. */
export const resourceDocuments = (config: ResourceDocumentConfig): ServedDocument[] => [
  apiCatalog(config),
  apiRoot(config),
  jsonDocument(serviceUrls(config.origin).openapi, openApiDescription(config), { alsoAs: [OPENAPI_TYPE] }),
  ...agentSkills(config),
  ...protectedResource(config),
  aiCatalog(config),
  ...serverCards(config),
  robotsTxt(config),
  securityTxt(config),
]

/** What the API serves that names the published guides, by slug; it changes with them. */
export const guideDocuments = (
  config: DocumentConfig,
  guides: readonly ListedGuide[],
): Readonly<Record<'llms' | 'sitemap', ServedDocument>> => ({
  llms: llmsTxt(config, guides),
  sitemap: sitemap(config, guides),
})

/** The metadata of the API (RFC 9728) where the RFC puts it, and the same bytes where most clients look. */
function protectedResource({ origin }: DocumentConfig): ServedDocument[] {
  const document = protectedResourceMetadata({ origin })
  return [`${origin}/.well-known/oauth-protected-resource`, serviceUrls(origin).protectedResource].map(
    (address) => jsonDocument(address, document),
  )
}
