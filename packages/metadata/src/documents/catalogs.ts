import { API_TITLE, API_VERSION, type ServiceUrls } from '../service-urls.ts'
import { createJsonDocument, JSON_TYPE, type ServedDocument } from './served-document.ts'
import { SKILL_TYPE, SKILLS } from './skills.ts'

/** A typed link (RFC 8288). */
interface DocumentLink {
  readonly rel: string
  readonly href: string
  readonly type: string
  readonly title: string
}

const LINKSET_TYPE = 'application/linkset+json'
const AI_CATALOG_TYPE = 'application/ai-catalog+json'
export const SERVER_CARD_TYPE = 'application/mcp-server-card+json'

/** Lists the documents to which the home page links. The API root links to the same documents, except the home page as Markdown. */
export function listDocumentLinks(urls: ServiceUrls): readonly DocumentLink[] {
  const createLink = (rel: string, href: string, type: string, title: string) => ({ rel, href, type, title })
  return [
    createLink('api-catalog', urls.apiCatalog, LINKSET_TYPE, 'Catalog of the APIs (RFC 9727)'),
    createLink('service-desc', urls.openapi, 'application/json', 'OpenAPI 3.1 description of the API'),
    createLink('service-doc', urls.authMd, 'text/markdown', 'How an agent registers and gets a token'),
    createLink(
      'service-doc',
      urls.authVerifiedEmail,
      'text/markdown',
      'How an agent sends a message for a person',
    ),
    createLink('service-doc', urls.reference, 'text/html', 'API reference with examples'),
    createLink('describedby', urls.llms, 'text/plain', 'Overview for language models'),
    createLink('ai-catalog', urls.aiCatalog, AI_CATALOG_TYPE, 'Catalog of resources for agents'),
    createLink('alternate', `${urls.origin}/index.md`, 'text/markdown', 'This page as Markdown'),
    createLink('privacy-policy', urls.privacy, 'text/html', 'Privacy'),
    createLink('terms-of-service', urls.terms, 'text/html', 'Terms'),
  ]
}

/** Formats the `Link` header of the home page. */
export const formatHomeLinkHeader = (urls: ServiceUrls): string =>
  listDocumentLinks(urls)
    .map(({ rel, href, type }) => `<${href}>; rel="${rel}"; type="${type}"`)
    .join(', ')

/** The media type of the API description in `ai-catalog.json`; draft-ietf-httpapi-rest-api-mediatypes registers it. */
export const OPENAPI_TYPE = 'application/openapi+json'

/** Creates the API root's response, which links to the documents. The API catalog and the OAuth metadata refer to it. */
export function createApiRoot(urls: ServiceUrls): ServedDocument {
  return createJsonDocument(urls.base, {
    title: API_TITLE,
    version: API_VERSION,
    guides: `${urls.base}/guides`,
    health: `${urls.base}/health`,
    links: listDocumentLinks(urls).filter(({ rel }) => rel !== 'alternate'),
  })
}

const API_CATALOG_PROFILE = 'https://www.rfc-editor.org/info/rfc9727'

/**
 * Creates `/.well-known/api-catalog` (RFC 9727). It lists the APIs, and the documents (RFC 8631) of the REST API and the agents'
 * MCP server.
 */
export function createApiCatalog(urls: ServiceUrls): ServedDocument {
  const linkset = [
    {
      anchor: urls.apiCatalog,
      item: [
        { href: urls.base, type: JSON_TYPE, title: API_TITLE },
        { href: urls.mcp, title: 'Plainpath MCP server' },
        { href: urls.signedInMcp, title: 'Plainpath MCP server for people who sign in' },
        ...(urls.publicMcp === undefined
          ? []
          : [{ href: urls.publicMcp, title: 'Plainpath MCP server without sign-in' }]),
      ],
    },
    createApiContext(urls),
    {
      anchor: urls.mcp,
      'service-desc': [{ href: urls.serverCard, type: SERVER_CARD_TYPE }],
      'service-doc': [{ href: urls.mcpMd, type: 'text/markdown' }],
      'service-meta': [
        { href: urls.mcpProtectedResource, type: JSON_TYPE, title: 'Protected resource (RFC 9728)' },
      ],
    },
  ]
  return createJsonDocument(
    urls.apiCatalog,
    { linkset },
    {
      contentType: `${LINKSET_TYPE}; profile="${API_CATALOG_PROFILE}"`,
      otherTypes: [JSON_TYPE],
      // RFC 9727 requires this header in the response to HEAD.
      headers: { link: `<${urls.apiCatalog}>; rel="api-catalog"; type="${LINKSET_TYPE}"` },
    },
  )
}

