import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { AgentId } from '@plainpath/domain'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createCertificateAuthority,
  createClientDocument,
  createJsonHandler,
  type DocumentHost,
  startDocumentHost,
} from '../../test/document-host.ts'
import {
  createClientDocumentFetcher,
  type DocumentFetcherOptions,
  type DocumentOutcome,
} from './document-fetcher.ts'

const NAME = 'agent.example.org'
const CALLER = '198.51.100.7'
const resources = new AsyncDisposableStack()
let ca: string
let host: DocumentHost
let key: JWK
let ed25519Key: JWK
let privateKey: JWK
beforeAll(async () => {
  const authority = await createCertificateAuthority()
  ca = authority.pem
  host = resources.use(await startDocumentHost(await authority.issue([NAME])))
  const pair = await generateKeyPair('ES256', { extractable: true })
  key = await exportJWK(pair.publicKey)
  privateKey = await exportJWK(pair.privateKey)
  ed25519Key = await exportJWK((await generateKeyPair('Ed25519', { extractable: true })).publicKey)
})
afterAll(() => resources.disposeAsync())

let pathCount = 0
const createUrl = () => host.getUrl(NAME, `/client-${(pathCount += 1)}.json`)
const getPath = (url: string) => new URL(url).pathname

/** Fetches with a new fetcher, because a fetcher remembers failures. */
async function fetchDocument(url: AgentId, options: Partial<DocumentFetcherOptions> = {}) {
  const outcomes: DocumentOutcome[] = []
  const fetcher = createClientDocumentFetcher({
    testHosts: [new URL(url).host],
    ca,
    now: () => new Date(),
    onOutcome: (outcome) => outcomes.push(outcome),
    ...options,
  })
  const result = await fetcher.fetch(url, CALLER, { isNew: true })
  // Except for the keys, the result contains no text of the document.
  expect(JSON.stringify(result.ok ? { ...result.value, keys: [] } : result).toLowerCase()).not.toContain(
    'canary',
  )
  return { result, outcomes }
}

const createRefusal = (outcome: DocumentOutcome) => ({
  result: { ok: false, error: { kind: 'unusable' } },
  outcomes: [outcome],
})
const accepted = expect.objectContaining({ outcomes: ['fetched'] })

