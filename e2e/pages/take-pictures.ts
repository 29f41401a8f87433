import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startStack } from '@plainpath/stack/start-stack'
import { openBrowser } from './open-browser.ts'
import { SITE_PAGES } from './site-pages.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../docs/pages')
const WIDE = { width: 960, height: 600 }
const LOOKS = {
  light: { viewport: WIDE, colorScheme: 'light' },
  dark: { viewport: WIDE, colorScheme: 'dark' },
  320: { viewport: { width: 320, height: 640 }, colorScheme: 'light' },
} as const

/** Writes pictures of the top of each page into `docs/pages/`, which whoever changes a page looks at. */
await using resources = new AsyncDisposableStack()
const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-pictures-'))
resources.defer(() => rm(folder, { recursive: true, force: true }))
const { origin } = resources.use(await startStack({ folder }))
const browser = resources.use(await openBrowser())
await mkdir(FOLDER, { recursive: true })
for (const [look, options] of Object.entries(LOOKS)) {
  const page = await browser.newPage(options)
  const take = (name: string) => page.screenshot({ path: path.join(FOLDER, `${name}-${look}.png`) })
  for (const [name, address] of Object.entries(SITE_PAGES)) {
    if (name === 'not-found') continue
    await page.goto(`${origin}${address}`)
    await take(name)
  }
  await page.goto(`${origin}/waitlist`)
  await page.fill('#email', 'nobody')
  await page.click('button')
  await take('waitlist-mistake')
  await page.fill('#email', `${look}@example.org`)
  await page.click('button')
  await take('waitlist-joined')
  await page.close()
}
