import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { REPLY } from '@plainpath/pages'
import { openPool } from '@plainpath/postgres'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MCP_CLIENTS } from '../in-process/mcp-clients.ts'
import {
  beginClaim,
  completeClaim,
  exchange,
  lentToken,
  linkIn,
  postAs,
  STAFF_INBOX,
} from '../lend-mailbox-to.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { basic, createSender, type Sender } from '../send.ts'
import { dumpEverything, find } from './canaries.ts'
import { type MailSystem, openMailSystem } from './lend-mailbox.ts'

const MESSAGE = 'My work permit ends in the spring of next year; may I renew it from abroad?'
/** The codes that pages have shown. */
const codes: string[] = []

const resources = new AsyncDisposableStack()
let system: MailSystem
let browser: Browser
let sender: Sender
beforeAll(async () => {
  system = resources.use(await openMailSystem({ limitsFactor: 1_000 }))
  browser = resources.use(await openBrowser())
  sender = system.client({ from: '127.0.0.60' })
}, 120_000)
afterAll(() => resources.disposeAsync())

/** Opens a browser page for a person without a mouse, with scripts disabled. */
async function withoutScripts() {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  return { page, [Symbol.asyncDispose]: () => context.close() }
}
const heading = (page: Page) => page.locator('h1').innerText()

/** Moves to a button with Tab, and presses it with Enter. */
async function pressByKeyboard(page: Page, button: string): Promise<void> {
  const reached: string[] = []
  while (reached.at(-1)?.startsWith(button) !== true) {
    if (reached.length > 30) throw new Error(`no key leads to "${button}", but to ${reached.join(', ')}`)
    await page.keyboard.press('Tab')
    reached.push((await page.locator(':focus').allInnerTexts()).join().trim())
  }
  await page.keyboard.press('Enter')
  await page.waitForURL(`${system.origin}/claim`)
}

async function codeOn(page: Page): Promise<string> {
  const code = (await page.locator('#code').innerText()).replaceAll(' ', '')
  expect(code).toMatch(/^\d{6}$/)
  codes.push(code)
  return code
}

/** Reads all rows of verifications, messages and mails. */
async function stored(): Promise<string[]> {
  const tables = {
    auth: ['claims', 'claim_attempts', 'claim_tries', 'claim_blocks', 'mails'],
    resource: ['contact_messages', 'mails'],
  }
  const rows: string[] = []
  for (const app of ['auth', 'resource'] as const) {
    await using db = openPool(system.adminUrls[app], { max: 1 })
    for (const table of tables[app]) {
      const found = await db.query<{ text: string }>(`select t::text as text from ${table} t order by 1`)
      rows.push(...found.rows.map(({ text }) => `${app}.${table} ${text}`))
    }
  }
  return rows
}
const allMailSent = async () => {
  const states: string[] = []
  for (const url of Object.values(system.adminUrls)) {
    await using db = openPool(url, { max: 1 })
    states.push(
      ...(await db.query<{ state: string }>('select state from mails')).rows.map(({ state }) => state),
    )
  }
  return states.every((state) => state === 'sent')
}

/** Opens each link of each mail, as a mail scanner does, and expects no change. Returns the responses. */
async function scanEveryMail(): Promise<string[]> {
  await expect.poll(allMailSent).toBe(true)
  const before = await stored()
  const responses = new Set<string>()
  using scanner = createSender(system.origin)
  const links = system.mail.received.flatMap(({ text }) => text.match(/https?:\/\/\S+/g) ?? [])
  const official = new Set<string>(REPLY.findHelp.flatMap(({ url }) => url ?? []))
  for (const link of links.filter((each) => !official.has(each)))
    for (const method of ['HEAD', 'GET', 'GET']) {
      const { origin, pathname, search } = new URL(link)
      expect(origin).toBe(system.origin)
      const { status } = await scanner.send({ method, path: pathname + search })
      responses.add(`${pathname} ${status}`)
    }
  expect(await stored()).toEqual(before)
  return [...responses].sort()
}

