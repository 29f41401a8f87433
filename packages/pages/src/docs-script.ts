import { PAGE_CSP } from './render-page.ts'
import { readScript } from './served-script.ts'

/** Copies commands, and shows in the page what a request for a try answers. */
export const DOCS_SCRIPT = readScript('docs')

/** The headers of `/docs`: its script may run, and may send requests to our own origin. */
export const DOCS_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-security-policy': `${PAGE_CSP}; script-src 'self'; connect-src 'self'`,
})
