import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The icon of the site: a path. */
export const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0f4a33"/>' +
  '<path d="M9 27c0-9 14-7 14-13 0-5-9-4-9-9" fill="none" stroke="#fbf8f1" stroke-width="4"/></svg>'

/** The icon as an address of its own: no page asks us for it. */
export const ICON_URL = `data:image/svg+xml,${encodeURIComponent(ICON_SVG)}`

/** A file that `e2e/pages/draw-images.ts` draws. */
interface Image {
  readonly path: `/${string}`
  readonly contentType: string
  readonly bytes: Buffer
}

const read = (name: string) => readFileSync(new URL(`./images/${name}`, import.meta.url))

const card = read('card.png')
const cardHash = createHash('sha256').update(card).digest('hex').slice(0, 16)

/** What a message that links to a page shows beside its title, 1200 by 630 pixels. Its path names its bytes. */
export const CARD_IMAGE: Image = {
  path: `/assets/plainpath-card-${cardHash}.png`,
  contentType: 'image/png',
  bytes: card,
}

/** The icon for programs that take no SVG, at the paths at which they ask, and the card. */
export const IMAGES: readonly Image[] = [
  { path: '/favicon.ico', contentType: 'image/vnd.microsoft.icon', bytes: read('favicon.ico') },
  { path: '/apple-touch-icon.png', contentType: 'image/png', bytes: read('apple-touch-icon.png') },
  CARD_IMAGE,
]
