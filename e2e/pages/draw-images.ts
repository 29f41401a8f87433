import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ICON_SVG } from '@plainpath/pages'
import { openBrowser } from './open-browser.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../packages/pages/src/images')

// Draws the images of the pages for programs that do not support SVG: icons, and the card that previews a link.
await using browser = await openBrowser()

async function drawImage(size: { width: number; height: number }, markup: string): Promise<Buffer> {
  const page = await browser.newPage({ viewport: size })
  await page.setContent(`<style>* { margin: 0 } svg { display: block }</style>${markup}`)
  const image = await page.screenshot()
  await page.close()
  return image
}

const drawIcon = (size: number) =>
  drawImage(
    { width: size, height: size },
    ICON_SVG.replace('<svg ', `<svg width="${size}" height="${size}" `),
  )

/** Creates an ICO file with one square PNG: a directory of one entry, then the image. @param size in pixels, below 256 */
function createIco(png: Buffer, size: number): Buffer {
  const header = Buffer.alloc(22)
  // The file type, which is icon, and the number of images.
  header.writeUInt16LE(1, 2)
  header.writeUInt16LE(1, 4)
  // The width and the height.
  header.writeUInt8(size, 6)
  header.writeUInt8(size, 7)
  // The number of colour planes, and the bits for each pixel.
  header.writeUInt16LE(1, 10)
  header.writeUInt16LE(32, 12)
  // The length of the image, and its offset in the file.
  header.writeUInt32LE(png.length, 14)
  header.writeUInt32LE(header.length, 18)
  return Buffer.concat([header, png])
}

const CARD = `<body style="background: #fbf8f1; color: #211e1a; font: 44px/1.4 sans-serif">
<div style="padding: 90px 100px">${ICON_SVG.replace('<svg ', '<svg width="110" height="110" ')}
<h1 style="margin: 40px 0 16px; font-size: 92px; line-height: 1.1; color: #0f4a33">Plainpath</h1>
<p>Plain-English guides to U.S. immigration</p>
<p style="margin-top: 40px; font-size: 32px; color: #4b463e">Not a law firm. Not the government.</p></div>`

await writeFile(path.join(FOLDER, 'favicon.ico'), createIco(await drawIcon(32), 32))
await writeFile(path.join(FOLDER, 'apple-touch-icon.png'), await drawIcon(180))
await writeFile(path.join(FOLDER, 'card.png'), await drawImage({ width: 1200, height: 630 }, CARD))
