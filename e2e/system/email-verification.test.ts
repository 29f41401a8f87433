import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { REPLY_GUIDANCE } from '@plainpath/pages'
import { openPool } from '@plainpath/postgres'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MCP_CLIENTS } from '../in-process/mcp-clients.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { basic, createSender, type Sender } from '../send.ts'
import {
  beginVerification,
  completeVerification,
  exchangeAssertion,
  findLink,
  postAs,
  requestContactToken,
  STAFF_INBOX,
} from '../verification-steps.ts'
import { dumpEverything, findConfidential } from './confidential-values.ts'
import { type MailSystem, openMailSystem } from './open-mail-system.ts'

const MESSAGE = 'My work permit ends in the spring of next year; may I renew it from abroad?'
/** The codes that pages have shown. */
const shownCodes: string[] = []

const resources = new AsyncDisposableStack()
let system: MailSystem
let browser: Browser
let sender: Sender
beforeAll(async () => {
  system = resources.use(await openMailSystem({ limitsFactor: 1_000 }))
  browser = resources.use(await openBrowser())
  sender = system.createSender({ from: '127.0.0.60' })
}, 120_000)
afterAll(() => resources.disposeAsync())

/** Opens a page with scripts disabled. */
async function openPageWithoutScripts() {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  return { page, [Symbol.asyncDispose]: () => context.close() }
}
const readHeading = (page: Page) => page.locator('h1').innerText()

/** Moves to a button with Tab, presses it with Enter, and waits for `/claim`. */
async function pressByKeyboard(page: Page, button: string): Promise<void> {
  const focusedTexts: string[] = []
  while (focusedTexts.at(-1)?.startsWith(button) !== true) {
    if (focusedTexts.length > 30)
      throw new Error(
        `Tab never focused a button that begins with "${button}". It focused ${focusedTexts.join(', ')}`,
      )
    await page.keyboard.press('Tab')
    focusedTexts.push((await page.locator(':focus').allInnerTexts()).join().trim())
  }
  await page.keyboard.press('Enter')
  await page.waitForURL(`${system.origin}/claim`)
}

async function readCode(page: Page): Promise<string> {
  const code = (await page.locator('#code').innerText()).replaceAll(' ', '')
  expect(code).toMatch(/^\d{6}$/)
  shownCodes.push(code)
  return code
}

/** Reads all rows of the tables of verifications, messages and mails. */
async function readStoredRows(): Promise<string[]> {
  const tables = {
    auth: ['claims', 'claim_attempts', 'claim_tries', 'claim_blocks', 'mails'],
    resource: ['contact_messages', 'mails'],
  }
  const rows: string[] = []
  for (const app of ['auth', 'resource'] as const) {
    await using db = openPool(system.adminUrls[app], { max: 1 })
    for (const table of tables[app]) {
      const result = await db.query<{ text: string }>(`select t::text as text from ${table} t order by 1`)
      rows.push(...result.rows.map(({ text }) => `${app}.${table} ${text}`))
    }
  }
  return rows
}
const isAllMailSent = async () => {
  const states: string[] = []
  for (const url of Object.values(system.adminUrls)) {
    await using db = openPool(url, { max: 1 })
    states.push(
      ...(await db.query<{ state: string }>('select state from mails')).rows.map(({ state }) => state),
    )
  }
  return states.every((state) => state === 'sent')
}

/**
 * Requests each link to the service in each mail, as a mail scanner does, and expects that no stored row changes.
 *
 * @returns the distinct paths with the statuses of their responses
 */
