import { RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AppSystem,
  addApp,
  addVerifiedConnection,
  answerSignIn,
  authorize,
  CALLBACK,
  createExampleApp,
  generateRequestValues,
  getCode,
  getRedirectTarget,
  RESOURCE,
  readTokens,
  redeemCode,
  startAppSystem,
} from './app-flow.ts'
import { Browser } from './browser.ts'
import { countStored } from './expect-refusal.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'

let system: AppSystem
beforeAll(async () => {
  system = await startAppSystem('Postgres')
})
afterAll(() => system[Symbol.asyncDispose]())

const createBrowser = () => new Browser(system.auth.url)

describe('a request that gets an error page instead of a redirect:', () => {
  const withRedirectUri = (uri: string) => [uri, { redirect_uri: uri }] as const
  test.for<readonly [string, Record<string, string | undefined>]>([
    ['no client ID', { client_id: undefined }],
    ['the client ID of an unknown app', { client_id: 'app_none' }],
    ['the client ID of an agent', { client_id: `agt_${'A'.repeat(22)}` }],
    ['no redirect URI', { redirect_uri: undefined }],
    withRedirectUri('https://evil.example/callback'),
    withRedirectUri('https://host.example.evil.example/callback'),
    withRedirectUri('https://host.example@evil.example/callback'),
    withRedirectUri('https://user@host.example/callback'),
    withRedirectUri('https://host.example:8443/callback'),
    withRedirectUri('https://host.example./callback'),
    withRedirectUri('https://HOST.example/callback'),
    withRedirectUri('http://host.example/callback'),
    withRedirectUri('https://host.example/Callback'),
    withRedirectUri('https://host.example/callback/'),
    withRedirectUri('https://host.example/callback?next=https://evil.example'),
    withRedirectUri('https://host.example/callback#x'),
    withRedirectUri('https://host.example//callback'),
    withRedirectUri('https://host.example/x/../callback'),
    withRedirectUri(' https://host.example/callback'),
    withRedirectUri('//evil.example/callback'),
    withRedirectUri('/callback'),
    withRedirectUri('javascript:alert(1)'),
    withRedirectUri('data:text/html,x'),
    withRedirectUri('http://localhost:1234/callback'),
  ])('%s', async ([, change]) => {
    const storedBefore = await countStored(system.auth)
    // Alone, each of these mistakes is reported by a redirect. It must cause none to a redirect URI that was not accepted.
    for (const otherMistake of [
      {},
      { response_type: 'token' },
      { prompt: 'none' },
      { code_challenge: undefined },
    ]) {
      const response = await authorize(createBrowser(), addApp(system), generateRequestValues(), {
        ...otherMistake,
        ...change,
      })
      expect(response).toMatchObject({ status: 400 })
      expect(response.headers.get('location')).toBeNull()
      expect(response.headers.get('content-type')).toMatch(/^text\/html/)
      expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(response.headers.getSetCookie()).toEqual([])
      expect(response.text).not.toContain('evil.example')
    }
    expect(await countStored(system.auth)).toEqual(storedBefore)
  })

  test.for(['client_id', 'redirect_uri'])('%s twice', async (name) => {
    const client = addApp(system)
    const query = new URLSearchParams({ client_id: client.id, redirect_uri: CALLBACK, response_type: 'code' })
    query.append(name, query.get(name) ?? '')
    const response = await createBrowser().open(`/oauth/authorize?${query}`)
    expect(response).toMatchObject({ status: 400 })
    expect(response.headers.get('location')).toBeNull()
  })
})

test('the authorization endpoint refuses POST and PUT with 405', async () => {
  const client = addApp(system)
  const path = `/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: CALLBACK })}`
  for (const method of ['POST', 'PUT'])
    expect(await send(system.auth.url, { method, path })).toMatchObject({ status: 405 })
})

