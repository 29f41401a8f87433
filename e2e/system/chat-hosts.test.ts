import { randomUUID } from 'node:crypto'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { createServiceUrls } from '@plainpath/metadata'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCallbackServer } from '../hosts/callback-server.ts'
import { createChromiumPerson } from '../hosts/chromium-person.ts'
import { type Inspector, startInspector } from '../hosts/inspector.ts'
import { SIGN_IN_CLIENTS } from '../hosts/sign-in-clients.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { createSender } from '../send.ts'
import { createMailSettings } from '../verification-steps.ts'
import { openSystem, type System } from './open-system.ts'

/*
 * People connect chat hosts in a browser, with mail, and with two instances of each app. They sign in, the host sends a
 * message for them and withdraws it, and they revoke the access. After that, no instance of the API serves the host's
 * token.
 */

const resources = new AsyncDisposableStack()
let mailServer: MailServer
let system: System
let browser: Browser
let inspector: Inspector
beforeAll(async () => {
  mailServer = resources.use(await startMailServer())
  // A message can be withdrawn only while it is held.
  const settings = { ...createMailSettings(mailServer), RESOURCE_CONTACT_HOLD: '10' }
  system = resources.use(await openSystem({ limitsFactor: 1_000, settings }))
  browser = resources.use(await openBrowser())
  inspector = resources.use(await startInspector(system.folder))
}, 120_000)
afterAll(() => resources.disposeAsync())

const getMcpUrl = () => createServiceUrls(system.origin).signedInMcp

/** Sends `tools/list` with the token to each API process, and through the gateway. Returns the statuses. */
async function listToolsEverywhere(token: string): Promise<number[]> {
  const host = new URL(system.origin).host
  const urls = [
    ...system.stack.resource.map(({ ports }) => `http://127.0.0.1:${ports.public}`),
    system.origin,
  ]
  return Promise.all(
    urls.map(async (url) => {
      using sender = createSender(url)
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
      const headers = {
        host,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-11-25',
        authorization: `Bearer ${token}`,
      }
      return (await sender.send({ method: 'POST', path: '/mcp', headers, body })).status
    }),
  )
}

async function expectServed(token: string): Promise<void> {
  system.confidential.add(token)
  expect(await listToolsEverywhere(token)).toEqual([200, 200, 200])
}
const expectRefused = async (token: string) =>
  expect(await listToolsEverywhere(token)).toEqual([401, 401, 401])

test.for(SIGN_IN_CLIENTS)(
  'a person connects $name without scripts, and revokes its access',
  async ({ connect }) => {
    await using callbackServer = await startCallbackServer('/oauth/callback')
    await using context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    const person = createChromiumPerson(mailServer)
    await using client = await connect(getMcpUrl(), {
      redirectUri: callbackServer.redirectUri,
      async signIn(url) {
        await page.goto(url.href)
        await person.signIn(page)
        return callbackServer.waitForCallback()
      },
    })
    const answer = await client.call('answer_question', { question: 'When do I renew my green card?' })
    expect(answer.structuredContent).toMatchObject({ outcome: expect.any(String) })
    const message = `When do I renew my work permit? ${randomUUID()}`
    const sentMessage = await client.call('send_contact_message', { topic: 'question', message })
    const { id } = sentMessage.structuredContent as { id: string }
    expect((await client.call('withdraw_contact_message', { id })).isError).toBeFalsy()
    const firstToken = client.getAccessToken()
    await client.refresh()
    const tokens = [firstToken, client.getAccessToken()]
    for (const token of tokens) await expectServed(token)
    await person.revokeAllAccess(page)
    for (const token of tokens) await expectRefused(token)
  },
)

test('a person connects an unmodified MCP Inspector, and revokes its access', {
  timeout: 120_000,
}, async () => {
  await using openedInspector = await openInspector()
  const { page, tokens } = openedInspector
  const person = createChromiumPerson(mailServer, { checkPages: true })
  await page.goto(inspector.createConnectUrl(getMcpUrl()))
  await page.waitForURL(`${system.origin}/oauth/sign-in/**`)
  await person.signIn(page)
  await page.locator('[data-testid="connection-status"][data-status="connected"]').waitFor()
  await page.getByRole('banner').getByText('Tools', { exact: true }).click()
  expect(await executeTool(page, 'answer_question', { question: 'When do I renew my green card?' })).toMatch(
    /"outcome": ?"information"/,
  )
  const message = `When do I renew my work permit? ${randomUUID()}`
  const sentMessage = await executeTool(page, 'send_contact_message', { topic: 'question', message })
  const id = /"id": ?"([0-9a-f-]{36})"/.exec(sentMessage)?.[1] ?? ''
  expect(await executeTool(page, 'withdraw_contact_message', { id })).toMatch(/"status": ?"erased"/)
  const [token = ''] = tokens
  await expectServed(token)
  const otherPage = await page.context().newPage()
  await person.revokeAllAccess(otherPage)
  await expectRefused(token)
  await page.getByRole('button', { name: 'Execute Tool' }).click()
  await expect.poll(() => page.url()).toMatch(/\/oauth\/sign-in\//)
})

/** Opens a browser window for Inspector. Collects in `tokens` the access tokens of all responses to the page. */
async function openInspector() {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 } })
  const page = await context.newPage()
  const tokens: string[] = []
  page.on('response', (response) => {
    // The body of a redirect cannot be read.
    response.text().then(
      (text) => tokens.push(...(text.match(/ppt_[A-Za-z0-9_-]{43}/g) ?? [])),
      () => undefined,
    )
  })
  return { page, tokens, [Symbol.asyncDispose]: () => context.close() }
}

/** Fills in the form of a tool and executes it. @returns the result, as the page shows it */
async function executeTool(
  page: Page,
  tool: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  await page.getByRole('button', { name: new RegExp(`${tool}$`) }).click()
  for (const [name, value] of Object.entries(fields)) {
    const field = page.getByRole('textbox', { name: new RegExp(`^${name}`) }).last()
    if (name === 'topic') {
      await field.click()
      await page.getByRole('option', { name: value, exact: true }).click()
    } else await field.fill(value)
  }
  await page.getByRole('button', { name: 'Execute Tool' }).click()
  const close = page.getByRole('button', { name: 'Close results' })
  await close.waitFor()
  const result = await page.locator('main').innerText()
  await close.click()
  return result
}
