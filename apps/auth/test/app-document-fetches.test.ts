import { RULES } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AgentDocuments, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { generateRequestValues } from './app-flow.ts'
import { expectSafe } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import { type Clock, requestUrlToken, startUrlInstance } from './url-agent.ts'

const CALLBACK = 'http://127.0.0.1/callback'
/** The redirect URI of a program that chose a port. `CALLBACK` covers it. */
const CALLBACK_WITH_PORT = 'http://127.0.0.1:52163/callback'
const UNLISTED_URI = 'https://evil.example/callback'
const UNKNOWN_APP = 'not known to us'
const FOREIGN_REDIRECT_URI = 'not one of its own'
/** The URL of a document of which the list of hosts that comes with this release has a copy. */
const LISTED_APP = 'https://claude.ai/oauth/mcp-oauth-client-metadata'

const resources = new AsyncDisposableStack()
let agentDocuments: AgentDocuments
let testbed: AuthTestbed
let auth: RunningAuth
let key: KeyPair
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  agentDocuments = resources.use(await startAgentDocuments())
  testbed = resources.use(await openAuthTestbed())
  auth = resources.use(await startUrlInstance(testbed, agentDocuments, clock))
  key = await generateTestKeyPair()
})
afterAll(() => resources.disposeAsync())

/** Publishes the document of a new app. */
function publishApp(): UrlAgent {
  const app = agentDocuments.publish([key])
  app.setDocument({ client_id: app.client_id, redirect_uris: [CALLBACK, UNLISTED_URI] })
  return app
}
const authorize = (clientId: string, redirectUri: string): Promise<HttpResponse> => {
  const { challenge, state } = generateRequestValues()
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state,
  })
  return send(auth.url, { path: `/oauth/authorize?${query}` })
}
async function expectErrorPage(response: HttpResponse, text: string) {
  expect(response).toMatchObject({ status: 400, text: expect.stringContaining(text) })
  expect(response.headers.get('location')).toBeNull()
  await expectSafe(auth, response)
}

test.for([
  UNLISTED_URI,
  'https://claude.ai/api/mcp/auth_callback/',
  'https://claude.ai.evil.example/api/mcp/auth_callback',
  'http://evil.example/callback',
  'http://127.0.0.1.evil.example/callback',
  'http://127.0.0.1:65536/callback',
  'javascript:alert(1)',
  '/callback',
  ' ',
])('the document of an app is not fetched for the redirect URI %j, which no app may have', async (uri) => {
  const app = publishApp()
  await expectErrorPage(await authorize(app.client_id, uri), UNKNOWN_APP)
  expect(app.countFetches()).toBe(0)
  expect(await authorize(app.client_id, CALLBACK_WITH_PORT)).toMatchObject({ status: 303 })
  expect(app.countFetches()).toBe(1)
})

test('the document of an app is fetched for a redirect URI that an app may have, and the page says if the app has another', async () => {
  const app = publishApp()
  await expectErrorPage(
    await authorize(app.client_id, 'https://claude.ai/api/mcp/auth_callback'),
    FOREIGN_REDIRECT_URI,
  )
  expect(app.countFetches()).toBe(1)
})

test('the page says that the redirect URI is foreign to an app that is stored or listed, without a fetch', async () => {
  const app = publishApp()
  expect(await authorize(app.client_id, CALLBACK)).toMatchObject({ status: 303 })
  for (const id of [app.client_id, LISTED_APP])
    await expectErrorPage(await authorize(id, UNLISTED_URI), FOREIGN_REDIRECT_URI)
  clock.now = new Date(clock.now.getTime() + RULES.documentLongestMs + RULES.verificationMs)
  await expectErrorPage(await authorize(app.client_id, UNLISTED_URI), UNKNOWN_APP)
  expect(app.countFetches()).toBe(1)
  expect(await authorize(app.client_id, CALLBACK)).toMatchObject({ status: 303 })
  expect(app.countFetches()).toBe(2)
})

test('an address may have two documents of apps fetched at once, and agents at the address have fetches of their own', async () => {
  const slowApps = [publishApp(), publishApp()]
  for (const app of slowApps) app.hang()
  const slowResponses = slowApps.map((app) => authorize(app.client_id, CALLBACK))
  await expect.poll(() => slowApps.map((app) => app.countFetches())).toEqual([1, 1])
  // A fetch ends after 2 s.
  const [appResponse, agentResponse] = await Promise.all([
    authorize(publishApp().client_id, CALLBACK),
    requestUrlToken(auth, agentDocuments.publish([key]), clock),
  ])
  expect(appResponse).toMatchObject({ status: 429 })
  expect(agentResponse).toMatchObject({ status: 200 })
  for (const response of await Promise.all(slowResponses)) await expectErrorPage(response, UNKNOWN_APP)
  expect(await authorize(publishApp().client_id, CALLBACK)).toMatchObject({ status: 303 })
})