async function scanEveryMail(): Promise<string[]> {
  await expect.poll(isAllMailSent).toBe(true)
  const rowsBefore = await readStoredRows()
  const responses = new Set<string>()
  using scanner = createSender(system.origin)
  const links = system.mail.received.flatMap(({ text }) => text.match(/https?:\/\/\S+/g) ?? [])
  const officialUrls = new Set<string>(REPLY_GUIDANCE.findHelp.flatMap(({ url }) => url ?? []))
  // A scanner may open a link more than once.
  for (const link of links.filter((each) => !officialUrls.has(each)))
    for (const method of ['HEAD', 'GET', 'GET']) {
      const { origin, pathname, search } = new URL(link)
      expect(origin).toBe(system.origin)
      const { status } = await scanner.send({ method, path: pathname + search })
      responses.add(`${pathname} ${status}`)
    }
  expect(await readStoredRows()).toEqual(rowsBefore)
  return [...responses].sort()
}

const findMail = (to: string, subject: RegExp) =>
  system.mail.received.find((mail) => mail.to.includes(to) && subject.test(mail.subject))
const waitForMail = async (to: string, subject: RegExp) => {
  await expect.poll(() => findMail(to, subject)).toBeDefined()
  return findMail(to, subject)
}

/** Sends a request with the token to each API process simultaneously. Returns the statuses. */
async function readAtBothProcesses(endpoint: string, token: string): Promise<number[]> {
  const headers = { host: new URL(system.origin).host, authorization: `Bearer ${token}` }
  return Promise.all(
    system.stack.resource.map(async ({ ports }) => {
      using processSender = createSender(`http://127.0.0.1:${ports.public}`)
      return (await processSender.send({ path: endpoint, headers })).status
    }),
  )
}

test('a person confirms an agent by keyboard, without scripts; the agent writes; the person revokes its access', {
  timeout: 120_000,
}, async () => {
  const email = system.createEmail()
  const agent = await system.register(sender)
  const ownToken = await system.issueToken(agent, sender)
  for (const value of [email, MESSAGE]) system.confidential.add(value)

  const { phrase, link } = await beginVerification(system, sender, { agent, email })
  expect(link).toMatch(new RegExp(`^${system.origin}/claim\\?attempt=`))
  expect(await scanEveryMail()).toEqual(['/ 200', '/claim 200'])
  const earlyCompletion = await postAs(sender, agent, '/api/agent/claim/complete', { otp: '123456' })
  expect([earlyCompletion.status, JSON.parse(earlyCompletion.text).code]).toEqual([409, 'code-not-shown'])

  await using opened = await openPageWithoutScripts()
  const { page } = opened
  await page.goto(link)
  expect(await readHeading(page)).toBe('Does this AI agent act for you?')
  expect(await page.locator('#match-phrase').innerText()).toBe(phrase)
  await pressByKeyboard(page, 'Yes')
  expect(await readHeading(page)).toBe('The code for your agent')
  const assertion = await completeVerification(sender, agent, await readCode(page))
  const token = await requestContactToken(sender, agent, assertion)
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
  const sentMessage = await client.call('send_contact_message', { topic: 'question', message: MESSAGE })
  expect(sentMessage.isError, JSON.stringify(sentMessage.content)).not.toBe(true)
  const id = String(sentMessage.structuredContent?.['id'])
  const staffMail = await waitForMail(STAFF_INBOX, /^Message /)
  expect(staffMail?.replyTo).toBe(email)
  expect(staffMail?.text).toContain(MESSAGE)
  expect(staffMail?.text).toContain(id)
  const receipt = await waitForMail(email, /^We received your message/)
  expect(receipt?.text).toContain(id)
  expect(receipt?.text).toContain(`| ${MESSAGE}`)

  const messagePath = `/api/contact/${id}`
  const headers = { authorization: `Bearer ${token}` }
  const readStatus = async () => JSON.parse((await sender.send({ path: messagePath, headers })).text).status
  await expect.poll(readStatus).toBe('delivered')

  const revokeLink = findLink((await waitForMail(email, /can now send us messages/))?.text ?? '', 'end')
  system.confidential.add(new URL(revokeLink).searchParams.get('end') ?? '')
  expect(findLink(receipt?.text ?? '', 'end')).toBe(revokeLink)
  // The code was used, and the message was delivered, so the links to the code and to the withdrawal get 410. The link that revokes
  // the access gets 200.
  expect(await scanEveryMail()).toEqual([
    '/ 200',
    '/claim 200',
    '/claim 410',
    '/contact/withdraw 410',
    '/privacy 200',
  ])
  expect(await readAtBothProcesses(messagePath, token)).toEqual([200, 200])
  await page.goto(revokeLink)
  expect(await readHeading(page)).toBe('Do you want to end this agent’s access?')
  await pressByKeyboard(page, 'End it now')
  expect(await readHeading(page)).toBe('The access has ended')
  const revocationMail = await waitForMail(email, /can no longer send us messages/)
  expect(revocationMail?.text).toContain("You ended an AI agent's access to Plainpath")
  expect(await readAtBothProcesses(messagePath, token)).toEqual([401, 401])
  const refusal = await exchangeAssertion(sender, agent, assertion)
  expect([refusal.status, JSON.parse(refusal.text).error]).toEqual([400, 'invalid_grant'])
  const newAssertion = await sender.send({
    method: 'POST',
    path: '/api/agent/assertion',
    headers: basic(agent.client_id, agent.client_secret),
  })
  expect([newAssertion.status, JSON.parse(newAssertion.text).code]).toEqual([409, 'no-claim'])
  expect(JSON.parse(newAssertion.text).detail).toContain('Do not ask the person again on your own')
  expect(await readAtBothProcesses('/api/guides', ownToken)).toEqual([200, 200])
})