const mailTo = (to: string, subject: RegExp) =>
  system.mail.received.find((mail) => mail.to.includes(to) && subject.test(mail.subject))
const arrived = async (to: string, subject: RegExp) => {
  await expect.poll(() => mailTo(to, subject)).toBeDefined()
  return mailTo(to, subject)
}

/** Returns the status of a simultaneous request with the token at each API process. */
async function atBothProcesses(address: string, token: string): Promise<number[]> {
  const headers = { host: new URL(system.origin).host, authorization: `Bearer ${token}` }
  return Promise.all(
    system.stack.resource.map(async ({ ports }) => {
      using direct = createSender(`http://127.0.0.1:${ports.public}`)
      return (await direct.send({ path: address, headers })).status
    }),
  )
}

test('a person confirms an agent by keyboard, without scripts; the agent writes; the person revokes its access', {
  timeout: 120_000,
}, async () => {
  const email = system.newEmail()
  const agent = await system.register(sender)
  const ownToken = await system.token(agent, sender)
  for (const value of [email, MESSAGE]) system.confidential.add(value)

  const { phrase, link } = await beginClaim(system, sender, { agent, email })
  expect(link).toMatch(new RegExp(`^${system.origin}/claim\\?attempt=`))
  expect(await scanEveryMail()).toEqual(['/ 200', '/claim 200'])
  const early = await postAs(sender, agent, '/api/agent/claim/complete', { otp: '123456' })
  expect([early.status, JSON.parse(early.text).code]).toEqual([409, 'code-not-shown'])

  await using visit = await withoutScripts()
  const { page } = visit
  await page.goto(link)
  expect(await heading(page)).toBe('Does this AI agent act for you?')
  expect(await page.locator('#match-phrase').innerText()).toBe(phrase)
  await pressByKeyboard(page, 'Yes')
  expect(await heading(page)).toBe('The code for your agent')
  const assertion = await completeClaim(sender, agent, await codeOn(page))
  const token = await lentToken(sender, agent, assertion)
  for (const value of [assertion, token, new URL(link).searchParams.get('attempt') ?? ''])
    system.confidential.add(value)

  const credentials = {
    clientId: agent.client_id,
    clientSecret: agent.client_secret,
    expectedIssuer: system.origin,
  }
  await using client = await MCP_CLIENTS[0].connect(`${system.origin}/api/mcp`, {
    credentials,
    oldToken: token,
  })
  const sent = await client.call('send_contact_message', { topic: 'question', message: MESSAGE })
  expect(sent.isError, JSON.stringify(sent.content)).not.toBe(true)
  const id = String(sent.structuredContent?.['id'])
  const desk = await arrived(STAFF_INBOX, /^Message /)
  expect(desk?.replyTo).toBe(email)
  expect(desk?.text).toContain(MESSAGE)
  expect(desk?.text).toContain(id)
  const receipt = await arrived(email, /^We received your message/)
  expect(receipt?.text).toContain(id)
  expect(receipt?.text).toContain(`| ${MESSAGE}`)

  const address = `/api/contact/${id}`
  const headers = { authorization: `Bearer ${token}` }
  const status = async () => JSON.parse((await sender.send({ path: address, headers })).text).status
  await expect.poll(status).toBe('delivered')

  const end = linkIn((await arrived(email, /can now send us messages/))?.text ?? '', 'end')
  system.confidential.add(new URL(end).searchParams.get('end') ?? '')
  expect(linkIn(receipt?.text ?? '', 'end')).toBe(end)
  // The confirmation link is used; the link that revokes access is still valid.
  expect(await scanEveryMail()).toEqual([
    '/ 200',
    '/claim 200',
    '/claim 410',
    '/contact/withdraw 410',
    '/privacy 200',
  ])
  expect(await atBothProcesses(address, token)).toEqual([200, 200])
  await page.goto(end)
  expect(await heading(page)).toBe('Do you want to end this agent’s access?')
  await pressByKeyboard(page, 'End it now')
  expect(await heading(page)).toBe('The access has ended')
  const ended = await arrived(email, /can no longer send us messages/)
  expect(ended?.text).toContain("You ended an AI agent's access to Plainpath")
  expect(await atBothProcesses(address, token)).toEqual([401, 401])
  const refused = await exchange(sender, agent, assertion)
  expect([refused.status, JSON.parse(refused.text).error]).toEqual([400, 'invalid_grant'])
  const another = await sender.send({
    method: 'POST',
    path: '/api/agent/assertion',
    headers: basic(agent.client_id, agent.client_secret),
  })
  expect([another.status, JSON.parse(another.text).code]).toEqual([409, 'no-claim'])
  expect(JSON.parse(another.text).detail).toContain('Do not ask the person again on your own')
  expect(await atBothProcesses('/api/guides', ownToken)).toEqual([200, 200])
})

describe('the pages behind mailed links', () => {
  test.for([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
  ] satisfies [string, BrowserContextOptions][])(
    'have no fault that axe knows, and fit 320 pixels: %s',
    { timeout: 120_000 },
    async ([_name, options]) => {
      const context = await browser.newContext({ ...options, viewport: { width: 320, height: 640 } })
      await using _closed = { [Symbol.asyncDispose]: () => context.close() }
      const page = await context.newPage()
      const headings: string[] = []
      const checkPage = async () => {
        headings.push(await heading(page))
        expect(await faults(page)).toEqual([])
      }
      const email = system.newEmail()
      system.confidential.add(email)
      const agent = await system.register(sender)
      const { link } = await beginClaim(system, sender, { agent, email })
      await page.goto(link)
      await checkPage()
      await pressByKeyboard(page, 'Yes')
      await checkPage()
      system.confidential.add(await completeClaim(sender, agent, await codeOn(page)))
      await page.goto(link)
      await checkPage()
      await page.goto(linkIn((await arrived(email, /can now send us messages/))?.text ?? '', 'end'))
      await checkPage()
      await pressByKeyboard(page, 'End it now')
      await checkPage()
      await page.goto(linkIn((await arrived(email, /can now send us messages/))?.text ?? '', 'end'))
      await checkPage()
      const other = await system.register(sender)
      await page.goto((await beginClaim(system, sender, { agent: other, email })).link)
      await pressByKeyboard(page, 'No')
      await checkPage()
      await page.goto(`${system.origin}/claim`)
      await checkPage()
      expect(headings).toEqual([
        'Does this AI agent act for you?',
        'The code for your agent',
        'This is done',
        'Do you want to end this agent’s access?',
        'The access has ended',
        'This has already ended',
        'You said no',
        'This link does not work',
      ])
    },
  )
})

/** Returns one line for each violated rule of axe, and for each element that is cut off at the right. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  const wide = await page.evaluate<string[]>(
    `[document.documentElement, ...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5 || each.tagName === 'HTML' && each.scrollWidth > innerWidth).map((each) => each.outerHTML.slice(0, 80))`,
  )
  return [...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)), ...wide]
}

test('no address, message, code, link or token of a verification is stored in the clear in a table, in Redis, in a file or in a log', {
  timeout: 120_000,
}, async () => {
  await using dump = await dumpEverything(system)
  expect(system.confidential.size).toBeGreaterThan(12)
  expect(await find(system, dump.folders)).toEqual([])
  const shown = new RegExp(
    codes.map((code) => `(?<![\\w.])${code.slice(0, 3)} ?${code.slice(3)}(?!\\w)`).join('|'),
  )
  expect(codes.length).toBeGreaterThan(0)
  for (const file of ['postgres-auth', 'postgres-resource', 'redis'])
    expect(shown.exec(await readFile(path.join(dump.folders[0] ?? '', file), 'utf8'))?.[0]).toBeUndefined()
})
