import { aiCatalog } from './ai-catalog.ts'
import { apiCatalog } from './api-catalog.ts'
import { apiRoot } from './api-root.ts'
import { authMd } from './auth-md.ts'
import type { DocumentConfig, ListedGuide, ResourceDocumentConfig } from './document-config.ts'
import { llmsTxt } from './llms-txt.ts'
import { authorizationServer, protectedResource } from './oauth-metadata.ts'
import { openApi } from './openapi.ts'
import { robotsTxt } from './robots-txt.ts'
import { securityTxt } from './security-txt.ts'
import type { ServedDocument } from './served-document.ts'
import { serverCards } from './server-card.ts'
import { sitemap } from './sitemap.ts'
import { agentSkills } from './skills.ts'

/** What the authorization server serves beside its endpoints. */
export const authDocuments = (config: DocumentConfig): ServedDocument[] => [
  authorizationServer(config),
  authMd(config),
]

/** What the API serves beside its operations and pages. */
export const resourceDocuments = (config: ResourceDocumentConfig): ServedDocument[] => [
  apiCatalog(config),
  apiRoot(config),
  openApi(config),
  ...agentSkills(config),
  ...protectedResource(config),
  aiCatalog(config),
  ...serverCards(config),
  robotsTxt(config),
  securityTxt(config),
]

/** What the API serves that names the published guides, by slug; it changes with them. */
export const guideDocuments = (
  config: ResourceDocumentConfig,
  guides: readonly ListedGuide[],
): Readonly<Record<'llms' | 'sitemap', ServedDocument>> => ({
  llms: llmsTxt(config, guides),
  sitemap: sitemap(config, guides),
})
