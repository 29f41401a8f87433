import { DAY_MS, MINUTE_MS, RULES } from '@plainpath/domain'
import type { RequestHandler } from '@plainpath/http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createUrlClientStore } from '../src/agents/url-client-store.ts'
import { createEvents } from '../src/events.ts'
import { type AgentDocuments, startAgentDocuments } from './agent-documents.ts'
import {
  answerSignIn,
  authorize,
  generateRequestValues,
  postForm,
  readTokens,
  redeemCode,
} from './app-flow.ts'
import { Browser } from './browser.ts'
import {
  authenticateApp,
  connectDocumentApp,
  type DocumentApp,
  NO_RESOURCE,
  publishDocumentApp,
  refreshDocumentApp,
  startDocumentInstance,
} from './document-app.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, INVALID_CLIENT, type Refusal, UNAVAILABLE } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import type { RunningAuth } from './start-auth.ts'
import type { Clock } from './url-agent.ts'

/*
 * Outages of the host of an app's document. After `invalid_client`, an app discards its tokens, and the person has to sign in
 * again, so a short outage must not cause it.
 */

/** The instance does not fetch the document again for a minute after a failure. */
const TRY_LATER: Refusal = { ...UNAVAILABLE, headers: { 'retry-after': /^60$/ } }

const respondWith =
  (status: number): RequestHandler =>
  (_request, response) =>
    void response.writeHead(status).end()

const resources = new AsyncDisposableStack()
let agentDocuments: AgentDocuments
let testbed: AuthTestbed
let auth: RunningAuth
let key: KeyPair
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  agentDocuments = resources.use(await startAgentDocuments())
  testbed = resources.use(await openAuthTestbed())
  auth = resources.use(await startDocumentInstance(testbed, agentDocuments, clock))
  key = await generateTestKeyPair()
})
beforeEach(() => {
  // In the past, because oidc-provider compares expiry times with the machine's clock.
  clock.now = new Date(Date.now() - 80 * DAY_MS)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await resources.disposeAsync()
})

const advance = (ms: number) => {
  clock.now = new Date(clock.now.getTime() + ms)
}
/** Publishes an app whose document expires after five minutes. */
const publish = (authMethod: 'none' | 'private_key_jwt', hostname?: string) =>
  publishDocumentApp(agentDocuments, key, authMethod, { maxAge: 300, ...(hostname && { hostname }) })
const expireDocument = () => advance(RULES.documentShortestMs)
const beginSignIn = ({ client }: DocumentApp, browser = new Browser(auth.url)) =>
  authorize(browser, client, generateRequestValues(), NO_RESOURCE)

const FAULTS: [string, (app: DocumentApp) => void][] = [
  ['responds with 500', ({ published }) => published.setHandler(respondWith(500))],
  ['responds with 404', ({ published }) => published.setHandler(respondWith(404))],
  ['does not respond', ({ published }) => published.hang()],
]

describe('a public app whose stored document has expired', () => {
  test.for(FAULTS)('gets tokens and new sign-ins while its host %s', async ([_fault, fail]) => {
    const app = publish('none')
    const tokens = await connectDocumentApp(auth, app, clock)
    expireDocument()
    fail(app)
    readTokens(auth, await refreshDocumentApp(auth, app, clock, tokens.refresh))
    expect(app.published.countFetches()).toBe(2)
    await connectDocumentApp(auth, app, clock)
  })

  test('can finish a sign-in that a person began before the outage', async () => {
    const app = publish('none')
    const request = generateRequestValues()
    const browser = new Browser(auth.url)
    const authorization = await authorize(browser, app.client, request, NO_RESOURCE)
    expireDocument()
    app.published.setHandler(respondWith(500))
    const page = new URL(authorization.headers.get('location') ?? '', auth.url)
    expect(JSON.parse((await browser.open(page.href)).text)).toMatchObject({ client_id: app.client.id })
    const callback = await answerSignIn(browser, page)
    const code = callback.searchParams.get('code') ?? ''
    auth.confidential.add(code)
    const response = await redeemCode(auth, app.client, { code, verifier: request.verifier }, NO_RESOURCE)
    readTokens(auth, response)
  })

  test('is used for as long as a connection can last that was made while its document was valid, and no longer', async () => {
    const app = publish('none')
    expect(await beginSignIn(app)).toMatchObject({ status: 303 })
    app.published.setHandler(respondWith(500))
    advance(RULES.documentLongestMs + RULES.verificationMs - MINUTE_MS)
    expect(await beginSignIn(app)).toMatchObject({ status: 303 })
    advance(MINUTE_MS)
    expect(await beginSignIn(app)).toMatchObject({
      status: 400,
      text: expect.stringContaining('Remove this connection in the app, and add it again.'),
    })
  })

  test('is refused if its host serves the document of another client', async () => {
    const app = publish('none')
    const tokens = await connectDocumentApp(auth, app, clock)
    expireDocument()
    app.published.setDocument({ ...app.document, client_id: 'https://other.example/app' })
    expectProblem(await refreshDocumentApp(auth, app, clock, tokens.refresh), INVALID_CLIENT)
  })

  test('is refused if its document has an invalid member, and if its domain is blocked', async () => {
    const app = publish('none')
    const tokens = await connectDocumentApp(auth, app, clock)
    const blockedApp = publish('none', 'other.clients.test')
    const blockedTokens = await connectDocumentApp(auth, blockedApp, clock)
    expireDocument()
    app.published.setDocument({ ...app.document, redirect_uris: [] })
    expectProblem(await refreshDocumentApp(auth, app, clock, tokens.refresh), INVALID_CLIENT)
    blockedApp.published.setHandler(respondWith(500))
    const audit = { actor: { user: 'test', host: 'test' }, reason: 'test' }
    const urlClients = createUrlClientStore(testbed.db, createEvents())
    await urlClients.setBlocked('block', 'other.clients.test', audit, clock.now)
    expectProblem(await refreshDocumentApp(auth, blockedApp, clock, blockedTokens.refresh), INVALID_CLIENT)
    await urlClients.setBlocked('unblock', 'other.clients.test', audit, clock.now)
    readTokens(auth, await refreshDocumentApp(auth, blockedApp, clock, blockedTokens.refresh))
  })
})

