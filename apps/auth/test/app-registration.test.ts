import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { openStores } from '../src/stores.ts'
import { register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import {
  CANARY,
  countStored,
  expectProblem,
  expectRefusal,
  expectSafe,
  type Refusal,
} from './expect-refusal.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

let auth: RunningAuth
beforeAll(async () => {
  auth = await startAuth()
  // `expectNoConfidentialValues` needs confidential values to look for.
  await register(auth)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

const REDIRECT_URIS = ['https://vscode.dev/redirect', 'http://127.0.0.1:33418/']
const post = (
  body: string,
  type = 'application/json',
  headers: Record<string, string> = {},
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/register',
    headers: { 'content-type': type, ...headers },
    body,
  })
const registerApp = (body: object) => post(JSON.stringify(body))
/** Reads from the metrics how many apps were registered, by host. */
const countRegistrationsByHost = async () => {
  const { text } = await send(auth.operationsUrl, { path: '/metrics' })
  return Object.fromEntries(
    [...text.matchAll(/^app_registrations_total\{host="([^"]+)",service="auth"\} (\d+)$/gm)].map(
      ([, host, count]) => [host, Number(count)],
    ),
  )
}

describe('POST /oauth/register', () => {
  test('returns 201 with the registered metadata, and stores it with an encrypted name', async () => {
    const storedBefore = await countStored(auth)
    const name = `Visual Studio Code ${CANARY}`
    auth.confidential.add(name)
    const response = await registerApp({
      client_name: name,
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: REDIRECT_URIS,
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      scope: 'mcp',
    })
    expect(response.status, response.text).toBe(201)
    // The body repeats the name, which is confidential everywhere else.
    await expectSafe(auth, { ...response, text: '' })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const body = JSON.parse(response.text) as { client_id: string }
    expect(body).toEqual({
      client_id: expect.stringMatching(/^app_[A-Za-z0-9_-]{22}$/),
      client_id_issued_at: expect.closeTo(Date.now() / 1000, -1),
      client_name: name,
      redirect_uris: REDIRECT_URIS,
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })
    expect(await countStored(auth)).toEqual({
      ...storedBefore,
      app_clients: Number(storedBefore['app_clients']) + 1,
    })
    const config = loadConfig(await auth.testbed.createSettings(auth.origin))
    await using stores = await openStores(config, { log: silentLog, now: () => new Date() })
    expect(await stores.appClients.find(body.client_id)).toMatchObject({
      name,
      redirectUris: REDIRECT_URIS,
      authMethod: 'none',
    })
  })

  test('registers an app that requests a secret with the method none, and says so', async () => {
    const response = await registerApp({
      redirect_uris: REDIRECT_URIS,
      token_endpoint_auth_method: 'client_secret_post',
    })
    expect(response.status, response.text).toBe(201)
    expect(JSON.parse(response.text)).toMatchObject({ token_endpoint_auth_method: 'none' })
    expect(response.text).not.toContain('client_secret')
  })

  const INVALID_REDIRECT_URI: Refusal = {
    status: 400,
    code: 'invalid-redirect-uri',
    error: 'invalid_redirect_uri',
  }
  const INVALID_METADATA: Refusal = {
    status: 400,
    code: 'invalid-client-metadata',
    error: 'invalid_client_metadata',
  }
  const createBody = (members: object) => JSON.stringify({ redirect_uris: REDIRECT_URIS, ...members })
  test.for<[string, string, Refusal]>([
    [
      'no redirect URI',
      JSON.stringify({ client_name: CANARY }),
      { ...INVALID_REDIRECT_URI, says: /Agents .* register at \/api\/agent\/register/ },
    ],
    [
      'a redirect URI that is not on the list',
      createBody({ redirect_uris: [`https://${CANARY}.example/cb`] }),
      { ...INVALID_REDIRECT_URI, says: /#\/redirect_uris\/0 .*ask the operator/ },
    ],
    [
      'a redirect URI that is not on the list, after accepted ones',
      createBody({ redirect_uris: [...REDIRECT_URIS, `https://evil.example/${CANARY}`] }),
      { ...INVALID_REDIRECT_URI, says: /#\/redirect_uris\/2 / },
    ],
    [
      'a javascript: redirect URI',
      createBody({ redirect_uris: ['javascript:alert(1)'] }),
      INVALID_REDIRECT_URI,
    ],
    ['only the grant for agents', createBody({ grant_types: ['client_credentials'] }), INVALID_METADATA],
    [
      'authentication by keys',
      createBody({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } }),
      INVALID_METADATA,
    ],
    ['a name with a line break', createBody({ client_name: `a\n${CANARY}` }), INVALID_METADATA],
    ['a list as the body', '[]', INVALID_METADATA],
    ['no body', '', INVALID_METADATA],
    ['incomplete JSON', '{', { status: 400, code: 'invalid-request' }],
    [
      'a member twice',
      `{"redirect_uris":[],"redirect_uris":["${REDIRECT_URIS[0]}"]}`,
      { status: 400, code: 'invalid-request' },
    ],
    [
      'a body of more than 64 KiB',
      createBody({ client_name: 'x'.repeat(65_536) }),
      { status: 413, code: 'content-too-large' },
    ],
  ])(
    'refuses %s, stores nothing, and accepts the next valid registration',
    async ([_title, body, refusal]) => {
      await expectRefusal(auth, () => post(body), refusal)
      expect((await registerApp({ redirect_uris: REDIRECT_URIS })).status).toBe(201)
    },
  )

  test('refuses a form body', async () => {
    const form = new URLSearchParams({ redirect_uris: REDIRECT_URIS[0] ?? '' }).toString()
    await expectRefusal(auth, () => post(form, 'application/x-www-form-urlencoded'), {
      status: 415,
      code: 'unsupported-media-type',
    })
  })

  test('refuses a request from a page of another site', async () => {
    await expectRefusal(
      auth,
      () =>
        post(createBody({}), 'application/json', {
          'sec-fetch-site': 'cross-site',
          origin: 'https://evil.example',
        }),
      { status: 403, code: 'cross-site-request' },
    )
  })

  test('counts registrations by the host of the redirect URIs, and refused ones as "refused"', async () => {
    const countsBefore = await countRegistrationsByHost()
    await registerApp({ redirect_uris: REDIRECT_URIS })
    await registerApp({ redirect_uris: ['http://localhost:1234/callback'] })
    await registerApp({ redirect_uris: ['https://evil.example/cb'] })
    const countsAfter = await countRegistrationsByHost()
    for (const host of ['vscode', 'loopback', 'refused'])
      expect([host, countsAfter[host]]).toEqual([host, Number(countsBefore[host]) + 1])
    expect(countsAfter['claude']).toBe(countsBefore['claude'])
  })
})

test('registrations of apps are limited by address, but an agent can still register from that address', async () => {
  // With this factor, an address may register three apps.
  await using limited = await startInstance(auth.testbed, { env: { AUTH_LIMITS_FACTOR: '0.03' } })
  const registerAtLimited = () =>
    send(limited.url, {
      method: 'POST',
      path: '/oauth/register',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: REDIRECT_URIS }),
    })
  for (let n = 0; n < 3; n += 1) expect((await registerAtLimited()).status).toBe(201)
  const storedBefore = await countStored(auth)
  expectProblem(await registerAtLimited(), {
    status: 429,
    code: 'rate-limited',
    error: 'rate_limited',
    headers: { 'retry-after': /^\d+$/ },
  })
  expect(await countStored(auth)).toEqual(storedBefore)
  expect((await send(limited.url, { method: 'POST', path: '/api/agent/register' })).status).toBe(201)
})

test('the hosts of AUTH_CHAT_HOSTS_FILE replace the built-in ones', async () => {
  const { mkdtemp, writeFile, rm } = await import('node:fs/promises')
  const folder = await mkdtemp('/tmp/plainpath-hosts-')
  try {
    const file = `${folder}/hosts.json`
    const host = { label: 'other', name: 'Other', redirectUriPrefixes: [], documents: [] }
    const entry = {
      ...host,
      redirectUris: ['https://other.example/cb'],
      source: 'test',
      checked: '2026-11-23',
    }
    await writeFile(file, JSON.stringify({ hosts: [entry] }))
    await using instance = await startInstance(auth.testbed, { env: { AUTH_CHAT_HOSTS_FILE: file } })
    const registerWith = (uri: string) =>
      send(instance.url, {
        method: 'POST',
        path: '/oauth/register',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [uri] }),
      })
    expect((await registerWith('https://other.example/cb')).status).toBe(201)
    expect((await registerWith('https://vscode.dev/redirect')).status).toBe(400)
  } finally {
    await rm(folder, { recursive: true })
  }
})

const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined }
