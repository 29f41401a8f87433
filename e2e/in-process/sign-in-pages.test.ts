import { startDocumentServer } from '@plainpath/auth/document-server'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BUTTONS } from '../hosts/person.ts'
import type { Page } from '../hosts/plain-browser.ts'
import { CLAUDE_URI, openScene, type Scene } from '../hosts/scene.ts'
import { startSystemWithMail } from '../start-system-with-mail.ts'

/* What every page of a sign-in keeps to itself, and what an app has to check of its callback. */

const resources = new AsyncDisposableStack()
let scene: Scene
beforeAll(async () => {
  const documents = resources.use(await startDocumentServer())
  const system = resources.use(await startSystemWithMail({ documents }))
  scene = resources.use(await openScene(system, documents))
})
afterAll(() => resources.disposeAsync())

const authorize = () => scene.app.authorize({ redirectUri: CLAUDE_URI })

/** Every page of the flow, with those of refusals. */
async function openPages(): Promise<Page[]> {
  const person = scene.person()
  const first = await person.begin(authorize().url)
  const mistaken = await person.browser.press(first, BUTTONS.continue, { email: 'nobody' })
  const { page: second, code } = await person.giveAddress(first)
  const guess = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
  const guessed = await person.browser.press(second, BUTTONS.allow, { code: guess })
  const stranger = await scene.person().browser.open(first.path)
  const refused = await person.browser.open(
    scene.app.authorize({ redirectUri: 'https://evil.example/callback' }).url,
  )
  return [first, mistaken, second, guessed, stranger, refused]
}

test('no page can be framed, stored, or seen by the next site, and none is in a search engine', async () => {
  for (const { headers, html, status } of await openPages()) {
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect([status, html]).toEqual([status, expect.stringContaining('noindex')])
    expect(html).not.toMatch(/<script|<img/)
  }
})

test('every page of a sign-in names the host that the result goes to, and how to deny', async () => {
  const [first, , second] = await openPages()
  for (const { text } of [first!, second!]) {
    expect(text).toContain('claude.ai')
    expect(text).toContain(BUTTONS.deny)
  }
  // The name is the app's own word.
  expect(first!.text).toMatch(/An app/)
})

test('the cookies are for this browser, this site and these pages alone', async () => {
  const person = scene.person()
  await person.begin(authorize().url)
  expect(person.browser.cookies.length).toBeGreaterThan(0)
  for (const { attributes, path } of person.browser.cookies) {
    expect(attributes).toContain('httponly')
    expect(attributes).toContain('samesite=lax')
    expect(path).toMatch(/^\/oauth\//)
  }
})

test('the page after the address is the same for every address', async () => {
  const known = await scene.connect()
  const blank = (text: string) => text.replaceAll(/person\.[\w-]+@example\.org|\d{2}:\d{2}/g, '…')
  const pages: Page[] = []
  for (const email of [known.person.email, undefined]) {
    const person = scene.person(email === undefined ? {} : { email })
    pages.push((await person.giveAddress(await person.begin(authorize().url))).page)
  }
  const [forKnown, forUnknown] = pages.map(({ status, text }) => [status, blank(text)])
  expect(forKnown).toEqual(forUnknown)
})

test('oauth4webapi refuses a callback that another issuer sent (mix-up), and accepts ours', async () => {
  const { server, clientId } = scene.app
  const authorization = authorize()
  const callback = await scene.person().signIn(authorization.url)
  const as = server as unknown as oauth.AuthorizationServer
  const validate = (parameters: URLSearchParams) =>
    oauth.validateAuthResponse(as, { client_id: clientId }, parameters, authorization.state)
  for (const issuer of ['https://evil.example', `${server.issuer}/`, '']) {
    const mixedUp = new URLSearchParams(callback.searchParams)
    mixedUp.set('iss', issuer)
    expect(() => validate(mixedUp)).toThrow(/iss/)
  }
  const without = new URLSearchParams(callback.searchParams)
  without.delete('iss')
  expect(() => validate(without)).toThrow(/iss/)
  expect(validate(callback.searchParams).get('code')).toBe(callback.searchParams.get('code'))
})
