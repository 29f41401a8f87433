import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AgentDocuments, createDocument, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { CANARY, expectRefusal, type Refusal } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import type { RunningAuth } from './start-auth.ts'
import { type Clock, getUrlToken, requestUrlToken, startUrlInstance } from './url-agent.ts'

/*
 * Tests token requests with valid assertions from clients with invalid documents: what is stored, and what the response
 * says. `hostile-documents.test.ts` and `hostile-hosts.test.ts` in `src/client-documents` test the fetcher with more
 * documents and hosts.
 */

const INVALID_CLIENT = { status: 401, code: 'invalid-client', error: 'invalid_client' }
/** The refusal for every response that is not a document with its own URL as the `client_id`. The text is always the same. */
const UNUSABLE: Refusal = {
  ...INVALID_CLIENT,
  says: /^There is no usable document at your client_id\. Serve it/,
}
const createMemberRefusal = (member: string): Refusal => ({
  ...INVALID_CLIENT,
  says: new RegExp(`^In the document at your client_id, ${member} (must|has) `),
})

const resources = new AsyncDisposableStack()
let agentDocuments: AgentDocuments
let testbed: AuthTestbed
let auth: RunningAuth
let key: KeyPair
let privateJwk: JWK
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  agentDocuments = resources.use(await startAgentDocuments())
  testbed = resources.use(await openAuthTestbed())
  auth = resources.use(await startUrlInstance(testbed, agentDocuments, clock))
  key = await generateTestKeyPair()
  privateJwk = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)
  // The first request takes longer than `expectRefusal` allows.
  await getUrlToken(auth, agentDocuments.publish([key]), clock)
})
afterAll(() => resources.disposeAsync())

type Respond = (request: IncomingMessage, response: ServerResponse) => void
const JSON_TYPE = { 'content-type': 'application/json' }
const respondWith =
  (status: number, headers: Record<string, string | number>, body: string | Buffer): Respond =>
  (_request, response) => {
    response.writeHead(status, headers).end(body)
  }

interface UnusableResponse {
  /** What replaces the document. */
  readonly title: string
  /**
   * Creates the handler that responds instead of the document server.
   *
   * @param text the valid document
   */
  readonly createHandler: (text: string) => Respond
}

/** Responses that are not a document of the client. */
const UNUSABLE_RESPONSES: readonly UnusableResponse[] = [
  ...[301, 302, 307, 308].map((status) => ({
    title: `a redirect with ${status}`,
    createHandler: (text: string) => respondWith(status, { ...JSON_TYPE, location: '/' }, text),
  })),
  ...[201, 404, 500].map((status) => ({
    title: `the status ${status}`,
    createHandler: (text: string) => respondWith(status, JSON_TYPE, text),
  })),
  { title: 'HTML', createHandler: (text) => respondWith(200, { 'content-type': 'text/html' }, text) },
  { title: 'no content type', createHandler: (text) => respondWith(200, {}, text) },
  {
    title: 'gzip',
    createHandler: (text) => respondWith(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(text)),
  },
  // 5,121 bytes are one more than 5 KiB.
  { title: 'more than 5 KiB', createHandler: (text) => respondWith(200, JSON_TYPE, text.padEnd(5_121, ' ')) },
  {
    title: 'more than 5 KiB in chunks',
    createHandler: (text) =>
      respondWith(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, text.padEnd(5_121, ' ')),
  },
  {
    title: 'a body that is cut off',
    createHandler: (text) => (_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': text.length + 1 })
      response.write(text, () => response.destroy())
    },
  },
  {
    title: 'a connection that is cut before the headers',
    createHandler: () => (request) => void request.socket.destroy(),
  },
  { title: 'text that is not HTTP', createHandler: (text) => (request) => void request.socket.end(text) },
  { title: 'an empty body', createHandler: () => respondWith(200, JSON_TYPE, '') },
  { title: 'text that is not JSON', createHandler: () => respondWith(200, JSON_TYPE, CANARY) },
  { title: 'a list with the document', createHandler: (text) => respondWith(200, JSON_TYPE, `[${text}]`) },
  { title: 'text after the JSON', createHandler: (text) => respondWith(200, JSON_TYPE, `${text}{}`) },
  // In Latin-1, `é` is a single byte, which is invalid in UTF-8.
  {
    title: 'bytes that are not UTF-8',
    createHandler: (text) => respondWith(200, JSON_TYPE, Buffer.from(text.replace('Canary', 'é'), 'latin1')),
  },
  {
    title: 'a member that is named twice',
    createHandler: (text) =>
      respondWith(200, JSON_TYPE, text.replace('{', `{"client_id":"https://${CANARY}.example/",`)),
  },
  {
    title: 'a member __proto__',
    createHandler: (text) => respondWith(200, JSON_TYPE, text.replace('{', '{"__proto__":{},')),
  },
  {
    title: 'deep nesting',
    createHandler: (text) =>
      respondWith(200, JSON_TYPE, text.replace('{', `{"x":${'['.repeat(1_000)}${']'.repeat(1_000)},`)),
  },
]

