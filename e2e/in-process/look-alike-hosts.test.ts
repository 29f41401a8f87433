import { type AgentDocuments, startAgentDocuments } from '@plainpath/auth/agent-documents'
import { openPool, type Pool } from '@plainpath/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, openApp, sendRegistration } from '../hosts/app.ts'
import { HOSTS } from '../hosts/host-fixtures.ts'
import { createAppDocument } from '../hosts/hostile-authorizations.ts'
import { LOOK_ALIKES } from '../hosts/look-alikes.ts'
import { createPlainBrowser, type PlainBrowser } from '../hosts/plain-browser.ts'
import { publishDocument } from '../hosts/publish-document.ts'
import { createAppRegistration } from '../hosts/scene.ts'
import { createSender, type Sender } from '../send.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

/*
 * Redirect URIs that must be refused. Most resemble those of the hosts. Each is refused in a registration, in a document and in an
 * authorization request. For a document and an authorization request, the browser is not redirected. The genuine URI is accepted in
 * all three.
 */

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let system: SystemWithMail
let sender: Sender
let browser: PlainBrowser
let db: Pool
let app: App
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  system = resources.use(await startSystemWithMail({ documents }))
  sender = resources.use(createSender(system.origin))
  browser = resources.use(createPlainBrowser(system.origin))
  db = resources.use(openPool(system.adminUrls.auth, { max: 1 }))
  // The app registers every genuine URI.
  const genuineUris = [...new Set(LOOK_ALIKES.map(({ genuineUri }) => genuineUri))]
  app = resources.use(
    await openApp({ origin: system.origin, registration: createAppRegistration(...genuineUris) }),
  )
})
afterAll(() => resources.disposeAsync())

const countApps = async () =>
  (await db.query<{ apps: number }>('select count(*)::int as apps from app_clients')).rows[0]?.apps

const register = (...redirectUris: readonly string[]) =>
  sendRegistration(sender, app.server, createAppRegistration(...redirectUris))

/** Opens an authorization request of a new client whose document has these URIs. */
async function authorizeWithDocument(redirectUri: string, redirectUris: readonly string[] = [redirectUri]) {
  const { url } = publishDocument(documents, (id) => createAppDocument(id, { redirect_uris: redirectUris }))
  const changes = { client_id: url }
  return browser.open(app.authorize({ redirectUri, changes }).url)
}

describe.for(LOOK_ALIKES)('$description: $redirectUri', ({ redirectUri, genuineUri }) => {
  test('cannot be registered, alone or together with a genuine URI', async () => {
    const countBefore = await countApps()
    for (const uris of [[redirectUri], [genuineUri, redirectUri]]) {
      const response = await register(...uris)
      expect([response.status, response.text]).toEqual([400, expect.stringContaining('invalid_redirect_uri')])
    }
    expect(await countApps()).toBe(countBefore)
    expect((await register(genuineUri)).status).toBe(201)
  })

  test('gets no redirect from the authorization endpoint', async () => {
    for (const page of [
      await authorizeWithDocument(redirectUri),
      await authorizeWithDocument(redirectUri, [genuineUri, redirectUri]),
      await browser.open(app.authorize({ redirectUri }).url),
    ]) {
      expect([page.status, page.redirects]).toEqual([400, []])
      expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    }
    for (const page of [
      await authorizeWithDocument(genuineUri, [genuineUri, redirectUri]),
      await browser.open(app.authorize({ redirectUri: genuineUri }).url),
    ])
      expect(page.status).toBe(200)
  })
})

/** Every set of redirect URIs that a host registers in one request. */
const URI_SETS = HOSTS.flatMap(({ name, identification }) =>
  identification.by === 'registration'
    ? [{ name, uris: identification.body['redirect_uris'] as string[] }]
    : [],
)
test.for(URI_SETS)(
  '$name can register its URIs, but no fixed URI to which a letter is added',
  async ({ uris }) => {
    const urisWithPort = uris.map((uri) => uri.replace('PORT', '49152'))
    expect((await register(...urisWithPort)).status).toBe(201)
    // A loopback URI may have any port and any path, and the two patterns match URIs whose last segment varies.
    const fixedUris = urisWithPort.filter(
      (uri) => !uri.startsWith('http:') && !/\/(?:r|connector\/oauth)\//.test(uri),
    )
    for (const uri of fixedUris) expect((await register(`${uri}x`)).status).toBe(400)
  },
)

test.for(['http://localhost', 'http://127.0.0.1', 'http://[::1]'])(
  'a redirect URI at %s matches with any valid port, and with no other path',
  async (address) => {
    const { clientId } = resources.use(
      await openApp({
        origin: system.origin,
        registration: createAppRegistration(`${address}:3118/callback`),
      }),
    )
    const open = (redirectUri: string) =>
      browser.open(app.authorize({ redirectUri, changes: { client_id: clientId } }).url)
    for (const port of [':3118', ':1024', ':65535'])
      expect((await open(`${address}${port}/callback`)).status).toBe(200)
    for (const portAndPath of [
      ':99999/callback',
      ':0x50/callback',
      ':3118/other',
      ':3118/callback/',
      ':3118/callback?x=1',
      ':3118/Callback',
    ])
      expect((await open(`${address}${portAndPath}`)).status).toBe(400)
  },
)
