import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Html, html } from './html.ts'

/** A script that a page loads from our own origin. The page also works without it. */
export interface ServedScript {
  /** The path contains a hash of the bytes (64 bits of SHA-256). */
  readonly path: `/assets/${string}.js`
  readonly contentType: string
  readonly body: string
}

/** Reads a script from the `scripts` folder. */
export function readScript(name: string): ServedScript {
  const body = readFileSync(new URL(`./scripts/${name}.js`, import.meta.url), 'utf8')
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
  return Object.freeze({
    path: `/assets/${name}-${hash}.js`,
    contentType: 'text/javascript; charset=utf-8',
    body,
  })
}

/** Renders the element that loads a script. The script runs after the page has been parsed. */
export const renderScriptElement = ({ path }: ServedScript): Html =>
  html`<script src="${path}" defer></script>`
