import { API_TITLE } from '../api-version.ts'
import { type ServiceUrls, serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { LINKSET_TYPE, SERVER_CARD_TYPE } from './links.ts'
import { JSON_TYPE, jsonDocument, type ServedDocument } from './served-document.ts'

const PROFILE = 'https://www.rfc-editor.org/info/rfc9727'

/** `/.well-known/api-catalog` (RFC 9727): what APIs there are, and for each what describes it (RFC 8631). */
export function apiCatalog(config: DocumentConfig): ServedDocument {
  const urls = serviceUrls(config.origin)
  const linkset = [
    {
      anchor: urls.apiCatalog,
      item: [
        { href: urls.base, type: JSON_TYPE, title: API_TITLE },
        { href: urls.mcp, title: 'Plainpath MCP server' },
      ],
    },
    apiContext(urls),
    {
      anchor: urls.mcp,
      'service-desc': [{ href: urls.serverCard, type: SERVER_CARD_TYPE }],
      'service-doc': [{ href: urls.authMd, type: 'text/markdown' }],
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