describe('an app with a key whose stored document has expired', () => {
  test('has to try again later while its host fails, and has lost nothing afterwards', async () => {
    const app = publish('private_key_jwt')
    const tokens = await connectDocumentApp(auth, app, clock)
    expireDocument()
    app.published.setHandler(respondWith(500))
    expectProblem(await refreshDocumentApp(auth, app, clock, tokens.refresh), TRY_LATER)
    const revocation = async () =>
      postForm(auth, '/oauth/revoke', {
        client_id: app.client.id,
        token: tokens.refresh,
        ...(await authenticateApp(auth, app, clock)),
      })
    expectProblem(await revocation(), TRY_LATER)
    const page = await beginSignIn(app)
    expect(page).toMatchObject({
      status: 503,
      text: expect.stringContaining('The document of this app cannot be fetched at present.'),
    })
    expect(page.headers.get('retry-after')).toBe('60')
    app.published.setDocument(app.document)
    // This instance has seen no failure, so it fetches the document at once.
    await using otherInstance = await startDocumentInstance(testbed, agentDocuments, clock, {
      origin: auth.origin,
    })
    readTokens(otherInstance, await refreshDocumentApp(otherInstance, app, clock, tokens.refresh))
  })

  test('is refused if its document no longer has its key, or has an invalid member', async () => {
    const [app, invalidApp] = [publish('private_key_jwt'), publish('private_key_jwt')]
    const [tokens, invalidTokens] = [
      await connectDocumentApp(auth, app, clock),
      await connectDocumentApp(auth, invalidApp, clock),
    ]
    expireDocument()
    const otherKey = await generateTestKeyPair()
    app.published.setDocument({ ...app.document, jwks: { keys: [otherKey.jwk] } })
    expectProblem(await refreshDocumentApp(auth, app, clock, tokens.refresh), INVALID_CLIENT)
    invalidApp.published.setDocument({ ...invalidApp.document, jwks: { keys: [] } })
    expectProblem(await refreshDocumentApp(auth, invalidApp, clock, invalidTokens.refresh), INVALID_CLIENT)
    const changedApp = { ...app, published: { ...app.published, key: otherKey } }
    readTokens(auth, await refreshDocumentApp(auth, changedApp, clock, tokens.refresh))
  })
})

test('while too many documents are being fetched, an expired document of a public app is used, and expired keys get 429', async () => {
  const documentOverrides = { ...agentDocuments.documentOverrides, timeoutMs: MINUTE_MS }
  // Its fetches do not time out before the test ends them.
  await using patientInstance = await startDocumentInstance(
    testbed,
    { ...agentDocuments, documentOverrides },
    clock,
    { origin: auth.origin },
  )
  const [publicApp, keyApp] = [publish('none'), publish('private_key_jwt')]
  const tokens = await connectDocumentApp(patientInstance, publicApp, clock)
  const keyTokens = await connectDocumentApp(patientInstance, keyApp, clock)
  expireDocument()
  const slowApps = [publish('none'), publish('none')]
  const mayEnd = Promise.withResolvers<void>()
  for (const { published } of slowApps)
    published.setHandler(async (_request, response) => {
      await mayEnd.promise
      response.writeHead(500).end()
    })
  const slowResponses = slowApps.map((app) => beginSignIn(app, new Browser(patientInstance.url)))
  await expect.poll(() => slowApps.map(({ published }) => published.countFetches())).toEqual([1, 1])
  readTokens(patientInstance, await refreshDocumentApp(patientInstance, publicApp, clock, tokens.refresh))
  expectProblem(await refreshDocumentApp(patientInstance, keyApp, clock, keyTokens.refresh), {
    status: 429,
    code: 'rate-limited',
    error: 'rate_limited',
  })
  mayEnd.resolve()
  // An app that is not stored gets the same response as any unknown app.
  for (const page of await Promise.all(slowResponses)) expect(page).toMatchObject({ status: 400 })
})
