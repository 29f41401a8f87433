import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { startMailServer } from '@plainpath/mail/testing'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { startStack } from '@plainpath/stack/start-stack'
import { basic, createSender, json } from '../send.ts'
import { openBrowser } from './open-browser.ts'
import { EXAMPLE_QUESTIONS, SITE_PAGES } from './site-pages.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../docs/pages')
/** Print screenshots show the address of the page, so a random port would change them each time. */
const PORT = 8480
const WIDE = { width: 960, height: 600 }
const VARIANTS = {
  light: { viewport: WIDE, colorScheme: 'light' },
  dark: { viewport: WIDE, colorScheme: 'dark' },
  320: { viewport: { width: 320, height: 640 }, colorScheme: 'light' },
  print: { viewport: WIDE, colorScheme: 'light' },
} as const

async function post(endpoint: string, body: object, headers = {}) {
  using sender = createSender(origin)
  const content = json(body)
  return await sender.send({
    method: 'POST',
    path: endpoint,
    ...content,
    headers: { ...content.headers, ...headers },
  })
}

/** Begins a verification, and returns the link in its mail. */
async function createClaimLink(email: string): Promise<string> {
  const agent = JSON.parse(
    (await post('/api/agent/register', { client_name: 'Case helper of the library' })).text,
  )
  await post('/api/agent/claim', { email }, basic(agent.client_id, agent.client_secret))
  const [firstMail] = await mailServer.waitForMails(1, email)
  return firstMail?.text.match(/http\S+\/claim\?attempt=\S+/)?.[0] ?? ''
}

/** Registers an app, and returns the address at which a person begins to sign in with it. */
async function createSignInAddress(): Promise<string> {
  const redirectUri = 'https://claude.ai/api/mcp/auth_callback'
  const registration = await post('/oauth/register', { client_name: 'Claude', redirect_uris: [redirectUri] })
  const request = {
    client_id: String(JSON.parse(registration.text).client_id),
    redirect_uri: redirectUri,
    response_type: 'code',
    // The sign-in never gets as far as the token request, so the verifier is not needed again.
    code_challenge: createHash('sha256').update('any verifier').digest('base64url'),
    code_challenge_method: 'S256',
  }
  return `${origin}/oauth/authorize?${new URLSearchParams(request)}`
}

// Writes screenshots of the visible part of each page into `docs/pages/`, so that changes to pages can be reviewed.
await using resources = new AsyncDisposableStack()
const { path: folder } = resources.use(await createTemporaryFolder('screenshots'))
const mailServer = resources.use(await startMailServer())
const settings = {
  AUTH_SMTP_URL: mailServer.url,
  RESOURCE_SMTP_URL: mailServer.url,
  AUTH_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_DESK_ADDRESS: 'desk@plainpath.example',
}
const { origin } = resources.use(await startStack({ folder, settings, port: PORT }))
const browser = resources.use(await openBrowser())
await mkdir(FOLDER, { recursive: true })
for (const [variant, options] of Object.entries(VARIANTS)) {
  const page = await browser.newPage(options)
  if (variant === 'print') await page.emulateMedia({ media: 'print' })
  const takeScreenshot = (name: string) =>
    page.screenshot({ path: path.join(FOLDER, `${name}-${variant}.png`) })
  for (const [name, address] of Object.entries(SITE_PAGES)) {
    await page.goto(`${origin}${address}`)
    await takeScreenshot(name)
  }
  // Only the pages of `SITE_PAGES` have a print screenshot.
  if (variant === 'print') {
    await page.close()
    continue
  }
  for (const [name, question] of Object.entries(EXAMPLE_QUESTIONS)) {
    await page.goto(`${origin}/ask`)
    await page.fill('#question', question)
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.locator('.question').waitFor()
    await takeScreenshot(`ask-${name}`)
  }
  const press = (button: string) => page.getByRole('button', { name: button, exact: true }).click()
  const summary = page.locator('.summary')
  await page.goto(`${origin}/ask`)
  await press('Ask')
  await summary.waitFor()
  await takeScreenshot('ask-mistake')
  await page.goto(`${origin}/contact`)
  await press('Send me the link')
  await summary.waitFor()
  await takeScreenshot('contact-mistake')
  await page.locator('#topic').check()
  await page.fill('#message', 'Which form do I need?')
  await page.fill('#email', `writer-${variant}@example.org`)
  await press('Send me the link')
  await summary.waitFor({ state: 'detached' })
  await takeScreenshot('contact-sent')
  await page.goto(`${origin}/waitlist`)
  await page.fill('#email', 'nobody')
  await press('Join the waitlist')
  await summary.waitFor()
  await takeScreenshot('waitlist-mistake')
  await page.fill('#email', `${variant}@example.org`)
  await press('Join the waitlist')
  await page.locator('#referral').waitFor()
  await takeScreenshot('waitlist-joined')
  await page.goto(`${origin}${SITE_PAGES['guide-with-exit']}`)
  await page.locator('.risk summary').click()
  await takeScreenshot('guide-risk-open')
  await page.goto(`${origin}${SITE_PAGES.guide}`)
  const source = page.locator('.text summary').first()
  await source.click()
  await source.evaluate('(mark) => mark.scrollIntoView({ block: "center" })')
  await takeScreenshot('guide-source-open')
  await page.goto(await createClaimLink(`person-${variant}@example.org`))
  await takeScreenshot('claim')
  await page.getByRole('button', { name: /^Yes/ }).click()
  await takeScreenshot('claim-code')
  // A secret that was never issued.
  await page.goto(`${origin}/claim?attempt=${'x'.repeat(43)}`)
  await takeScreenshot('claim-gone')
  await page.goto(await createSignInAddress())
  await takeScreenshot('sign-in')
  await page.fill('#email', 'nobody')
  await press('Continue')
  await summary.waitFor()
  await takeScreenshot('sign-in-mistake')
  await page.fill('#email', `app-${variant}@example.org`)
  await press('Continue')
  await page.locator('#code').waitFor()
  await takeScreenshot('sign-in-code')
  await page.fill('#code', '000000')
  await press('Allow')
  await summary.waitFor()
  await takeScreenshot('sign-in-wrong-code')
  // The id of a sign-in that never began.
  await page.goto(`${origin}/oauth/sign-in/${'x'.repeat(21)}`)
  await takeScreenshot('sign-in-gone')
  await page.close()
}
