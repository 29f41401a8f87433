import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildClient } from '../build-client.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

// Both apps run in this process. This file is a system test only because it needs a browser.
const resources = new AsyncDisposableStack()
let system: SystemWithMail
let browser: Browser
let allowedOrigin: string
let disallowedOrigin: string
beforeAll(async () => {
  const { dist } = resources.use(await buildClient())
  ;[allowedOrigin, disallowedOrigin] = await Promise.all([serveSite(dist), serveSite(dist)])
  const env = { AUTH_CORS_ORIGINS: allowedOrigin, RESOURCE_CORS_ORIGINS: allowedOrigin }
  system = resources.use(await startSystemWithMail({ env }))
  browser = resources.use(await openBrowser())
})
afterAll(() => resources.disposeAsync())

/**
 * Serves an empty page, and the built files of the client. Returns the origin. Its host is 127.0.0.1, so it belongs to
 * a different site than the service at `localhost`.
 */
async function serveSite(dist: string): Promise<string> {
  const server = createServer((request, response) => {
    const name = path.basename(request.url ?? '')
    if (!name.endsWith('.js'))
      return void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>A site</title>')
    readFile(path.join(dist, name)).then(
      (code) => response.writeHead(200, { 'content-type': 'text/javascript' }).end(code),
      () => response.writeHead(404).end(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  resources.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * Opens a page with two globals: `plainpath`, a client, and `copyError`, which copies `name`, `status` and `code` of an error into a plain
 * object: `evaluate` does not pass on the members that an error adds.
 */
async function openSite(origin: string): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(origin)
  await page.evaluate(`(async () => {
    const { Plainpath } = await import('/index.js')
    window.plainpath = new Plainpath(${JSON.stringify(system.origin)})
    window.copyError = ({ name, status, code }) => ({ name, status, code })
  })()`)
  return page
}

test('a page of a disallowed origin can ask a question, search the guides and read them, but its registration fails with a network error', async () => {
  const page = await openSite(disallowedOrigin)
  expect(await page.evaluate("plainpath.ask('When do I renew my green card?')")).toMatchObject({
    outcome: 'information',
  })
  const foundGuides = await page.evaluate("plainpath.search('work permit')")
  expect(foundGuides).toContainEqual(expect.objectContaining({ slug: 'work-permit' }))
  expect(await page.evaluate("plainpath.guide('work-permit')")).toMatchObject({ slug: 'work-permit' })
  expect(await page.evaluate("plainpath.guide('no-such-guide').catch(copyError)")).toEqual({
    name: 'PlainpathError',
    status: 404,
    code: 'not-found',
  })
  expect(await page.evaluate('plainpath.register().catch(copyError)')).toEqual({
    name: 'PlainpathError',
    status: 0,
    code: 'network-error',
  })
})

// Browsers treat 127.0.0.1 as secure. They do not treat 0.0.0.0 so, although it is the same machine.
test('a page loaded over plain HTTP, which has no crypto.randomUUID, can ask a question, search the guides and read them', async () => {
  const page = await openSite(disallowedOrigin.replace('127.0.0.1', '0.0.0.0'))
  expect(await page.evaluate('[isSecureContext, typeof crypto.randomUUID]')).toEqual([false, 'undefined'])
  expect(await page.evaluate("plainpath.ask('When do I renew my green card?')")).toMatchObject({
    outcome: 'information',
  })
  const foundGuides = await page.evaluate("plainpath.search('work permit')")
  expect(foundGuides).toContainEqual(expect.objectContaining({ slug: 'work-permit' }))
  expect(await page.evaluate("plainpath.guide('work-permit')")).toMatchObject({ slug: 'work-permit' })
})

test('a page of an allowed origin registers, verifies an address, sends a message and deletes its registration', async () => {
  const page = await openSite(allowedOrigin)
  const email = `${randomUUID()}@example.org`
  await page.evaluate("plainpath.register({ client_name: 'A page' })")
  expect(await page.evaluate("plainpath.guide('work-permit')")).toMatchObject({ slug: 'work-permit' })
  const verification = await page.evaluate<{ match_phrase: string }>(
    `plainpath.beginVerification('${email}')`,
  )
  const code = await system.confirm(email, verification.match_phrase)
  await page.evaluate(`plainpath.completeVerification('${code}')`)
  const message = JSON.stringify({ topic: 'question', message: 'When do I renew my work permit?' })
  const sentMessage = await page.evaluate<{ id: string }>(`plainpath.sendMessage(${message})`)
  expect(await page.evaluate(`plainpath.messageStatus('${sentMessage.id}')`)).toMatchObject({
    status: 'received',
  })
  await page.evaluate(`plainpath.withdraw('${sentMessage.id}')`)
  await page.evaluate('plainpath.deleteRegistration()')
  expect(await page.evaluate('plainpath.sendMessage({}).catch(copyError)')).toMatchObject({
    code: 'not-registered',
  })
})
