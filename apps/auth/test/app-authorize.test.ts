import { RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AppsUnderTest,
  answerSignIn,
  authorize,
  CALLBACK,
  connectionWithClaim,
  exampleApp,
  getCode,
  locationOf,
  newRequest,
  RESOURCE,
  redeemCode,
  startApps,
  tokensIn,
} from './app-flow.ts'
import { Browser } from './browser.ts'
import { countStored } from './expect-refusal.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'

let under: AppsUnderTest
beforeAll(async () => {
  under = await startApps('Postgres')
})
afterAll(() => under[Symbol.asyncDispose]())

const app = (members = {}) => {
  const added = exampleApp(members)
  under.apps.set(added.id, added)
  return added
}
const newBrowser = () => new Browser(under.auth.url)

describe('a request that gets a page, and never a redirect:', () => {
  const look = (uri: string) => [uri, { redirect_uri: uri }] as const
  test.for<readonly [string, Record<string, string | undefined>]>([
    ['no app', { client_id: undefined }],
    ['an unknown app', { client_id: 'app_none' }],
    ['an agent', { client_id: `agt_${'A'.repeat(22)}` }],
    ['no redirect URI', { redirect_uri: undefined }],
    look('https://evil.example/callback'),
    look('https://host.example.evil.example/callback'),
    look('https://host.example@evil.example/callback'),
    look('https://user@host.example/callback'),
    look('https://host.example:8443/callback'),
    look('https://host.example./callback'),
    look('https://HOST.example/callback'),
    look('http://host.example/callback'),
    look('https://host.example/Callback'),
    look('https://host.example/callback/'),
    look('https://host.example/callback?next=https://evil.example'),
    look('https://host.example/callback#x'),
    look('https://host.example//callback'),
    look('https://host.example/x/../callback'),
    look(' https://host.example/callback'),
    look('//evil.example/callback'),
    look('/callback'),
    look('javascript:alert(1)'),
    look('data:text/html,x'),
    look('http://localhost:1234/callback'),
  ])('%s', async ([, change]) => {
    const storedBefore = await countStored(under.auth)
    for (const more of [{}, { response_type: 'token' }, { prompt: 'none' }, { code_challenge: undefined }]) {
      const answer = await authorize(newBrowser(), app(), newRequest(), { ...more, ...change })
      expect(answer).toMatchObject({ status: 400 })
      expect(answer.headers.get('location')).toBeNull()
      expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(answer.headers.getSetCookie()).toEqual([])
      expect(answer.text).not.toContain('evil.example')
    }
    expect(await countStored(under.auth)).toEqual(storedBefore)
  })

  test.for(['client_id', 'redirect_uri'])('%s twice', async (name) => {
    const client = app()
    const query = new URLSearchParams({ client_id: client.id, redirect_uri: CALLBACK, response_type: 'code' })
    query.append(name, query.get(name) ?? '')
    const answer = await newBrowser().open(`/oauth/authorize?${query}`)
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.headers.get('location')).toBeNull()
  })

  test('another method', async () => {
    const client = app()
    const path = `/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: CALLBACK })}`
    for (const method of ['POST', 'PUT'])
      expect(await send(under.auth.url, { method, path })).toMatchObject({ status: 405 })
  })
})

