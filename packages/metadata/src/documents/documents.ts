import {
  createAuthorizationServerMetadata,
  createMcpResourceMetadata,
  createProtectedResourceMetadata,
  createSignedInMcpResourceMetadata,
} from '../oauth-metadata.ts'
import { createOpenApiDescription } from '../openapi/openapi-description.ts'
import { createPartQuery } from '../openapi/openapi-part.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { createAuthDetails } from './auth-details.ts'
import { createAuthMd } from './auth-md.ts'
import { createAiCatalog, createApiCatalog, createApiRoot, OPENAPI_TYPE } from './catalogs.ts'
import { createMcpMd } from './mcp-md.ts'
import { createServerCards } from './mcp-server.ts'
import { createLlmsTxt, createRobotsTxt, createSecurityTxt, createSitemap } from './root-files.ts'
import { createJsonDocument, type ResourceDocumentConfig, type ServedDocument } from './served-document.ts'
import { createAgentSkills } from './skills.ts'

/** Creates the documents that the authorization server serves in addition to its endpoints. */
export const createAuthDocuments = (urls: ServiceUrls): ServedDocument[] => [
  createJsonDocument(urls.authorizationServer, createAuthorizationServerMetadata(urls)),
  createAuthMd(urls),
  ...createAuthDetails(urls),
]

/** Creates the API description. A query can select a part of it. */
function createOpenApiDocument(urls: ServiceUrls): ServedDocument {
  const description = createOpenApiDescription(urls)
  return createJsonDocument(urls.openapi, description, {
    otherTypes: [OPENAPI_TYPE],
    part: createPartQuery(description, urls),
  })
}

/** Creates the documents that the API serves in addition to its operations and pages. */
export const createResourceDocuments = (
  urls: ServiceUrls,
  config: ResourceDocumentConfig,
): ServedDocument[] => [
  createApiCatalog(urls),
  createApiRoot(urls),
  createOpenApiDocument(urls),
  ...createAgentSkills(urls, config),
  // Many clients request the address without a path, although RFC 9728 §3.1 puts the path of the resource after it.
  ...[`${urls.origin}/.well-known/oauth-protected-resource`, urls.protectedResource].map((address) =>
    createJsonDocument(address, createProtectedResourceMetadata(urls)),
  ),
  createJsonDocument(urls.mcpProtectedResource, createMcpResourceMetadata(urls)),
  createJsonDocument(urls.signedInMcpProtectedResource, createSignedInMcpResourceMetadata(urls)),
  createAiCatalog(urls),
  ...createServerCards(urls),
  createMcpMd(urls),
  createRobotsTxt(urls),
  createSecurityTxt(urls, config),
  createLlmsTxt(urls, config),
  createSitemap(urls, config),
]