test('returns the keys of a document, whether tokens must be bound, and its lifetime', async () => {
  const url = createUrl()
  host.serve(
    getPath(url),
    createJsonHandler(createClientDocument(url, [key, { ...ed25519Key, kid: 'second' }])),
  )
  const { x, y } = key
  const kid = await calculateJwkThumbprint({ ...key })
  expect(await fetchDocument(url)).toEqual({
    outcomes: ['fetched'],
    result: {
      ok: true,
      value: {
        keys: [
          { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' },
          { kty: 'OKP', crv: 'Ed25519', x: ed25519Key.x, kid: 'second', alg: 'EdDSA', use: 'sig' },
        ],
        dpopBound: false,
        lifetimeMs: 3_600_000,
      },
    },
  })
})

type Respond = (request: IncomingMessage, response: ServerResponse) => void
/** Creates a handler that sends this response. */
const send =
  (status: number, headers: Record<string, string | number>, body: string | Buffer): Respond =>
  (_request, response) => {
    response.writeHead(status, headers).end(body)
  }
const JSON_TYPE = { 'content-type': 'application/json' }
const pad = (text: string, bytes: number) => text.padEnd(bytes, ' ')
/** Formats a valid document as JSON. */
const formatDocument = (url: string) => JSON.stringify(createClientDocument(url, [key]))

describe('refuses a response as unusable, without details:', () => {
  /** Adds a member of nested arrays. With the object around it, 15 arrays make 16 levels, the maximum. */
  const nest = (text: string, depth: number) =>
    text.replace('{', `{"x":${'['.repeat(depth)}${']'.repeat(depth)},`)
  const rows: {
    title: string
    outcome: DocumentOutcome
    /** Creates the handler for the refused response from the text of a valid document. */
    hostile: (text: string) => Respond
    /** A similar response that is accepted; by default a plain one. */
    valid?: (text: string) => Respond
  }[] = [
    ...[301, 302, 303, 307, 308].map((status) => ({
      title: `redirect with ${status}`,
      outcome: 'status' as const,
      hostile: (text: string) => send(status, { ...JSON_TYPE, location: '/moved' }, text),
      valid: (text: string) => send(200, { ...JSON_TYPE, location: '/moved' }, text),
    })),
    ...[201, 203, 206, 404, 500].map((status) => ({
      title: `status ${status}`,
      outcome: 'status' as const,
      hostile: (text: string) => send(status, JSON_TYPE, text),
    })),
    ...['text/html', 'text/json', 'application/jsonp', 'application/json+x', 'x-application/json', ''].map(
      (type) => ({
        title: `content type ${type}`,
        outcome: 'type' as const,
        hostile: (text: string) => send(200, { 'content-type': type }, text),
      }),
    ),
    {
      title: 'no content type',
      outcome: 'type',
      hostile: (text) => send(200, {}, text),
      valid: (text) => send(200, { 'content-type': 'application/client-metadata+json; charset=utf-8' }, text),
    },
    {
      title: 'gzip bomb',
      outcome: 'type',
      hostile: () => send(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(4 << 20))),
      valid: (text) => send(200, { ...JSON_TYPE, 'content-encoding': 'identity' }, text),
    },
    {
      title: 'gzip that is not declared',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, gzipSync(text)),
    },
    {
      title: 'more than 5 KiB, with content-length',
      outcome: 'size',
      hostile: (text) => send(200, { ...JSON_TYPE, 'content-length': 5121 }, pad(text, 5121)),
      valid: (text) => send(200, { ...JSON_TYPE, 'content-length': 5120 }, pad(text, 5120)),
    },
    {
      title: 'more than 5 KiB, without content-length',
      outcome: 'size',
      hostile: (text) => send(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, pad(text, 5121)),
      valid: (text) => send(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, pad(text, 5120)),
    },
    {
      title: 'headers of more than 8 KiB',
      outcome: 'connection',
      hostile: (text) => send(200, { ...JSON_TYPE, 'x-long': 'x'.repeat(10_000) }, text),
      valid: (text) => send(200, { ...JSON_TYPE, 'x-long': 'x'.repeat(1_000) }, text),
    },
    {
      title: 'body that is cut off',
      outcome: 'connection',
      hostile: (text) => (_request, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': text.length + 1 })
        response.write(text, () => response.destroy())
      },
    },
    {
      title: 'connection that is cut before the headers',
      outcome: 'connection',
      hostile: () => (request) => void request.socket.destroy(),
    },
    {
      title: 'switch to another protocol',
      outcome: 'connection',
      hostile: () => (request) =>
        void request.socket.end(
          'HTTP/1.1 101 Switching Protocols\r\nupgrade: canary-7f3\r\nconnection: upgrade\r\n\r\n',
        ),
    },
    {
      title: 'text that is not HTTP',
      outcome: 'connection',
      hostile: (text) => (request) => void request.socket.end(text),
    },
    { title: 'JSON list', outcome: 'client-id', hostile: (text) => send(200, JSON_TYPE, `[${text}]`) },
    { title: 'JSON string', outcome: 'client-id', hostile: () => send(200, JSON_TYPE, '"Canary-7f3"') },
    { title: 'JSON null', outcome: 'client-id', hostile: () => send(200, JSON_TYPE, 'null') },
    { title: 'no content', outcome: 'json', hostile: () => send(200, JSON_TYPE, '') },
    { title: 'text after the JSON', outcome: 'json', hostile: (text) => send(200, JSON_TYPE, `${text}{}`) },
    { title: 'byte order mark', outcome: 'json', hostile: (text) => send(200, JSON_TYPE, `\uFEFF${text}`) },
    {
      title: 'bytes that are not UTF-8',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, Buffer.from(text.replace('Canary', 'é'), 'latin1')),
      valid: (text) => send(200, JSON_TYPE, Buffer.from(text.replace('Canary', 'é'), 'utf8')),
    },
    {
      title: 'member named twice',
      outcome: 'json',
      hostile: (text) =>
        send(200, JSON_TYPE, text.replace('{', '{"client_id":"https://canary-7f3.example/",')),
      valid: (text) =>
        send(200, JSON_TYPE, text.replace('{', '{"client_idd":"https://canary-7f3.example/",')),
    },
    {
      title: 'deep nesting',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, nest(text, 16)),
      valid: (text) => send(200, JSON_TYPE, nest(text, 15)),
    },
    {
      title: 'member __proto__',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, text.replace('{', '{"__proto__":{"jwks":1},')),
    },
  ]
  test.for(rows)('$title', async ({ outcome, hostile, valid }) => {
    const url = createUrl()
    const validUrl = createUrl()
    host.serve('/moved', (request, response) => hostile(formatDocument(url))(request, response))
    host.serve(getPath(url), hostile(formatDocument(url)))
    const sendPlain = (text: string) => send(200, JSON_TYPE, text)
    host.serve(getPath(validUrl), (valid ?? sendPlain)(formatDocument(validUrl)))
    expect(await fetchDocument(url)).toEqual(createRefusal(outcome))
    expect(await fetchDocument(validUrl)).toEqual(accepted)
    expect(host.requests.filter((request) => request.endsWith('/moved'))).toEqual([])
  })
})