/** Values of `client_id` that are not the URL of the document. */
const FOREIGN_CLIENT_IDS: readonly (readonly [title: string, change: (url: string) => unknown])[] = [
  ['absent', () => undefined],
  ['a list with the URL', (url) => [url]],
  ['the URL of another document', (url) => `${url}x`],
  ['the URL with another host', (url) => url.replace('agents.', '')],
  ['the URL with a host in capitals', (url) => url.replace('agents', 'AGENTS')],
  [
    'the URL with percent-encoding',
    (url) => url.replace(/[^/](?=[^/]*$)/, (character) => `%${character.charCodeAt(0).toString(16)}`),
  ],
  ['the id of a registered agent', () => `agt_${'A'.repeat(22)}`],
]

type InvalidMember = readonly [title: string, member: string, changes: () => Record<string, unknown>]

/** Mistakes in a document that names its own URL. The response names the member. */
const INVALID_MEMBERS: readonly InvalidMember[] = [
  ['no method', 'token_endpoint_auth_method', () => ({ token_endpoint_auth_method: undefined })],
  ...['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt'].map(
    (method): InvalidMember => [
      `the method ${method}`,
      'token_endpoint_auth_method',
      () => ({ token_endpoint_auth_method: method }),
    ],
  ),
  ['a secret', 'client_secret', () => ({ client_secret: CANARY })],
  ['other grant types', 'grant_types', () => ({ grant_types: ['authorization_code'] })],
  ['no grant types', 'grant_types', () => ({ grant_types: undefined })],
  [
    'dpop_bound_access_tokens as text',
    'dpop_bound_access_tokens',
    () => ({ dpop_bound_access_tokens: CANARY }),
  ],
  ['no keys', 'jwks', () => ({ jwks: undefined })],
  ['an empty key set', 'jwks', () => ({ jwks: { keys: [] } })],
  // A client may have at most three keys.
  [
    'four keys',
    'jwks',
    () => ({ jwks: { keys: [1, 2, 3, 4].map((kid) => ({ ...key.jwk, kid: `${kid}` })) } }),
  ],
  ['a private key', 'jwks', () => ({ jwks: { keys: [key.jwk, privateJwk] } })],
  ['a symmetric key', 'jwks', () => ({ jwks: { keys: [key.jwk, { kty: 'oct', k: CANARY }] } })],
  ['a point that is not on the curve', 'jwks', () => ({ jwks: { keys: [{ ...key.jwk, y: key.jwk.x }] } })],
  ['keys of another origin', 'jwks_uri', () => ({ jwks: undefined, jwks_uri: 'https://keys.example/jwks' })],
  ['keys both in jwks and at jwks_uri', 'jwks_uri', () => ({ jwks_uri: 'https://agents.clients.test/jwks' })],
]

describe('nothing is stored, and no token is issued, when the document', () => {
  /**
   * Checks that a token request is refused after one fetch and stores no agent. Also checks that another client gets a token
   * with the same key and a valid document.
   */
  async function expectNoToken(agent: UrlAgent, refusal: Refusal): Promise<void> {
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), refusal)
    expect(agent.countFetches()).toBe(1)
    const { rowCount } = await testbed.db.query('select from agents where id = $1', [agent.client_id])
    expect(rowCount).toBe(0)
    const response = await requestUrlToken(auth, agentDocuments.publish([key]), clock)
    expect(response.status, response.text).toBe(200)
  }

  test.for(UNUSABLE_RESPONSES)('is replaced with $title', async ({ createHandler }) => {
    const agent = agentDocuments.publish([key])
    agent.setHandler(createHandler(JSON.stringify(createDocument(agent.client_id, [key]))))
    await expectNoToken(agent, UNUSABLE)
  })

  test.for(FOREIGN_CLIENT_IDS)('has a client_id that is %s', async ([, change]) => {
    const agent = agentDocuments.publish([key])
    agent.setDocument({ ...createDocument(agent.client_id, [key]), client_id: change(agent.client_id) })
    await expectNoToken(agent, UNUSABLE)
  })

  test.for(INVALID_MEMBERS)('has %s (%s)', async ([, member, changes]) => {
    const agent = agentDocuments.publish([key])
    agent.setDocument({ ...createDocument(agent.client_id, [key]), ...changes() })
    await expectNoToken(agent, createMemberRefusal(member))
  })
})
