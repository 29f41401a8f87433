import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const body = ['base', 'parts', 'media']
  .map((name) => readFileSync(new URL(`./styles/${name}.css`, import.meta.url), 'utf8'))
  .join('\n')
const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)

/** The one stylesheet of all pages. Its path names its bytes (64 bits of their SHA-256), so it may be cached for good. */
export const STYLESHEET = Object.freeze({
  path: `/assets/plainpath-${hash}.css`,
  contentType: 'text/css; charset=utf-8',
  body,
})
