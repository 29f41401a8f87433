import { API_TITLE } from '../api-version.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig, ResourceDocumentConfig } from './document-config.ts'
import { AI_CATALOG_TYPE, SERVER_CARD_TYPE } from './links.ts'
import { OPENAPI_TYPE } from './openapi.ts'
import { JSON_TYPE, jsonDocument, type ServedDocument } from './served-document.ts'
import { SKILL_TYPE, skillsOf } from './skills.ts'

/** `/.well-known/ai-catalog.json` (AI Catalog 1.0), in the narrower form that ARD 0.9 asks for. */
export function aiCatalog(config: ResourceDocumentConfig): ServedDocument {
  const urls = serviceUrls(config.origin)
  const catalog = {
    specVersion: '1.0',
    host: {
      displayName: 'Plainpath',
      identifier: new URL(config.origin).hostname,
      documentationUrl: urls.authMd,
    },
    entries: [mcpEntry(config), apiEntry(config), ...skillEntries(config)],
  }
  return jsonDocument(urls.aiCatalog, catalog, { contentType: AI_CATALOG_TYPE, alsoAs: [JSON_TYPE] })
}

/** `urn:air:` and the publisher's host, in the characters that ARD allows. */
const identifier = (origin: string, ...name: string[]) =>
  ['urn:air', new URL(origin).hostname.replaceAll(/[^a-zA-Z0-9.-]/g, '-'), ...name].join(':')

const apiEntry = ({ origin }: DocumentConfig) => ({
  identifier: identifier(origin, 'api', 'rest'),
  displayName: API_TITLE,
  description: 'Plain-English guides to U.S. immigration with their official sources, and a waitlist.',
  type: OPENAPI_TYPE,
  url: serviceUrls(origin).openapi,
  representativeQueries: [
    'how do I renew my green card',
    'where is the fee for Form I-765',
    'when do I need an immigration attorney',
  ],
})

const mcpEntry = ({ origin }: DocumentConfig) => ({
  identifier: identifier(origin, 'mcp', 'plainpath'),
  displayName: 'Plainpath MCP server',
  type: SERVER_CARD_TYPE,
  url: serviceUrls(origin).serverCard,
  representativeQueries: [
    'find a guide about U.S. citizenship',
    'put me on the immigration guidance waitlist',
  ],
})

const skillEntries = (config: ResourceDocumentConfig) =>
  skillsOf(config).map(({ name, title, description, queries }) => ({
    identifier: identifier(config.origin, 'skill', name),
    displayName: title,
    description,
    type: SKILL_TYPE,
    url: serviceUrls(config.origin).skill(name),
    representativeQueries: queries,
  }))