describe('refuses a document whose client_id is not exactly its URL, but', () => {
  test.for<[title: string, change: (url: string) => unknown]>([
    ['absent', () => undefined],
    ['a number', () => 1],
    ['a list that contains the URL', (url) => [url]],
    ['another path', (url) => `${url}x`],
    ['another host', (url) => url.replace(NAME, `www.${NAME}`)],
    ['another port', (url) => url.replace(/:\d+/, '')],
    ['an additional slash', (url) => `${url}/`],
    ['a final dot of the host', (url) => url.replace(NAME, `${NAME}.`)],
    ['a host in capitals', (url) => url.replace(NAME, NAME.toUpperCase())],
    ['a path in capitals', (url) => url.replace('client', 'CLIENT')],
    ['percent-encoding', (url) => url.replace('/client', '/%63lient')],
    ['a query', (url) => `${url}?`],
    ['a fragment', (url) => `${url}#x`],
    ['a space', (url) => `${url} `],
    ['the id of a registered agent', () => `agt_${'A'.repeat(22)}`],
  ])('%s', async ([, change]) => {
    const url = createUrl()
    const document = createClientDocument(url, [key])
    host.serve(getPath(url), createJsonHandler({ ...document, client_id: change(url) }))
    expect(await fetchDocument(url)).toEqual(createRefusal('client-id'))
    host.serve(getPath(url), createJsonHandler({ ...document, client_id: url }))
    expect(await fetchDocument(url)).toEqual(accepted)
  })
})

