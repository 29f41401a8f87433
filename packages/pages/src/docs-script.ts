import { PAGE_CSP } from './render-page.ts'
import { readScript } from './served-script.ts'

/** The script of `/docs`. It adds buttons that copy commands, and shows the response to a test request in the page. */
export const DOCS_SCRIPT = readScript('docs')

/** The headers of `/docs`. They allow the page's script, and requests from the script to our own origin. */
export const DOCS_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-security-policy': `${PAGE_CSP}; script-src 'self'; connect-src 'self'`,
})
