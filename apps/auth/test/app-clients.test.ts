import { randomUUID } from 'node:crypto'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@plainpath/domain'
import {
  createApp,
  createLimiter,
  createLog,
  createMemoryLimitStore,
  parseTrustedProxies,
  serve,
} from '@plainpath/http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createUrlClientStore } from '../src/agents/url-client-store.ts'
import type { AppClient } from '../src/app-clients/app-client.ts'
import { createAppClientFinder } from '../src/app-clients/app-client-finder.ts'
import { type AppClientStore, createAppClientStore } from '../src/app-clients/app-client-store.ts'
import { createAppDocumentReader } from '../src/app-clients/app-document.ts'
import { type ChatHosts, DEFAULT_CHAT_HOSTS, parseChatHosts } from '../src/app-clients/chat-hosts.ts'
import { createDocumentFetcher } from '../src/client-documents/document-fetcher.ts'
import {
  type CertificateAuthority,
  createCertificateAuthority,
  createJsonHandler,
  type DocumentHost,
  startDocumentHost,
} from './document-host.ts'
import { generateTestKeyPair } from './key-agent.ts'
import { countRows, openTestStores, type TestStores } from './open-test-stores.ts'

const NAME = 'apps.clients.test'
const LOOPBACK = 'http://127.0.0.1/callback'
let stores: TestStores
let ca: CertificateAuthority
let host: DocumentHost
let store: AppClientStore
let now: Date
beforeAll(async () => {
  stores = await openTestStores()
  ca = await createCertificateAuthority()
  host = await startDocumentHost(await ca.issue([NAME]))
  store = createAppClientStore(stores.db, stores.sealer)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await stores[Symbol.asyncDispose]()
})
beforeEach(() => {
  now = new Date('2026-11-23T12:00:00Z')
})

interface FindResult {
  /** 200 if the app was found, 404 if not, 429 if the address of the caller is over its limit, 503 if its keys have expired. */
  readonly status: number
  readonly client?: AppClient
}

/**
 * Starts a server that finds an app for each request. Each server has its own cache of failures and its own limits.
 *
 * @param options.hosts the chat hosts whose redirect URIs are accepted, and whose documents have a copy in the list
 * @param options.factor multiplies the quotas of production
 */
