import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DocumentServer, documentOf, startDocumentServer, type UrlAgent } from './document-server.ts'
import { CANARY, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey } from './key-agent.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import type { RunningAuth } from './start-auth.ts'
import { type Clock, getUrlToken, requestUrlToken, startUrlInstance } from './url-agent.ts'

/*
 * Token requests of clients whose assertions are in order and whose documents are not. `hostile-documents.test.ts` and
 * `hostile-hosts.test.ts` beside the fetcher have more documents and hosts; here the point is what is stored, and what the
 * client is told.
 */

const REFUSED = { status: 401, code: 'invalid-client', error: 'invalid_client' }
/** Until the document has proved to be the client's, every fault has the same text. */
const UNUSABLE: Refusal = { ...REFUSED, says: /^There is no usable document at your client_id\. Serve it/ }
const names = (member: string): Refusal => ({
  ...REFUSED,
  says: new RegExp(`^In the document at your client_id, ${member} (must|has) `),
})

const resources = new AsyncDisposableStack()
let server: DocumentServer
let stores: AuthStores
let auth: RunningAuth
let key: KeyPair
let privateJwk: JWK
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  server = resources.use(await startDocumentServer())
  stores = resources.use(await openAuthStores())
  auth = resources.use(await startUrlInstance(stores, server, clock))
  key = await newKey()
  privateJwk = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)
  // The first request takes longer than a refusal may.
  await getUrlToken(auth, server.publish([key]), clock)
})
afterAll(() => resources.disposeAsync())

type Respond = (request: IncomingMessage, response: ServerResponse) => void
const JSON_TYPE = { 'content-type': 'application/json' }
const send =
  (status: number, headers: Record<string, string | number>, body: string | Buffer): Respond =>
  (_request, response) => {
    response.writeHead(status, headers).end(body)
  }

interface Row {
  readonly why: string
  /** Creates the response that the server sends instead of the document. @param text the document */
  readonly hostile: (text: string) => Respond
}

/** They differ from the document of the positive twin in one thing. */
const UNPROVEN: readonly Row[] = [
  ...[301, 302, 307, 308].map((status) => ({
    why: `a redirect with ${status}`,
    hostile: (text: string) => send(status, { ...JSON_TYPE, location: '/' }, text),
  })),
  ...[201, 404, 500].map((status) => ({
    why: `the status ${status}`,
    hostile: (text: string) => send(status, JSON_TYPE, text),
  })),
  { why: 'HTML', hostile: (text) => send(200, { 'content-type': 'text/html' }, text) },
  { why: 'no content type', hostile: (text) => send(200, {}, text) },
  {
    why: 'gzip',
    hostile: (text) => send(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(text)),
  },
  { why: 'more than 5 KiB', hostile: (text) => send(200, JSON_TYPE, text.padEnd(5_121, ' ')) },
  {
    why: 'more than 5 KiB in chunks',
    hostile: (text) => send(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, text.padEnd(5_121, ' ')),
  },
  {
    why: 'a body that is cut off',
    hostile: (text) => (_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': text.length + 1 })
      response.write(text, () => response.destroy())
    },
  },
  {
    why: 'a connection that is cut before the headers',
    hostile: () => (request) => void request.socket.destroy(),
  },
  { why: 'text that is not HTTP', hostile: (text) => (request) => void request.socket.end(text) },
  { why: 'no content', hostile: () => send(200, JSON_TYPE, '') },
  { why: 'no JSON', hostile: () => send(200, JSON_TYPE, CANARY) },
  { why: 'a list', hostile: (text) => send(200, JSON_TYPE, `[${text}]`) },
  { why: 'text after the JSON', hostile: (text) => send(200, JSON_TYPE, `${text}{}`) },
  {
    why: 'bytes that are not UTF-8',
    hostile: (text) => send(200, JSON_TYPE, Buffer.from(text.replace('Canary', 'é'), 'latin1')),
  },
  {
    why: 'a member that is named twice',
    hostile: (text) => send(200, JSON_TYPE, text.replace('{', `{"client_id":"https://${CANARY}.example/",`)),
  },
  {
    why: 'a member __proto__',
    hostile: (text) => send(200, JSON_TYPE, text.replace('{', '{"__proto__":{},')),
  },
  {
    why: 'deep nesting',
    hostile: (text) =>
      send(200, JSON_TYPE, text.replace('{', `{"x":${'['.repeat(1_000)}${']'.repeat(1_000)},`)),
  },
]

/** Values of `client_id` that differ from the URL of the document. */
const FOREIGN: readonly (readonly [why: string, change: (url: string) => unknown])[] = [
  ['absent', () => undefined],
  ['a list of it', (url) => [url]],
  ['the URL of another document', (url) => `${url}x`],
  ['the URL with another host', (url) => url.replace('agents.', '')],
  ['the URL with a host in capitals', (url) => url.replace('agents', 'AGENTS')],
  ['the URL with percent-encoding', (url) => url.replace(/\/([^/])([^/]*)$/, '/%3$1$2')],
  ['the id of a registered agent', () => `agt_${'A'.repeat(22)}`],
]

/** Mistakes in a document of the client, which are reported by the name of the member. */
const MISTAKEN: readonly (readonly [why: string, member: string, changes: () => Record<string, unknown>])[] =
  [
    ['no method', 'token_endpoint_auth_method', () => ({ token_endpoint_auth_method: undefined })],
    ...['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt'].map(
      (method): (typeof MISTAKEN)[number] => [
        `the method ${method}`,
        'token_endpoint_auth_method',
        () => ({ token_endpoint_auth_method: method }),
      ],
    ),
    ['a secret', 'client_secret', () => ({ client_secret: CANARY })],
    ['other grant types', 'grant_types', () => ({ grant_types: ['authorization_code'] })],
    ['no grant types', 'grant_types', () => ({ grant_types: undefined })],
    ['DPoP as text', 'dpop_bound_access_tokens', () => ({ dpop_bound_access_tokens: CANARY })],
    ['no keys', 'jwks', () => ({ jwks: undefined })],
    ['an empty key set', 'jwks', () => ({ jwks: { keys: [] } })],
    [
      'four keys',
      'jwks',
      () => ({ jwks: { keys: [1, 2, 3, 4].map((kid) => ({ ...key.jwk, kid: `${kid}` })) } }),
    ],
    ['a private key', 'jwks', () => ({ jwks: { keys: [key.jwk, privateJwk] } })],
    ['a symmetric key', 'jwks', () => ({ jwks: { keys: [key.jwk, { kty: 'oct', k: CANARY }] } })],
    ['a point that is not on the curve', 'jwks', () => ({ jwks: { keys: [{ ...key.jwk, y: key.jwk.x }] } })],
    [
      'keys of another origin',
      'jwks_uri',
      () => ({ jwks: undefined, jwks_uri: 'https://keys.example/jwks' }),
    ],
    ['keys twice', 'jwks_uri', () => ({ jwks_uri: 'https://agents.clients.test/jwks' })],
  ]

describe('nothing is stored, and no token is issued, when the document', () => {
  /** Requests a token with an assertion that is in order. */
  async function expectNoToken(agent: UrlAgent, refusal: Refusal): Promise<void> {
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), refusal)
    expect(agent.fetched()).toBe(1)
    const { rowCount } = await stores.db.query('select from agents where id = $1', [agent.client_id])
    expect(rowCount).toBe(0)
    // Another client with the same key, whose document is in order.
    const twin = await requestUrlToken(auth, server.publish([key]), clock)
    expect(twin.status, twin.text).toBe(200)
  }

  test.for(UNPROVEN)('is replaced by $why', async ({ hostile }) => {
    const agent = server.publish([key])
    agent.respond(hostile(JSON.stringify(documentOf(agent.client_id, [key]))))
    await expectNoToken(agent, UNUSABLE)
  })

  test.for(FOREIGN)('has a client_id that is %s', async ([, change]) => {
    const agent = server.publish([key])
    agent.change({ ...documentOf(agent.client_id, [key]), client_id: change(agent.client_id) })
    await expectNoToken(agent, UNUSABLE)
  })

  test.for(MISTAKEN)('has %s: %s', async ([, member, changes]) => {
    const agent = server.publish([key])
    agent.change({ ...documentOf(agent.client_id, [key]), ...changes() })
    await expectNoToken(agent, names(member))
  })
})