/** Creates the link context of the REST API in the catalog's link set (RFC 9264). */
function createApiContext(urls: ServiceUrls) {
  return {
    anchor: urls.base,
    'service-desc': [{ href: urls.openapi, type: JSON_TYPE, title: 'OpenAPI 3.1' }],
    'service-doc': [
      { href: urls.authMd, type: 'text/markdown', title: 'Registration and tokens' },
      {
        href: urls.authVerifiedEmail,
        type: 'text/markdown',
        title: 'Verified e-mail, and messages for a person',
      },
      { href: urls.authKeys, type: 'text/markdown', title: 'Keys and secrets' },
      { href: urls.authDomain, type: 'text/markdown', title: 'Without registration: your domain' },
      { href: urls.authDpop, type: 'text/markdown', title: 'Tokens that are bound to a key' },
      { href: urls.authErrors, type: 'text/markdown', title: 'Errors' },
      { href: urls.authLifetimes, type: 'text/markdown', title: 'Limits and lifetimes' },
      { href: urls.llms, type: 'text/plain', title: 'Overview for language models' },
      { href: urls.reference, type: 'text/html', title: 'Reference' },
    ],
    'service-meta': [
      { href: urls.protectedResource, type: JSON_TYPE, title: 'Protected resource (RFC 9728)' },
      { href: urls.authorizationServer, type: JSON_TYPE, title: 'Authorization server (RFC 8414)' },
      { href: urls.skills, type: JSON_TYPE, title: 'Agent skills' },
    ],
    status: [{ href: `${urls.base}/health`, type: JSON_TYPE, title: 'Health' }],
    'privacy-policy': [{ href: urls.privacy, type: 'text/html' }],
    'terms-of-service': [{ href: urls.terms, type: 'text/html' }],
  }
}

/** Creates `/.well-known/ai-catalog.json` (AI Catalog 1.0), in the stricter form of ARD 0.9. */
export function createAiCatalog(urls: ServiceUrls): ServedDocument {
  const catalog = {
    specVersion: '1.0',
    host: {
      displayName: 'Plainpath',
      identifier: new URL(urls.origin).hostname,
      documentationUrl: urls.authMd,
    },
    entries: [createMcpEntry(urls), createApiEntry(urls), ...createSkillEntries(urls)],
  }
  return createJsonDocument(urls.aiCatalog, catalog, {
    contentType: AI_CATALOG_TYPE,
    otherTypes: [JSON_TYPE],
  })
}

/**
 * Formats a catalog identifier: `urn:air:`, the publisher's host, and the parts of a name. Replaces host characters that ARD
 * forbids.
 */
const formatIdentifier = ({ origin }: ServiceUrls, ...nameParts: string[]) =>
  ['urn:air', new URL(origin).hostname.replaceAll(/[^a-zA-Z0-9.-]/g, '-'), ...nameParts].join(':')

const createApiEntry = (urls: ServiceUrls) => ({
  identifier: formatIdentifier(urls, 'api', 'rest'),
  displayName: API_TITLE,
  description:
    'Plain-English guides to U.S. immigration with their official sources, answers, a waitlist, and messages for a person.',
  type: OPENAPI_TYPE,
  url: urls.openapi,
  representativeQueries: [
    'how do I renew my green card',
    'where is the fee for Form I-765',
    'when do I need an immigration attorney',
  ],
})

const createMcpEntry = (urls: ServiceUrls) => ({
  identifier: formatIdentifier(urls, 'mcp', 'plainpath'),
  displayName: 'Plainpath MCP server',
  type: SERVER_CARD_TYPE,
  url: urls.serverCard,
  representativeQueries: [
    'find a guide about U.S. citizenship',
    'put me on the immigration guidance waitlist',
  ],
})

const createSkillEntries = (urls: ServiceUrls) =>
  SKILLS.map(({ name, title, description, queries }) => ({
    identifier: formatIdentifier(urls, 'skill', name),
    displayName: title,
    description,
    type: SKILL_TYPE,
    url: urls.skill(name),
    representativeQueries: queries,
  }))