describe('a request that is refused at the app, with iss:', () => {
  test.for<[string, Record<string, string | undefined>, string]>([
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['an implicit grant', { response_type: 'token' }, 'unsupported_response_type'],
    ['an ID token', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a challenge without a method', { code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'x' }, 'invalid_request'],
    ['the resource of agents', { resource: `${ORIGIN}/api` }, 'invalid_target'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['a resource with two slashes', { resource: `${RESOURCE}//` }, 'invalid_target'],
    ['a resource that is no URL', { resource: 'mcp' }, 'invalid_target'],
    ['without a prompt', { prompt: 'none' }, 'login_required'],
    ['form_post', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
  ])('%s', async ([, change, error]) => {
    const storedBefore = await countStored(under.auth)
    const request = newRequest()
    const browser = newBrowser()
    const back = locationOf(await authorize(browser, app(), request, change))
    expect(back.origin + back.pathname).toBe(CALLBACK)
    // An error response goes to the fragment if the token would have gone there.
    const sent = change['response_type']?.includes('token')
      ? new URLSearchParams(back.hash.slice(1))
      : back.searchParams
    expect(Object.fromEntries(sent)).toEqual({
      error,
      error_description: expect.any(String),
      iss: ORIGIN,
      state: request.state,
    })
    expect(browser.cookies.size).toBe(0)
    expect(await countStored(under.auth)).toEqual(storedBefore)
  })
})

describe('a request that leads to the sign-in page:', () => {
  test.for<[string, Record<string, string | undefined>]>([
    ['the usual one', {}],
    ['without resource, scope and state', { resource: undefined, scope: undefined, state: undefined }],
    ['with a slash after the resource', { resource: `${RESOURCE}/` }],
    ['with scopes of others, after a blank', { scope: ' openid profile guides:read contact:write' }],
    ['with prompt=consent, as Claude sends it', { prompt: 'consent' }],
    [
      'with parameters of OpenID Connect',
      { nonce: 'n', max_age: '0', claims: '{}', acr_values: 'x', display: 'page' },
    ],
    ['with a request object, which is ignored', { request: 'x.y.z', request_uri: 'urn:x' }],
    ['with response_mode=query', { response_mode: 'query' }],
  ])('%s', async ([, change]) => {
    const client = app()
    const code = await getCode(under, client, change)
    const answer = await redeemCode(under.auth, client, code)
    tokensIn(under.auth, answer)
    expect(JSON.parse(answer.text)).toMatchObject({ scope: 'contact:write' })
  })

  test.for([
    ['http://127.0.0.1/callback', 'http://127.0.0.1:52163/callback', true],
    ['http://localhost:3118/callback', 'http://localhost:52163/callback', true],
    ['http://localhost/callback', 'http://localhost/callback', true],
    ['http://[::1]/callback', 'http://[::1]:52163/callback', true],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback', true],
    ['http://127.0.0.1/callback', 'http://localhost:52163/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:52163/other', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:x/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:1@evil.example/callback', false],
    ['http://127.0.0.1/callback', 'https://127.0.0.1:52163/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1.evil.example:80/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.2:80/callback', false],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback2', false],
  ] as const)('a program with %s may be at %s: %o', async ([registered, sent, isAccepted]) => {
    const client = app({ applicationType: 'native', redirectUris: [registered] })
    const request = newRequest()
    const browser = newBrowser()
    const answer = await authorize(browser, client, request, { redirect_uri: sent })
    if (!isAccepted) {
      expect(answer).toMatchObject({ status: 400 })
      return expect(answer.headers.get('location')).toBeNull()
    }
    const back = await answerSignIn(browser, locationOf(answer))
    expect(back.href.startsWith(`${sent}?code=`)).toBe(true)
    const code = { code: back.searchParams.get('code') ?? '', verifier: request.verifier }
    tokensIn(under.auth, await redeemCode(under.auth, client, code, { redirect_uri: sent }))
  })
})

describe('a sign-in', () => {
  const begin = async (client = app(), browser = newBrowser()) => {
    const request = newRequest()
    const page = locationOf(await authorize(browser, client, request))
    return { client, browser, request, page }
  }
  const readInteraction = async (browser: Browser, page: URL) =>
    JSON.parse((await browser.open(page.href)).text) as { client_id: string | null }
  const allow = (browser: Browser, page: URL, form: Record<string, string> = {}) =>
    browser.open(page.href, { method: 'POST', body: new URLSearchParams({ answer: 'allow', ...form }) })

  test('sets no session cookie, and cookies for https only', async () => {
    const client = app()
    const answer = await authorize(newBrowser(), client, newRequest())
    const page = locationOf(answer).pathname
    expect(page).toMatch(/^\/oauth\/sign-in\/[A-Za-z0-9_-]{21,43}$/)
    const cookies = answer.headers.getSetCookie()
    expect(cookies.map((cookie) => cookie.split('=')[0]).sort()).toEqual([
      '_interaction',
      '_interaction.sig',
      '_interaction_resume',
      '_interaction_resume.sig',
    ])
    for (const cookie of cookies) {
      expect(cookie).toMatch(/; secure/i)
      expect(cookie).toMatch(/; httponly/i)
      expect(cookie).toMatch(/; samesite=lax/i)
      expect(cookie).toMatch(/; path=\/oauth\/(sign-in|authorize)\/[A-Za-z0-9_-]+/)
    }
    expect(answer.headers.get('cache-control')).toContain('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('is required again for each request of the same browser', async () => {
    const { client, browser, page } = await begin()
    await answerSignIn(browser, page)
    const again = locationOf(await authorize(browser, client, newRequest()))
    expect(again.pathname).toMatch(/^\/oauth\/sign-in\//)
    expect(again.pathname).not.toBe(page.pathname)
  })

  test('gives the app access_denied with iss and state if the person denies it, and stores nothing', async () => {
    const storedBefore = await countStored(under.auth)
    const { browser, page, request } = await begin()
    const back = await answerSignIn(browser, page, { answer: 'deny' })
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'access_denied',
      error_description: expect.any(String),
      iss: ORIGIN,
      state: request.state,
    })
    expect(await countStored(under.auth)).toEqual(storedBefore)
    expect((await allow(browser, page)).status).toBe(404)
  })

  test('belongs to the browser that began it', async () => {
    const { client, browser, page } = await begin()
    expect(await readInteraction(browser, page)).toEqual({ client_id: client.id, redirect_uri: CALLBACK })
    const other = newBrowser()
    expect(await readInteraction(other, page)).toMatchObject({ client_id: null })
    expect((await allow(other, page)).status).toBe(404)
    const uid = page.pathname.split('/').at(-1) ?? ''
    // The id alone is no secret: it is in the address.
    for (const cookie of [`_interaction=${uid}`, `_interaction=${uid}; _interaction.sig=x`]) {
      const forged = await other.open(page.href, { headers: { cookie } })
      expect(JSON.parse(forged.text)).toMatchObject({ client_id: null })
    }
    const answered = locationOf(await allow(browser, page))
    expect(answered.pathname).toBe(`/oauth/authorize/${uid}`)
    const elsewhere = await other.open(answered.href)
    expect(elsewhere).toMatchObject({ status: 404 })
    expect(elsewhere.headers.get('location')).toBeNull()
    const query = `?client_id=${client.id}&redirect_uri=${encodeURIComponent(CALLBACK)}`
    const steered = await other.open(answered.pathname + query)
    expect(steered.headers.get('location')).toBeNull()
    expect(locationOf(await browser.open(answered.href)).searchParams.get('code')).toBeTruthy()
  })

  test('cannot be completed with the cookies of another sign-in of the same browser', async () => {
    const browser = newBrowser()
    const [one, two] = [await begin(app(), browser), await begin(app(), browser)]
    // Two tabs.
    expect(await readInteraction(browser, one.page)).toMatchObject({ client_id: one.client.id })
    expect(await readInteraction(browser, two.page)).toMatchObject({ client_id: two.client.id })
    const cookies = [...browser.cookies.values()].filter(({ path }) => path === one.page.pathname)
    const swapped = await newBrowser().open(two.page.href, {
      headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') },
    })
    expect(JSON.parse(swapped.text)).toMatchObject({ client_id: null })
    for (const { client, request, page } of [two, one]) {
      const back = await answerSignIn(browser, page)
      expect(back.searchParams.get('state')).toBe(request.state)
      const code = { code: back.searchParams.get('code') ?? '', verifier: request.verifier }
      tokensIn(under.auth, await redeemCode(under.auth, client, code))
    }
  })

  test('ends with the decision: the back button and a reload lead to a page', async () => {
    const { browser, page } = await begin()
    const resume = locationOf(await allow(browser, page))
    expect(locationOf(await browser.open(resume.href)).searchParams.get('code')).toBeTruthy()
    for (const address of [resume.href, `${resume.pathname}?x=1`]) {
      const answer = await browser.open(address)
      expect(answer).toMatchObject({ status: 404 })
      expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
    }
    expect((await allow(browser, page)).status).toBe(404)
    expect(await readInteraction(browser, page)).toMatchObject({ client_id: null })
  })

  test('gives a code once to simultaneous requests of the browser', async () => {
    const { browser, page } = await begin()
    const resume = locationOf(await allow(browser, page))
    const answers = await Promise.all([1, 2, 3].map(() => browser.open(resume.href)))
    const codes = answers.filter(({ headers }) => headers.get('location')?.includes('code='))
    expect(codes).toHaveLength(1)
  })

  test('is not continued by HEAD, which a scanner may send', async () => {
    const { browser, page } = await begin()
    const resume = locationOf(await allow(browser, page))
    const storedBefore = await countStored(under.auth)
    expect(await browser.open(resume.href, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
    expect(await browser.open(`/oauth/authorize?client_id=x`, { method: 'HEAD' })).toMatchObject({
      status: 200,
    })
    expect(await countStored(under.auth)).toEqual(storedBefore)
    expect(locationOf(await browser.open(resume.href)).searchParams.get('code')).toBeTruthy()
  })

  test.for<[string, (id: string) => void]>([
    ['is gone', (id) => under.apps.delete(id)],
    [
      'has another redirect URI',
      (id) => under.apps.set(id, exampleApp({ id, redirectUris: ['https://new.example/'] })),
    ],
  ])('ends when its app %s', async ([, change]) => {
    const [early, late] = [await begin(), await begin()]
    const resume = locationOf(await allow(late.browser, late.page))
    for (const { client } of [early, late]) change(client.id)
    expect(await readInteraction(early.browser, early.page)).toMatchObject({ client_id: null })
    expect((await allow(early.browser, early.page)).status).toBe(404)
    const answer = await late.browser.open(resume.href)
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.headers.get('location')).toBeNull()
  })

  test('cannot be completed with the connection of another app, an ended connection, or an agent', async () => {
    const { client, browser, page } = await begin()
    const others = await connectionWithClaim(under.stores, app().id, under.clock.now)
    const ended = await connectionWithClaim(under.stores, client.id, under.clock.now)
    await under.stores.connections.revoke(ended, 'person', under.clock.now)
    const unproven = await under.stores.connections.begin({ clientId: client.id, host: 'x' }, under.clock.now)
    for (const agent of [others, ended, unproven])
      expect(await allow(browser, page, { agent })).toMatchObject({ status: 404 })
    const connection = await connectionWithClaim(under.stores, client.id, under.clock.now)
    expect(locationOf(await allow(browser, page, { agent: connection })).pathname).toMatch(
      /^\/oauth\/authorize\//,
    )
  })

  test('gives no code if its claim ends before the browser comes back', async () => {
    const { client, browser, page } = await begin()
    const agent = await connectionWithClaim(under.stores, client.id, under.clock.now)
    const resume = locationOf(await allow(browser, page, { agent }))
    await under.stores.connections.revoke(agent, 'person', under.clock.now)
    const answer = await browser.open(resume.href)
    expect(answer.headers.get('location') ?? '').not.toContain('code=')
  })

  test('expires after half an hour', async () => {
    const { browser, page } = await begin()
    under.clock.now = new Date(under.clock.now.getTime() + RULES.signInMs)
    expect(await readInteraction(browser, page)).toMatchObject({ client_id: null })
    expect((await allow(browser, page)).status).toBe(404)
  })
})
