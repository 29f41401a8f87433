import { startAgentDocuments } from '@plainpath/auth/agent-documents'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BUTTONS } from '../hosts/person.ts'
import type { Page } from '../hosts/plain-browser.ts'
import { CLAUDE_URI, openScene, type Scene } from '../hosts/scene.ts'
import { startSystemWithMail } from '../start-system-with-mail.ts'

/* How the pages of a sign-in are protected, and what an app must check in its callback. */

const resources = new AsyncDisposableStack()
let scene: Scene
beforeAll(async () => {
  const documents = resources.use(await startAgentDocuments())
  const system = resources.use(await startSystemWithMail({ documents }))
  scene = resources.use(await openScene(system, documents))
})
afterAll(() => resources.disposeAsync())

const createAuthorization = () => scene.app.authorize({ redirectUri: CLAUDE_URI })

/** Opens the pages of a sign-in for the address and for the code, and the pages of refusals. */
async function openPages() {
  const person = scene.createPerson()
  const addressPage = await person.begin(createAuthorization().url)
  const badAddressPage = await person.browser.press(addressPage, BUTTONS.continue, { email: 'nobody' })
  const { page: codePage, code } = await person.giveAddress(addressPage)
  const wrongCode = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
  const wrongCodePage = await person.browser.press(codePage, BUTTONS.allow, { code: wrongCode })
  const otherBrowserPage = await scene.createPerson().browser.open(addressPage.path)
  const badCallbackPage = await person.browser.open(
    scene.app.authorize({ redirectUri: 'https://evil.example/callback' }).url,
  )
  return { addressPage, badAddressPage, codePage, wrongCodePage, otherBrowserPage, badCallbackPage }
}

test('the pages cannot be framed or stored, are not indexed, and send no referrer', async () => {
  for (const { headers, html, status } of Object.values(await openPages())) {
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect([status, html]).toEqual([status, expect.stringContaining('noindex')])
    expect(html).not.toMatch(/<script|<img/)
  }
})

test('the pages for the address and the code name the host that gets the result, and how to deny', async () => {
  const { addressPage, codePage } = await openPages()
  for (const { text } of [addressPage, codePage]) {
    expect(text).toContain('claude.ai')
    expect(text).toContain(BUTTONS.deny)
  }
  // This is the name that the app gave itself.
  expect(addressPage.text).toMatch(/An app/)
})

test('the cookies are HttpOnly and SameSite=Lax, and are sent only to paths of the sign-in', async () => {
  const person = scene.createPerson()
  await person.begin(createAuthorization().url)
  expect(person.browser.cookies.length).toBeGreaterThan(0)
  for (const { attributes, path } of person.browser.cookies) {
    expect(attributes).toContain('httponly')
    expect(attributes).toContain('samesite=lax')
    expect(path).toMatch(/^\/oauth\//)
  }
})

test('the page after the address is the same for a known and an unknown address', async () => {
  const connected = await scene.connect()
  const maskAddressAndTime = (text: string) =>
    text.replaceAll(/person\.[\w-]+@example\.org|\d{2}:\d{2}/g, '…')
  const pages: Page[] = []
  for (const email of [connected.person.email, undefined]) {
    const person = scene.createPerson(email === undefined ? {} : { email })
    pages.push((await person.giveAddress(await person.begin(createAuthorization().url))).page)
  }
  const [knownAddressPage, unknownAddressPage] = pages.map(({ status, text }) => [
    status,
    maskAddressAndTime(text),
  ])
  expect(knownAddressPage).toEqual(unknownAddressPage)
})

test('oauth4webapi refuses a callback that another issuer sent (mix-up), and accepts ours', async () => {
  const { server, clientId } = scene.app
  const authorization = createAuthorization()
  const callback = await scene.createPerson().signIn(authorization.url)
  const authorizationServer = server as unknown as oauth.AuthorizationServer
  const validate = (parameters: URLSearchParams) =>
    oauth.validateAuthResponse(authorizationServer, { client_id: clientId }, parameters, authorization.state)
  for (const issuer of ['https://evil.example', `${server.issuer}/`, '']) {
    const mixedUp = new URLSearchParams(callback.searchParams)
    mixedUp.set('iss', issuer)
    expect(() => validate(mixedUp)).toThrow(/iss/)
  }
  const withoutIssuer = new URLSearchParams(callback.searchParams)
  withoutIssuer.delete('iss')
  expect(() => validate(withoutIssuer)).toThrow(/iss/)
  expect(validate(callback.searchParams).get('code')).toBe(callback.searchParams.get('code'))
})
