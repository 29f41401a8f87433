import type { ResourceDocumentConfig } from './document-config.ts'
import { PLAIN_TYPE, type ServedDocument } from './served-document.ts'

const VALID_MONTHS = 11

/**
 * `/.well-known/security.txt` (RFC 9116). It ends less than a year after the month of the start, as §2.5.5 advises:
 * whoever runs one process for longer than ten months serves one that has expired.
 */
export function securityTxt({ origin, builtAt, securityContact }: ResourceDocumentConfig): ServedDocument {
  const path = '/.well-known/security.txt'
  const expires = new Date(Date.UTC(builtAt.getUTCFullYear(), builtAt.getUTCMonth() + VALID_MONTHS))
  const lines = [
    `Contact: ${securityContact}`,
    `Expires: ${expires.toISOString()}`,
    'Preferred-Languages: en',
    `Canonical: ${origin}${path}`,
    '',
  ]
  return { path, contentType: PLAIN_TYPE, content: lines.join('\n') }
}