describe('the pages behind mailed links', () => {
  test.for([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
  ] satisfies [string, BrowserContextOptions][])(
    'have no axe violations, and fit in a width of 320 pixels: %s',
    { timeout: 120_000 },
    async ([_name, options]) => {
      await using context = await browser.newContext({ ...options, viewport: { width: 320, height: 640 } })
      const page = await context.newPage()
      const headings: string[] = []
      const checkPage = async () => {
        headings.push(await readHeading(page))
        expect(await findPageViolations(page)).toEqual([])
      }
      const email = system.createEmail()
      system.confidential.add(email)
      const agent = await system.register(sender)
      const { link } = await beginVerification(system, sender, { agent, email })
      await page.goto(link)
      await checkPage()
      await pressByKeyboard(page, 'Yes')
      await checkPage()
      system.confidential.add(await completeVerification(sender, agent, await readCode(page)))
      await page.goto(link)
      await checkPage()
      await page.goto(findLink((await waitForMail(email, /can now send us messages/))?.text ?? '', 'end'))
      await checkPage()
      await pressByKeyboard(page, 'End it now')
      await checkPage()
      await page.goto(findLink((await waitForMail(email, /can now send us messages/))?.text ?? '', 'end'))
      await checkPage()
      const otherAgent = await system.register(sender)
      const { link: otherLink } = await beginVerification(system, sender, { agent: otherAgent, email })
      await page.goto(otherLink)
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

/** Returns one line for each element with an axe violation, or that extends beyond the right edge. */
async function findPageViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  const overflowing = await page.evaluate<string[]>(
    `[document.documentElement, ...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5 || each.tagName === 'HTML' && each.scrollWidth > innerWidth).map((each) => each.outerHTML.slice(0, 80))`,
  )
  return [...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)), ...overflowing]
}

test('no address, message, link or token of these tests is in a database, Redis, the data directory or a log; no shown code is in a database or Redis', {
  timeout: 120_000,
}, async () => {
  await using dump = await dumpEverything(system)
  expect(system.confidential.size).toBeGreaterThan(12)
  expect(await findConfidential(system, dump.folders)).toEqual([])
  const shownCodePattern = new RegExp(
    shownCodes.map((code) => `(?<![\\w.])${code.slice(0, 3)} ?${code.slice(3)}(?!\\w)`).join('|'),
  )
  expect(shownCodes.length).toBeGreaterThan(0)
  for (const file of ['postgres-auth', 'postgres-resource', 'redis'])
    expect(
      shownCodePattern.exec(await readFile(path.join(dump.folders[0] ?? '', file), 'utf8'))?.[0],
    ).toBeUndefined()
})
