import {
  authorizationServerMetadata,
  mcpResourceMetadata,
  protectedResourceMetadata,
  signedInMcpResourceMetadata,
} from '../oauth-metadata.ts'
import { openApiDescription } from '../openapi/openapi-description.ts'
import { openApiPartQuery } from '../openapi/openapi-part.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { authDetails } from './auth-details.ts'
import { authMd } from './auth-md.ts'
import { aiCatalog, apiCatalog, apiRoot, OPENAPI_TYPE } from './catalogs.ts'
import { mcpMd } from './mcp-md.ts'
import { serverCards } from './mcp-server.ts'
import { llmsTxt, robotsTxt, securityTxt, sitemap } from './root-files.ts'
import { jsonDocument, type ResourceDocumentConfig, type ServedDocument } from './served-document.ts'
import { agentSkills } from './skills.ts'

/** What the authorization server serves beside its endpoints. */
export const authDocuments = (urls: ServiceUrls): ServedDocument[] => [
  jsonDocument(urls.authorizationServer, authorizationServerMetadata(urls)),
  authMd(urls),
  ...authDetails(urls),
]

function openApiDocument(urls: ServiceUrls): ServedDocument {
  const description = openApiDescription(urls)
  return jsonDocument(urls.openapi, description, {
    alsoAs: [OPENAPI_TYPE],
    part: openApiPartQuery(description, urls),
  })
}

/** What the API serves beside its operations and pages. */
export const resourceDocuments = (urls: ServiceUrls, config: ResourceDocumentConfig): ServedDocument[] => [
  apiCatalog(urls),
  apiRoot(urls),
  openApiDocument(urls),
  ...agentSkills(urls, config),
  // Where RFC 9728 puts it, and the same bytes where most clients look.
  ...[`${urls.origin}/.well-known/oauth-protected-resource`, urls.protectedResource].map((address) =>
    jsonDocument(address, protectedResourceMetadata(urls)),
  ),
  jsonDocument(urls.mcpProtectedResource, mcpResourceMetadata(urls)),
  jsonDocument(urls.signedInMcpProtectedResource, signedInMcpResourceMetadata(urls)),
  aiCatalog(urls),
  ...serverCards(urls),
  mcpMd(urls),
  robotsTxt(urls),
  securityTxt(urls, config),
  llmsTxt(urls, config),
  sitemap(urls, config),
]