async function startFinder({
  hosts = DEFAULT_CHAT_HOSTS,
  factor = 1,
}: {
  hosts?: ChatHosts
  factor?: number
} = {}) {
  const log = createLog({ service: 'test', write: () => {} })
  const outcomes: string[] = []
  const find = createAppClientFinder({
    appClients: store,
    urlClients: createUrlClientStore(stores.db, stores.events),
    fetchDocument: createDocumentFetcher(
      createAppDocumentReader(hosts, () => now),
      {
        testHosts: [`${NAME}:${host.port}`],
        ca: ca.pem,
        now: () => now,
        onOutcome: (outcome) => void outcomes.push(outcome),
      },
    ).fetch,
    chatHosts: hosts,
    limiter: createLimiter({ store: createMemoryLimitStore(() => now), factor, now: () => now, log }),
    now: () => now,
  })
  const app = createApp({
    origin: 'http://127.0.0.1',
    trustedProxies: parseTrustedProxies(''),
    log,
    chooseErrorFormat: () => 'problem',
    clock: { requireSynchronised: () => {} },
    csp: '',
  })
  app.use(async (ctx) => {
    const client = await find(ctx, ctx.get('x-client'))
    ctx.body = client ? { status: 200, client } : { status: 404 }
  })
  const server = await serve(app.callback(), { port: 0, host: '127.0.0.1', drainSeconds: 1 })
  return {
    outcomes,
    async find(id: string): Promise<FindResult> {
      const response = await fetch(server.url, { headers: { 'x-client': encodeURI(id), host: '127.0.0.1' } })
      if (response.status !== 200) return { status: response.status }
      return (await response.json()) as FindResult
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Serves the document of an app, at a new URL. */
function publish(members: object = {}, headers: Record<string, string> = {}) {
  const path = `/${randomUUID()}`
  const id = host.getUrl(NAME, path)
  const change = (newMembers: object) =>
    host.serve(path, createJsonHandler({ client_id: id, redirect_uris: [LOOPBACK], ...newMembers }, headers))
  change(members)
  return {
    id,
    change,
    fail: () => host.serve(path, (_request, response) => void response.writeHead(503).end()),
    countFetches: () => host.requests.filter((each) => `https://${each}` === id).length,
  }
}
const countApps = async () => Number((await countRows(stores.db))['app_clients'])

describe('an app with a document', () => {
  test('is found, with one fetch for all instances until the stored copy expires', async () => {
    const app = publish(
      { client_name: 'Example', grant_types: ['authorization_code', 'x'] },
      { 'cache-control': 'max-age=600' },
    )
    await using finder = await startFinder()
    await using otherFinder = await startFinder()
    const client = {
      id: app.id,
      redirectUris: [LOOPBACK],
      name: 'Example',
      applicationType: 'native',
      authMethod: 'none',
      keys: [],
      source: 'document',
    }
    for (const each of [finder, otherFinder, finder])
      expect(await each.find(app.id)).toEqual({ status: 200, client })
    expect(app.countFetches()).toBe(1)
    now = new Date(now.getTime() + 10 * MINUTE_MS)
    app.change({ redirect_uris: ['http://localhost/callback'] })
    expect(await otherFinder.find(app.id)).toMatchObject({
      client: { redirectUris: ['http://localhost/callback'] },
    })
    expect(await finder.find(app.id)).toMatchObject({
      client: { redirectUris: ['http://localhost/callback'] },
    })
    expect(app.countFetches()).toBe(2)
  })

  test('is found with its keys if it authenticates with private_key_jwt', async () => {
    const key = await generateTestKeyPair()
    const app = publish({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } })
    await using finder = await startFinder()
    const keys = [{ ...key.jwk, alg: 'ES256', use: 'sig' }]
    for (let n = 0; n < 2; n += 1)
      expect(await finder.find(app.id)).toMatchObject({ client: { authMethod: 'private_key_jwt', keys } })
    expect(app.countFetches()).toBe(1)
  })

  test.for<[string, object]>([
    ['names another client', { client_id: 'https://apps.example/client.json' }],
    ['has no acceptable redirect URI', { redirect_uris: ['https://evil.example/cb'] }],
    ['has a secret', { client_secret: 'canary' }],
    ['is the document of an agent', { grant_types: ['client_credentials'] }],
    [
      'has private_key_jwt as its method and no keys',
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } },
    ],
    // A document may have at most 5 KiB.
    ['is too large', { filler: 'x'.repeat(6_000) }],
  ])(
    'that %s is not found, is not stored, and is not fetched again for a minute',
    async ([_title, members]) => {
      const app = publish(members)
      await using finder = await startFinder()
      const countBefore = await countApps()
      for (let n = 0; n < 2; n += 1) expect(await finder.find(app.id)).toEqual({ status: 404 })
      expect(app.countFetches()).toBe(1)
      expect(await countApps()).toBe(countBefore)
      const validApp = publish()
      expect(await finder.find(validApp.id)).toMatchObject({ status: 200 })
    },
  )

  test('is not found if its host fails, does not exist, or has no public address', async () => {
    const failingApp = publish()
    failingApp.fail()
    await using finder = await startFinder()
    for (const id of [
      failingApp.id,
      'https://nowhere.invalid/client.json',
      'https://127.0.0.1/client.json',
      'https://169.254.169.254/latest/meta-data',
      'https://localhost/client.json',
      `https://${NAME}/client.json`,
    ])
      expect([id, await finder.find(id)]).toEqual([id, { status: 404 }])
  })

  test.for([
    '',
    'app_',
    'agt_1234567890123456789012',
    'http://apps.example/client.json',
    'https://APPS.example/x',
    'https://apps.example',
    'https://u@apps.example/x',
    'https://apps.example/x#y',
    'https://apps.example/a/../x',
  ])('is not fetched for the client_id %j', async (id) => {
    await using finder = await startFinder()
    expect(await finder.find(id)).toEqual({ status: 404 })
    expect(finder.outcomes).toEqual([])
  })

  test('is not found while its domain is blocked, even if the document is stored', async () => {
    const app = publish()
    await using finder = await startFinder()
    expect(await finder.find(app.id)).toMatchObject({ status: 200 })
    const urlClients = createUrlClientStore(stores.db, stores.events)
    const audit = { actor: { user: 'test', host: 'test' }, reason: 'test' }
    await urlClients.setBlocked('block', NAME, audit, now)
    expect(await finder.find(app.id)).toEqual({ status: 404 })
    expect(await finder.find(publish().id)).toEqual({ status: 404 })
    await urlClients.setBlocked('unblock', NAME, audit, now)
    expect(await finder.find(app.id)).toMatchObject({ status: 200 })
  })

  test('has its stored document replaced only by one that was requested later', async () => {
    const id = publish().id
    const metadata = {
      redirectUris: [LOOPBACK],
      applicationType: 'native',
      authMethod: 'none',
      keys: [],
    } as const
    const expiresAt = new Date(now.getTime() + DAY_MS)
    await store.saveDocument(id, metadata, { fetchedAt: now, expiresAt })
    const otherMetadata = { ...metadata, redirectUris: ['http://localhost/other'] }
    await store.saveDocument(id, otherMetadata, { fetchedAt: new Date(now.getTime() - 1), expiresAt })
    expect(await store.find(id)).toMatchObject({ redirectUris: [LOOPBACK] })
    await store.saveDocument(id, otherMetadata, { fetchedAt: new Date(now.getTime() + 1), expiresAt })
    expect(await store.find(id)).toMatchObject({ redirectUris: ['http://localhost/other'] })
  })

  test("is not fetched once the caller's address is over its limit, but is still found if it is stored", async () => {
    // With a tenth of the usual limit, an address has three fetches.
    await using limited = await startFinder({ factor: 0.1 })
    const apps = Array.from({ length: 4 }, () => publish())
    for (const { id } of apps.slice(0, 3)) expect(await limited.find(id)).toMatchObject({ status: 200 })
    expect(await limited.find(apps[3]?.id ?? '')).toEqual({ status: 429 })
    expect(apps[3]?.countFetches()).toBe(0)
    expect(await limited.find(apps[0]?.id ?? '')).toMatchObject({ status: 200 })
  })
})

