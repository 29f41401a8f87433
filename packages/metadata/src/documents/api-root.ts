import { API_TITLE, API_VERSION } from '../api-version.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { documentLinks } from './links.ts'
import { jsonDocument, type ServedDocument } from './served-document.ts'

/** `BASE` itself, which the catalog and the OAuth metadata name: what the API is, and where to go on. */
export function apiRoot(config: DocumentConfig): ServedDocument {
  const urls = serviceUrls(config.origin)
  return jsonDocument(urls.base, {
    title: API_TITLE,
    version: API_VERSION,
    guides: `${urls.base}/guides`,
    health: `${urls.base}/health`,
    links: documentLinks(config).filter(({ rel }) => rel !== 'alternate'),
  })
}
