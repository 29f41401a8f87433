import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The site icon. */
export const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0f4a33"/>' +
  '<path d="M9 27c0-9 14-7 14-13 0-5-9-4-9-9" fill="none" stroke="#fbf8f1" stroke-width="4"/></svg>'

/** The icon as a `data:` URL, so that browsers do not request it. */
export const ICON_URL = `data:image/svg+xml,${encodeURIComponent(ICON_SVG)}`

/** An image and the URL path at which it is served. `e2e/pages/draw-images.ts` draws the files. */
interface Image {
  readonly path: `/${string}`
  readonly contentType: string
  readonly bytes: Buffer
}

const readImage = (name: string) => readFileSync(new URL(`./images/${name}`, import.meta.url))

const cardBytes = readImage('card.png')
const cardHash = createHash('sha256').update(cardBytes).digest('hex').slice(0, 16)

/** The image for link previews, 1200 by 630 pixels. The path contains a hash of the bytes. */
export const CARD_IMAGE: Image = {
  path: `/assets/plainpath-card-${cardHash}.png`,
  contentType: 'image/png',
  bytes: cardBytes,
}

/** The icons, at the fixed paths where programs that do not support SVG request them, and the image for link previews. */
export const IMAGES: readonly Image[] = [
  { path: '/favicon.ico', contentType: 'image/vnd.microsoft.icon', bytes: readImage('favicon.ico') },
  { path: '/apple-touch-icon.png', contentType: 'image/png', bytes: readImage('apple-touch-icon.png') },
  CARD_IMAGE,
]