describe('a request that is refused with a redirect to the app, with iss:', () => {
  test.for<[string, Record<string, string | undefined>, string]>([
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['an implicit grant', { response_type: 'token' }, 'unsupported_response_type'],
    ['an ID token', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a challenge without a method', { code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'x' }, 'invalid_request'],
    ['the resource for agents', { resource: `${ORIGIN}/api` }, 'invalid_target'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['a resource with two slashes', { resource: `${RESOURCE}//` }, 'invalid_target'],
    ['a resource that is not a URL', { resource: 'mcp' }, 'invalid_target'],
    ['prompt=none', { prompt: 'none' }, 'login_required'],
    ['the response mode form_post', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['the response mode fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
  ])('%s', async ([, change, error]) => {
    const storedBefore = await countStored(system.auth)
    const request = generateRequestValues()
    const browser = createBrowser()
    const callbackUrl = getRedirectTarget(await authorize(browser, addApp(system), request, change))
    expect(callbackUrl.origin + callbackUrl.pathname).toBe(CALLBACK)
    // The error is in the fragment if the app requested a token, because that is where the token would have been.
    const parameters = change['response_type']?.includes('token')
      ? new URLSearchParams(callbackUrl.hash.slice(1))
      : callbackUrl.searchParams
    expect(Object.fromEntries(parameters)).toEqual({
      error,
      error_description: expect.any(String),
      iss: ORIGIN,
      state: request.state,
    })
    expect(browser.cookies.size).toBe(0)
    expect(await countStored(system.auth)).toEqual(storedBefore)
  })
})

describe('a request that leads to the sign-in page:', () => {
  test.for<[string, Record<string, string | undefined>]>([
    ['with the usual parameters', {}],
    ['without resource, scope and state', { resource: undefined, scope: undefined, state: undefined }],
    ['with a slash after the resource', { resource: `${RESOURCE}/` }],
    ['with other scopes and a leading space', { scope: ' openid profile guides:read contact:write' }],
    ['with prompt=consent, as Claude sends it', { prompt: 'consent' }],
    [
      'with parameters of OpenID Connect',
      { nonce: 'n', max_age: '0', claims: '{}', acr_values: 'x', display: 'page' },
    ],
    ['with a request object, which is ignored', { request: 'x.y.z', request_uri: 'urn:x' }],
    ['with response_mode=query', { response_mode: 'query' }],
  ])('%s', async ([, change]) => {
    const client = addApp(system)
    const code = await getCode(system, client, change)
    const response = await redeemCode(system.auth, client, code)
    readTokens(system.auth, response)
    expect(JSON.parse(response.text)).toMatchObject({ scope: 'contact:write' })
  })
})

describe('a native app', () => {
  const beginSignIn = async (registeredUri: string, requestedUri: string) => {
    const client = addApp(system, { applicationType: 'native', redirectUris: [registeredUri] })
    const request = generateRequestValues()
    const browser = createBrowser()
    const response = await authorize(browser, client, request, { redirect_uri: requestedUri })
    return { client, request, browser, response }
  }

  test.for([
    ['http://127.0.0.1/callback', 'http://127.0.0.1:52163/callback'],
    ['http://localhost:3118/callback', 'http://localhost:52163/callback'],
    ['http://localhost/callback', 'http://localhost/callback'],
    ['http://[::1]/callback', 'http://[::1]:52163/callback'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback'],
  ] as const)('that registered %s may use %s', async ([registeredUri, requestedUri]) => {
    const { client, request, browser, response } = await beginSignIn(registeredUri, requestedUri)
    const callbackUrl = await answerSignIn(browser, getRedirectTarget(response))
    expect(callbackUrl.href.startsWith(`${requestedUri}?code=`)).toBe(true)
    const code = { code: callbackUrl.searchParams.get('code') ?? '', verifier: request.verifier }
    readTokens(system.auth, await redeemCode(system.auth, client, code, { redirect_uri: requestedUri }))
  })

  test.for([
    ['http://127.0.0.1/callback', 'http://localhost:52163/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:52163/other', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:x/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:1@evil.example/callback', false],
    ['http://127.0.0.1/callback', 'https://127.0.0.1:52163/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.1.evil.example:80/callback', false],
    ['http://127.0.0.1/callback', 'http://127.0.0.2:80/callback', false],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback2', false],
  ] as const)('that registered %s may not use %s', async ([registeredUri, requestedUri]) => {
    const { response } = await beginSignIn(registeredUri, requestedUri)
    expect(response).toMatchObject({ status: 400 })
    expect(response.headers.get('location')).toBeNull()
  })
})

describe('a sign-in', () => {
  const beginSignIn = async (client = addApp(system), browser = createBrowser()) => {
    const request = generateRequestValues()
    const page = getRedirectTarget(await authorize(browser, client, request))
    return { client, browser, request, page }
  }
  const readInteraction = async (browser: Browser, page: URL) =>
    JSON.parse((await browser.open(page.href)).text) as { client_id: string | null }
  const allow = (browser: Browser, page: URL, form: Record<string, string> = {}) =>
    browser.open(page.href, { method: 'POST', body: new URLSearchParams({ answer: 'allow', ...form }) })

  test('sets only interaction cookies, each `Secure` and limited to one path', async () => {
    const client = addApp(system)
    const response = await authorize(createBrowser(), client, generateRequestValues())
    const page = getRedirectTarget(response).pathname
    expect(page).toMatch(/^\/oauth\/sign-in\/[A-Za-z0-9_-]{21,43}$/)
    const cookies = response.headers.getSetCookie()
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
    expect(response.headers.get('cache-control')).toContain('no-store')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('is required again for each request of the same browser', async () => {
    const { client, browser, page } = await beginSignIn()
    await answerSignIn(browser, page)
    const secondPage = getRedirectTarget(await authorize(browser, client, generateRequestValues()))
    expect(secondPage.pathname).toMatch(/^\/oauth\/sign-in\//)
    expect(secondPage.pathname).not.toBe(page.pathname)
  })

  test('sends access_denied with iss and state to the app if the person denies, and leaves nothing stored', async () => {
    const storedBefore = await countStored(system.auth)
    const { browser, page, request } = await beginSignIn()
    const callbackUrl = await answerSignIn(browser, page, { answer: 'deny' })
    expect(Object.fromEntries(callbackUrl.searchParams)).toEqual({
      error: 'access_denied',
      error_description: expect.any(String),
      iss: ORIGIN,
      state: request.state,
    })
    expect(await countStored(system.auth)).toEqual(storedBefore)
    expect((await allow(browser, page)).status).toBe(404)
  })

  test('can be read and completed only in the browser that began it', async () => {
    const { client, browser, page } = await beginSignIn()
    expect(await readInteraction(browser, page)).toEqual({ client_id: client.id, redirect_uri: CALLBACK })
    const otherBrowser = createBrowser()
    expect(await readInteraction(otherBrowser, page)).toMatchObject({ client_id: null })
    expect((await allow(otherBrowser, page)).status).toBe(404)
    const uid = page.pathname.split('/').at(-1) ?? ''
    // The interaction id is not a secret, because the URL contains it.
    for (const cookie of [`_interaction=${uid}`, `_interaction=${uid}; _interaction.sig=x`]) {
      const forgedResponse = await otherBrowser.open(page.href, { headers: { cookie } })
      expect(JSON.parse(forgedResponse.text)).toMatchObject({ client_id: null })
    }
    const resumeUrl = getRedirectTarget(await allow(browser, page))
    expect(resumeUrl.pathname).toBe(`/oauth/authorize/${uid}`)
    const response = await otherBrowser.open(resumeUrl.href)
    expect(response).toMatchObject({ status: 404 })
    expect(response.headers.get('location')).toBeNull()
    const query = `?client_id=${client.id}&redirect_uri=${encodeURIComponent(CALLBACK)}`
    const responseWithQuery = await otherBrowser.open(resumeUrl.pathname + query)
    expect(responseWithQuery.headers.get('location')).toBeNull()
    expect(getRedirectTarget(await browser.open(resumeUrl.href)).searchParams.get('code')).toBeTruthy()
  })

  test('cannot be read or completed with the cookies of another sign-in; two sign-ins in one browser can both be completed', async () => {
    const browser = createBrowser()
    // A person may open each sign-in in a tab of its own.
    const [firstSignIn, secondSignIn] = [
      await beginSignIn(addApp(system), browser),
      await beginSignIn(addApp(system), browser),
    ]
    expect(await readInteraction(browser, firstSignIn.page)).toMatchObject({
      client_id: firstSignIn.client.id,
    })
    expect(await readInteraction(browser, secondSignIn.page)).toMatchObject({
      client_id: secondSignIn.client.id,
    })
    const firstCookies = [...browser.cookies.values()].filter(
      ({ path }) => path === firstSignIn.page.pathname,
    )
    const headers = { cookie: firstCookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
    const readResponse = await createBrowser().open(secondSignIn.page.href, { headers })
    expect(JSON.parse(readResponse.text)).toMatchObject({ client_id: null })
    const body = new URLSearchParams({ answer: 'allow' })
    const allowResponse = await createBrowser().open(secondSignIn.page.href, {
      method: 'POST',
      headers,
      body,
    })
    expect(allowResponse.status).toBe(404)
    for (const { client, request, page } of [secondSignIn, firstSignIn]) {
      const callbackUrl = await answerSignIn(browser, page)
      expect(callbackUrl.searchParams.get('state')).toBe(request.state)
      const code = { code: callbackUrl.searchParams.get('code') ?? '', verifier: request.verifier }
      readTokens(system.auth, await redeemCode(system.auth, client, code))
    }
  })

  test('ends when its code is issued, and cannot be continued, decided or read afterwards', async () => {
    const { browser, page } = await beginSignIn()
    const resumeUrl = getRedirectTarget(await allow(browser, page))
    expect(getRedirectTarget(await browser.open(resumeUrl.href)).searchParams.get('code')).toBeTruthy()
    for (const address of [resumeUrl.href, `${resumeUrl.pathname}?x=1`]) {
      const response = await browser.open(address)
      expect(response).toMatchObject({ status: 404 })
      expect(response.headers.get('content-type')).toMatch(/^text\/html/)
    }
    expect((await allow(browser, page)).status).toBe(404)
    expect(await readInteraction(browser, page)).toMatchObject({ client_id: null })
  })

  test('issues one code in response to simultaneous requests of the browser', async () => {
    const { browser, page } = await beginSignIn()
    const resumeUrl = getRedirectTarget(await allow(browser, page))
    const responses = await Promise.all([1, 2, 3].map(() => browser.open(resumeUrl.href)))
    const responsesWithCode = responses.filter(({ headers }) => headers.get('location')?.includes('code='))
    expect(responsesWithCode).toHaveLength(1)
  })

  test('is not continued by a HEAD request, which a link scanner may send', async () => {
    const { browser, page } = await beginSignIn()
    const resumeUrl = getRedirectTarget(await allow(browser, page))
    const storedBefore = await countStored(system.auth)
    expect(await browser.open(resumeUrl.href, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
    expect(await browser.open(`/oauth/authorize?client_id=x`, { method: 'HEAD' })).toMatchObject({
      status: 200,
    })
    expect(await countStored(system.auth)).toEqual(storedBefore)
    expect(getRedirectTarget(await browser.open(resumeUrl.href)).searchParams.get('code')).toBeTruthy()
  })

  test.for<[string, (id: string) => void]>([
    ['is removed', (id) => system.apps.delete(id)],
    [
      'loses its redirect URI',
      (id) => system.apps.set(id, createExampleApp({ id, redirectUris: ['https://new.example/'] })),
    ],
  ])('ends when its app %s', async ([, change]) => {
    const [undecidedSignIn, allowedSignIn] = [await beginSignIn(), await beginSignIn()]
    const resumeUrl = getRedirectTarget(await allow(allowedSignIn.browser, allowedSignIn.page))
    for (const { client } of [undecidedSignIn, allowedSignIn]) change(client.id)
    expect(await readInteraction(undecidedSignIn.browser, undecidedSignIn.page)).toMatchObject({
      client_id: null,
    })
    expect((await allow(undecidedSignIn.browser, undecidedSignIn.page)).status).toBe(404)
    const response = await allowedSignIn.browser.open(resumeUrl.href)
    expect(response).toMatchObject({ status: 400 })
    expect(response.headers.get('location')).toBeNull()
  })

  test('cannot be completed with the connection of another app, or with one whose verification is revoked or missing', async () => {
    const { client, browser, page } = await beginSignIn()
    const otherAppsAgentId = await addVerifiedConnection(system.stores, addApp(system).id, system.clock.now)
    const revokedAgentId = await addVerifiedConnection(system.stores, client.id, system.clock.now)
    await system.stores.connections.revoke(revokedAgentId, 'person', system.clock.now)
    const unverifiedAgentId = await system.stores.connections.begin(
      { clientId: client.id, host: 'x' },
      system.clock.now,
    )
    for (const agentId of [otherAppsAgentId, revokedAgentId, unverifiedAgentId])
      expect(await allow(browser, page, { agent: agentId })).toMatchObject({ status: 404 })
    const verifiedAgentId = await addVerifiedConnection(system.stores, client.id, system.clock.now)
    expect(getRedirectTarget(await allow(browser, page, { agent: verifiedAgentId })).pathname).toMatch(
      /^\/oauth\/authorize\//,
    )
  })

  test('issues no code if the connection is revoked before the browser continues', async () => {
    const { client, browser, page } = await beginSignIn()
    const agentId = await addVerifiedConnection(system.stores, client.id, system.clock.now)
    const resumeUrl = getRedirectTarget(await allow(browser, page, { agent: agentId }))
    await system.stores.connections.revoke(agentId, 'person', system.clock.now)
    const response = await browser.open(resumeUrl.href)
    expect(response.headers.get('location') ?? '').not.toContain('code=')
  })

  test('expires after half an hour', async () => {
    const { browser, page } = await beginSignIn()
    system.clock.now = new Date(system.clock.now.getTime() + RULES.signInMs)
    expect(await readInteraction(browser, page)).toMatchObject({ client_id: null })
    expect((await allow(browser, page)).status).toBe(404)
  })
})