describe('refuses a document, and names the invalid member:', () => {
  const createKeys = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...key, kid: `${index}` }))
  const rows: [title: string, member: string, changes: () => Record<string, unknown>][] = [
    ['no method', 'token_endpoint_auth_method', () => ({ token_endpoint_auth_method: undefined })],
    ...['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'tls_client_auth'].map(
      (method): (typeof rows)[number] => [
        `method ${method}`,
        'token_endpoint_auth_method',
        () => ({ token_endpoint_auth_method: method }),
      ],
    ),
    ['a secret', 'client_secret', () => ({ client_secret: 'Canary-7f3' })],
    ['the expiry of a secret', 'client_secret_expires_at', () => ({ client_secret_expires_at: 0 })],
    ['no grant types', 'grant_types', () => ({ grant_types: undefined })],
    ['other grant types', 'grant_types', () => ({ grant_types: ['authorization_code'] })],
    ['a string as grant types', 'grant_types', () => ({ grant_types: 'client_credentials' })],
    ['DPoP as a string', 'dpop_bound_access_tokens', () => ({ dpop_bound_access_tokens: 'Canary-7f3' })],
    ['no keys', 'jwks', () => ({ jwks: undefined })],
    ['null for keys', 'jwks', () => ({ jwks: null })],
    ['a list of keys', 'jwks', () => ({ jwks: [key] })],
    ['an empty set', 'jwks', () => ({ jwks: { keys: [] } })],
    ['a string as key', 'jwks', () => ({ jwks: { keys: ['Canary-7f3'] } })],
    ['four keys', 'jwks', () => ({ jwks: { keys: createKeys(4) } })],
    ['both jwks and jwks_uri', 'jwks_uri', () => ({ jwks_uri: `https://${NAME}/jwks` })],
    ['a private key', 'jwks', () => ({ jwks: { keys: [privateKey] } })],
    [
      'a private key beside a public one',
      'jwks',
      () => ({ jwks: { keys: [key, { ...privateKey, use: 'enc' }] } }),
    ],
    ['a symmetric key', 'jwks', () => ({ jwks: { keys: [key, { kty: 'oct', k: 'Canary-7f3' }] } })],
    [
      'only keys of other kinds',
      'jwks',
      () => ({ jwks: { keys: [{ kty: 'RSA', n: 'Canary', e: 'AQAB' }] } }),
    ],
    ['only a key for encryption', 'jwks', () => ({ jwks: { keys: [{ ...key, use: 'enc' }] } })],
    ['an algorithm of another curve', 'jwks', () => ({ jwks: { keys: [{ ...key, alg: 'EdDSA' }] } })],
    ['a point that is not on the curve', 'jwks', () => ({ jwks: { keys: [{ ...key, y: key.x }] } })],
    ['a point of small order', 'jwks', () => ({ jwks: { keys: [{ ...ed25519Key, x: 'A'.repeat(43) }] } })],
    ['a coordinate with padding', 'jwks', () => ({ jwks: { keys: [{ ...key, x: `${key.x}=` }] } })],
    [
      'an invalid key beside a valid one',
      'jwks',
      () => ({ jwks: { keys: [key, { ...ed25519Key, x: 'Canary' }] } }),
    ],
    ['a kid of 129 characters', 'jwks', () => ({ jwks: { keys: [{ ...key, kid: 'c'.repeat(129) }] } })],
    [
      'two keys with one kid',
      'jwks',
      () => ({ jwks: { keys: [key, ed25519Key].map((member) => ({ ...member, kid: 'Canary' })) } }),
    ],
    ['a certificate', 'jwks', () => ({ jwks: { keys: [{ ...key, x5u: 'https://canary-7f3.example/' }] } })],
  ]
  test.for(rows)('%s', async ([, member, changes]) => {
    const url = createUrl()
    const document = createClientDocument(url, [key])
    host.serve(getPath(url), createJsonHandler({ ...document, ...changes() }))
    const detail = expect.stringMatching(/^(must|has) /) as string
    expect(await fetchDocument(url)).toEqual({
      result: { ok: false, error: { kind: 'member', member, detail } },
      outcomes: ['member'],
    })
    host.serve(getPath(url), createJsonHandler(document))
    expect(await fetchDocument(url)).toEqual(accepted)
  })

  test('but accepts three keys beside keys for other services', async () => {
    const url = createUrl()
    const keys = [
      { kty: 'RSA', n: 'Canary', e: 'AQAB', kid: 'c'.repeat(200) },
      { ...key, use: 'enc' },
      ...createKeys(3),
    ]
    host.serve(
      getPath(url),
      createJsonHandler({ ...createClientDocument(url, keys), dpop_bound_access_tokens: true }),
    )
    const { result } = await fetchDocument(url)
    expect(result).toMatchObject({
      ok: true,
      value: { dpopBound: true, keys: [{ kid: '0' }, { kid: '1' }, { kid: '2' }] },
    })
  })
})