describe('an app whose document is in the list of hosts', () => {
  const createHosts = (id: string, members: object = {}) =>
    parseChatHosts(
      JSON.stringify({
        hosts: [
          {
            label: 'listed',
            name: 'Listed',
            redirectUris: ['https://listed.example/cb'],
            redirectUriPrefixes: [],
            source: 'test',
            checked: '2026-11-23',
            documents: [
              {
                copied: '2026-11-23',
                metadata: {
                  client_id: id,
                  client_name: 'Listed',
                  redirect_uris: ['https://listed.example/cb'],
                  ...members,
                },
              },
            ],
          },
        ],
      }),
    )
  const copy = {
    redirectUris: ['https://listed.example/cb'],
    name: 'Listed',
    applicationType: 'web',
    source: 'pinned',
  }

  test('is found through the copy in the list while its host fails, and nothing is stored', async () => {
    const app = publish()
    app.fail()
    await using finder = await startFinder({ hosts: createHosts(app.id) })
    const countBefore = await countApps()
    expect(await finder.find(app.id)).toMatchObject({ status: 200, client: copy })
    expect(await countApps()).toBe(countBefore)
    expect(await finder.find(app.id)).toMatchObject({ status: 200, client: copy })
    expect(app.countFetches()).toBe(1)
  })

  test("is found through the copy in the list if the caller's address has used up its fetches", async () => {
    const app = publish()
    // With this factor, an address has one fetch.
    await using finder = await startFinder({ hosts: createHosts(app.id), factor: 0.03 })
    await finder.find(publish().id)
    expect(await finder.find(publish().id)).toEqual({ status: 429 })
    expect(await finder.find(app.id)).toMatchObject({ status: 200, client: copy })
  })

  test('is found through its document while its host serves it, and through the stored document afterwards', async () => {
    const app = publish(
      { redirect_uris: ['https://listed.example/cb', LOOPBACK] },
      { 'cache-control': 'no-store' },
    )
    const hosts = createHosts(app.id)
    const expectedClient = { redirectUris: ['https://listed.example/cb', LOOPBACK], source: 'document' }
    await using finder = await startFinder({ hosts })
    expect(await finder.find(app.id)).toMatchObject({ client: expectedClient })
    app.fail()
    // The stored document has expired, but it precedes the copy in the list.
    now = new Date(now.getTime() + HOUR_MS)
    expect(await finder.find(app.id)).toMatchObject({ client: expectedClient })
    expect(app.countFetches()).toBe(2)
  })

  test('is not found, even through the copy in the list, if its document is invalid', async () => {
    const app = publish({ redirect_uris: ['https://evil.example/cb'] })
    await using finder = await startFinder({ hosts: createHosts(app.id) })
    expect(await finder.find(app.id)).toEqual({ status: 404 })
  })

  test('is not found while its host fails if the copy in the list has private_key_jwt', async () => {
    const app = publish()
    app.fail()
    const keyMembers = {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `https://${NAME}:${host.port}/jwks`,
    }
    await using finder = await startFinder({ hosts: createHosts(app.id, keyMembers) })
    expect(await finder.find(app.id)).toEqual({ status: 404 })
  })

  test('has to try again later while its host fails and the stored document with its keys has expired', async () => {
    const key = await generateTestKeyPair()
    const keyMembers = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } }
    const app = publish({ redirect_uris: ['https://listed.example/cb'], ...keyMembers })
    const hosts = createHosts(app.id)
    await using finder = await startFinder({ hosts })
    expect(await finder.find(app.id)).toMatchObject({ client: { authMethod: 'private_key_jwt' } })
    app.fail()
    now = new Date(now.getTime() + HOUR_MS)
    expect(await finder.find(app.id)).toEqual({ status: 503 })
  })

  test('is no longer found after its host leaves the list', async () => {
    const app = publish({ redirect_uris: ['https://listed.example/cb'] })
    await using finder = await startFinder({ hosts: createHosts(app.id) })
    expect(await finder.find(app.id)).toMatchObject({ status: 200 })
    await using finderWithoutHost = await startFinder()
    expect(await finderWithoutHost.find(app.id)).toEqual({ status: 404 })
  })
})

describe('a registered app', () => {
  const metadata = {
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', LOOPBACK],
    name: 'Claude',
    applicationType: 'native',
    authMethod: 'none',
    keys: [],
  } as const

  test('is found with those redirect URIs that are still acceptable, and is not found if none is', async () => {
    await using finder = await startFinder()
    const id = await store.add(metadata, now)
    expect(await finder.find(id)).toEqual({ status: 200, client: { id, ...metadata, source: 'registered' } })
    expect(await finder.find(`app_${'x'.repeat(22)}`)).toEqual({ status: 404 })
    await using finderWithoutHosts = await startFinder({ hosts: [] })
    expect(await finderWithoutHosts.find(id)).toMatchObject({ client: { redirectUris: [LOOPBACK] } })
    const webAppId = await store.add({ ...metadata, redirectUris: [metadata.redirectUris[0]] }, now)
    expect(await finder.find(webAppId)).toMatchObject({ status: 200 })
    expect(await finderWithoutHosts.find(webAppId)).toEqual({ status: 404 })
    expect(finder.outcomes).toEqual([])
  })
})
