import { openApiDescription } from '../openapi/openapi-description.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { jsonDocument, type ServedDocument } from './served-document.ts'

/** The type that `ai-catalog.json` names; draft-ietf-httpapi-rest-api-mediatypes registers it. */
export const OPENAPI_TYPE = 'application/openapi+json'

/** `/openapi.json`. */
export const openApi = (config: DocumentConfig): ServedDocument =>
  jsonDocument(serviceUrls(config.origin).openapi, openApiDescription(config), {
    alsoAs: [OPENAPI_TYPE],
  })
