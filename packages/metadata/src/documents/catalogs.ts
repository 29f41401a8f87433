import { API_TITLE, API_VERSION, type ServiceUrls } from '../service-urls.ts'
import { JSON_TYPE, jsonDocument, type ServedDocument } from './served-document.ts'
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

/** The documents that the home page and the API root link for agents. */
export function documentLinks(urls: ServiceUrls): readonly DocumentLink[] {
  const link = (rel: string, href: string, type: string, title: string) => ({ rel, href, type, title })
  return [
    link('api-catalog', urls.apiCatalog, LINKSET_TYPE, 'Catalog of the APIs (RFC 9727)'),
    link('service-desc', urls.openapi, 'application/json', 'Description of the API (OpenAPI 3.1)'),
    link('service-doc', urls.authMd, 'text/markdown', 'How an agent registers and gets a token'),
    link('service-doc', urls.authVerifiedEmail, 'text/markdown', 'How an agent sends a message for a person'),
    link('service-doc', urls.reference, 'text/html', 'Reference of the API with examples'),
    link('describedby', urls.llms, 'text/plain', 'What is here, for language models'),
    link('ai-catalog', urls.aiCatalog, AI_CATALOG_TYPE, 'Catalog of what agents can use'),
    link('alternate', `${urls.origin}/index.md`, 'text/markdown', 'This page as Markdown'),
    link('privacy-policy', urls.privacy, 'text/html', 'Privacy'),
    link('terms-of-service', urls.terms, 'text/html', 'Terms'),
  ]
}

/** The value of the `Link` header of the home page. */
export const homeLinkHeader = (urls: ServiceUrls): string =>
  documentLinks(urls)
    .map(({ rel, href, type }) => `<${href}>; rel="${rel}"; type="${type}"`)
    .join(', ')

/** The type that `ai-catalog.json` names; draft-ietf-httpapi-rest-api-mediatypes registers it. */
export const OPENAPI_TYPE = 'application/openapi+json'

/** The API root, which the catalog and the OAuth metadata name: what the API is, and links to its documents. */
export function apiRoot(urls: ServiceUrls): ServedDocument {
  return jsonDocument(urls.base, {
    title: API_TITLE,
    version: API_VERSION,
    guides: `${urls.base}/guides`,
    health: `${urls.base}/health`,
    links: documentLinks(urls).filter(({ rel }) => rel !== 'alternate'),
  })
}

const PROFILE = 'https://www.rfc-editor.org/info/rfc9727'

/** `/.well-known/api-catalog` (RFC 9727): lists the APIs, and the documents about each (RFC 8631). */
export function apiCatalog(urls: ServiceUrls): ServedDocument {
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
    apiContext(urls),
    {
      anchor: urls.mcp,
      'service-desc': [{ href: urls.serverCard, type: SERVER_CARD_TYPE }],
      'service-doc': [{ href: urls.mcpMd, type: 'text/markdown' }],
      'service-meta': [
        { href: urls.mcpProtectedResource, type: JSON_TYPE, title: 'Protected resource (RFC 9728)' },
      ],
    },
  ]
  return jsonDocument(
    urls.apiCatalog,
    { linkset },
    {
      contentType: `${LINKSET_TYPE}; profile="${PROFILE}"`,
      alsoAs: [JSON_TYPE],
      // RFC 9727 §3 asks for it in the answer to HEAD.
      headers: { link: `<${urls.apiCatalog}>; rel="api-catalog"; type="${LINKSET_TYPE}"` },
    },
  )
}

function apiContext(urls: ServiceUrls) {
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

/** `/.well-known/ai-catalog.json` (AI Catalog 1.0), in the narrower form that ARD 0.9 asks for. */
export function aiCatalog(urls: ServiceUrls): ServedDocument {
  const catalog = {
    specVersion: '1.0',
    host: {
      displayName: 'Plainpath',
      identifier: new URL(urls.origin).hostname,
      documentationUrl: urls.authMd,
    },
    entries: [mcpEntry(urls), apiEntry(urls), ...skillEntries(urls)],
  }
  return jsonDocument(urls.aiCatalog, catalog, { contentType: AI_CATALOG_TYPE, alsoAs: [JSON_TYPE] })
}

/** `urn:air:` and the publisher's host, in the characters that ARD allows. */
const identifier = ({ origin }: ServiceUrls, ...name: string[]) =>
  ['urn:air', new URL(origin).hostname.replaceAll(/[^a-zA-Z0-9.-]/g, '-'), ...name].join(':')

const apiEntry = (urls: ServiceUrls) => ({
  identifier: identifier(urls, 'api', 'rest'),
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

const mcpEntry = (urls: ServiceUrls) => ({
  identifier: identifier(urls, 'mcp', 'plainpath'),
  displayName: 'Plainpath MCP server',
  type: SERVER_CARD_TYPE,
  url: urls.serverCard,
  representativeQueries: [
    'find a guide about U.S. citizenship',
    'put me on the immigration guidance waitlist',
  ],
})

const skillEntries = (urls: ServiceUrls) =>
  SKILLS.map(({ name, title, description, queries }) => ({
    identifier: identifier(urls, 'skill', name),
    displayName: title,
    description,
    type: SKILL_TYPE,
    url: urls.skill(name),
    representativeQueries: queries,
  }))
