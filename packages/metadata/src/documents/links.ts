import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'

/** A typed link (RFC 8288). */
export interface DocumentLink {
  readonly rel: string
  readonly href: string
  readonly type: string
  readonly title: string
}

export const LINKSET_TYPE = 'application/linkset+json'
export const AI_CATALOG_TYPE = 'application/ai-catalog+json'
export const SERVER_CARD_TYPE = 'application/mcp-server-card+json'

/** Where an agent goes on from the home page, or from the API root. */
export function documentLinks({ origin }: DocumentConfig): readonly DocumentLink[] {
  const urls = serviceUrls(origin)
  const link = (rel: string, href: string, type: string, title: string) => ({ rel, href, type, title })
  return [
    link('api-catalog', urls.apiCatalog, LINKSET_TYPE, 'Catalog of the APIs (RFC 9727)'),
    link('service-desc', urls.openapi, 'application/json', 'Description of the API (OpenAPI 3.1)'),
    link('service-doc', urls.authMd, 'text/markdown', 'How an agent registers and gets a token'),
    link('service-doc', urls.reference, 'text/html', 'Reference of the API with examples'),
    link('describedby', urls.llms, 'text/plain', 'What is here, for language models'),
    link('ai-catalog', urls.aiCatalog, AI_CATALOG_TYPE, 'Catalog of what agents can use'),
    link('alternate', `${origin}/index.md`, 'text/markdown', 'This page as Markdown'),
    link('privacy-policy', urls.privacy, 'text/html', 'Privacy'),
    link('terms-of-service', urls.terms, 'text/html', 'Terms'),
  ]
}

/** The value of the `Link` header of the home page. */
export const homeLinkHeader = (config: DocumentConfig): string =>
  documentLinks(config)
    .map(({ rel, href, type }) => `<${href}>; rel="${rel}"; type="${type}"`)
    .join(', ')
