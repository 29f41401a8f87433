import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { AgentId } from '@plainpath/domain'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  clientDocument,
  type DocumentHost,
  openCertificateAuthority,
  respondJson,
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
let other: JWK
let secret: JWK
beforeAll(async () => {
  const authority = await openCertificateAuthority()
  ca = authority.pem
  host = resources.use(await startDocumentHost(await authority.issue([NAME])))
  const pair = await generateKeyPair('ES256', { extractable: true })
  key = await exportJWK(pair.publicKey)
  secret = await exportJWK(pair.privateKey)
  other = await exportJWK((await generateKeyPair('Ed25519', { extractable: true })).publicKey)
})
afterAll(() => resources.disposeAsync())

let paths = 0
const newUrl = () => host.url(NAME, `/client-${(paths += 1)}.json`)
const pathOf = (url: string) => new URL(url).pathname

/** Fetches with a fetcher of its own, so that no row depends on the failure of another. */
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
  // No response contains any part of the fetched document, whatever the result.
  expect(JSON.stringify(result.ok ? { ...result.value, keys: [] } : result).toLowerCase()).not.toContain(
    'canary',
  )
  return { result, outcomes }
}

const refusal = (outcome: DocumentOutcome) => ({
  result: { ok: false, error: { kind: 'unusable' } },
  outcomes: [outcome],
})
const accepted = expect.objectContaining({ outcomes: ['fetched'] })

test('fetches a document with a key, and stores only the members that it needs', async () => {
  const url = newUrl()
  host.serve(pathOf(url), respondJson(clientDocument(url, [key, { ...other, kid: 'second' }])))
  const { x, y } = key
  const kid = await calculateJwkThumbprint({ ...key })
  expect(await fetchDocument(url)).toEqual({
    outcomes: ['fetched'],
    result: {
      ok: true,
      value: {
        keys: [
          { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' },
          { kty: 'OKP', crv: 'Ed25519', x: other.x, kid: 'second', alg: 'EdDSA', use: 'sig' },
        ],
        dpopBound: false,
        lifetimeMs: 3_600_000,
      },
    },
  })
})

type Respond = (request: IncomingMessage, response: ServerResponse) => void
const send =
  (status: number, headers: Record<string, string | number>, body: string | Buffer): Respond =>
  (_request, response) => {
    response.writeHead(status, headers).end(body)
  }
const JSON_TYPE = { 'content-type': 'application/json' }
const padded = (text: string, bytes: number) => text.padEnd(bytes, ' ')
/** The document as text; the rows change how it is sent. */
const textFor = (url: string) => JSON.stringify(clientDocument(url, [key]))

describe('a response is refused without a word about it:', () => {
  const nested = (text: string, depth: number) =>
    text.replace('{', `{"x":${'['.repeat(depth)}${']'.repeat(depth)},`)
  const rows: {
    why: string
    outcome: DocumentOutcome
    hostile: (text: string) => Respond
    /** As the hostile one, but for what is wrong with it. */
    twin?: (text: string) => Respond
  }[] = [
    ...[301, 302, 303, 307, 308].map((status) => ({
      why: `redirect with ${status}`,
      outcome: 'status' as const,
      hostile: (text: string) => send(status, { ...JSON_TYPE, location: '/moved' }, text),
      twin: (text: string) => send(200, { ...JSON_TYPE, location: '/moved' }, text),
    })),
    ...[201, 203, 206, 404, 500].map((status) => ({
      why: `status ${status}`,
      outcome: 'status' as const,
      hostile: (text: string) => send(status, JSON_TYPE, text),
    })),
    ...['text/html', 'text/json', 'application/jsonp', 'application/json+x', 'x-application/json', ''].map(
      (type) => ({
        why: `content type ${type}`,
        outcome: 'type' as const,
        hostile: (text: string) => send(200, { 'content-type': type }, text),
      }),
    ),
    {
      why: 'no content type',
      outcome: 'type',
      hostile: (text) => send(200, {}, text),
      twin: (text) => send(200, { 'content-type': 'application/client-metadata+json; charset=utf-8' }, text),
    },
    {
      why: 'gzip bomb',
      outcome: 'type',
      hostile: () => send(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(4 << 20))),
      twin: (text) => send(200, { ...JSON_TYPE, 'content-encoding': 'identity' }, text),
    },
    {
      why: 'gzip that is not declared',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, gzipSync(text)),
    },
    {
      why: 'more than 5 KiB, with content-length',
      outcome: 'size',
      hostile: (text) => send(200, { ...JSON_TYPE, 'content-length': 5121 }, padded(text, 5121)),
      twin: (text) => send(200, { ...JSON_TYPE, 'content-length': 5120 }, padded(text, 5120)),
    },
    {
      why: 'more than 5 KiB, without content-length',
      outcome: 'size',
      hostile: (text) => send(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, padded(text, 5121)),
      twin: (text) => send(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, padded(text, 5120)),
    },
    {
      why: 'headers without an end',
      outcome: 'connection',
      hostile: (text) => send(200, { ...JSON_TYPE, 'x-long': 'x'.repeat(10_000) }, text),
      twin: (text) => send(200, { ...JSON_TYPE, 'x-long': 'x'.repeat(1_000) }, text),
    },
    {
      why: 'body that is cut off',
      outcome: 'connection',
      hostile: (text) => (_request, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': text.length + 1 })
        response.write(text, () => response.destroy())
      },
    },
    {
      why: 'connection that is cut before the headers',
      outcome: 'connection',
      hostile: () => (request) => void request.socket.destroy(),
    },
    {
      why: 'switch to another protocol',
      outcome: 'connection',
      hostile: () => (request) =>
        void request.socket.end(
          'HTTP/1.1 101 Switching Protocols\r\nupgrade: canary-7f3\r\nconnection: upgrade\r\n\r\n',
        ),
    },
    {
      why: 'text that is not HTTP',
      outcome: 'connection',
      hostile: (text) => (request) => void request.socket.end(text),
    },
    { why: 'list', outcome: 'client-id', hostile: (text) => send(200, JSON_TYPE, `[${text}]`) },
    { why: 'text', outcome: 'client-id', hostile: () => send(200, JSON_TYPE, '"Canary-7f3"') },
    { why: 'null', outcome: 'client-id', hostile: () => send(200, JSON_TYPE, 'null') },
    { why: 'no content', outcome: 'json', hostile: () => send(200, JSON_TYPE, '') },
    { why: 'text after the JSON', outcome: 'json', hostile: (text) => send(200, JSON_TYPE, `${text}{}`) },
    { why: 'byte order mark', outcome: 'json', hostile: (text) => send(200, JSON_TYPE, `\uFEFF${text}`) },
    {
      why: 'bytes that are not UTF-8',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, Buffer.from(text.replace('Canary', 'é'), 'latin1')),
      twin: (text) => send(200, JSON_TYPE, Buffer.from(text.replace('Canary', 'é'), 'utf8')),
    },
    {
      why: 'member named twice',
      outcome: 'json',
      hostile: (text) =>
        send(200, JSON_TYPE, text.replace('{', '{"client_id":"https://canary-7f3.example/",')),
      twin: (text) => send(200, JSON_TYPE, text.replace('{', '{"client_idd":"https://canary-7f3.example/",')),
    },
    {
      why: 'deep nesting',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, nested(text, 16)),
      twin: (text) => send(200, JSON_TYPE, nested(text, 15)),
    },
    {
      why: 'member __proto__',
      outcome: 'json',
      hostile: (text) => send(200, JSON_TYPE, text.replace('{', '{"__proto__":{"jwks":1},')),
    },
  ]
  test.for(rows)('$why', async ({ outcome, hostile, twin }) => {
    const [url, twinUrl] = [newUrl(), newUrl()]
    host.serve('/moved', (request, response) => hostile(textFor(url))(request, response))
    host.serve(pathOf(url), hostile(textFor(url)))
    host.serve(pathOf(twinUrl), (twin ?? ((text) => send(200, JSON_TYPE, text)))(textFor(twinUrl)))
    expect(await fetchDocument(url)).toEqual(refusal(outcome))
    expect(await fetchDocument(twinUrl)).toEqual(accepted)
    expect(host.requests.filter((request) => request.endsWith('/moved'))).toEqual([])
  })
})

describe('a client_id that is not the URL, character by character, proves nothing:', () => {
  test.for<[why: string, change: (url: string) => unknown]>([
    ['absent', () => undefined],
    ['a number', () => 1],
    ['a list of it', (url) => [url]],
    ['another path', (url) => `${url}x`],
    ['another host', (url) => url.replace(NAME, `www.${NAME}`)],
    ['another port', (url) => url.replace(/:\d+/, '')],
    ['a slash more', (url) => `${url}/`],
    ['a final dot of the host', (url) => url.replace(NAME, `${NAME}.`)],
    ['a host in capitals', (url) => url.replace(NAME, NAME.toUpperCase())],
    ['a path in capitals', (url) => url.replace('client', 'CLIENT')],
    ['percent-encoding', (url) => url.replace('/client', '/%63lient')],
    ['a query', (url) => `${url}?`],
    ['a fragment', (url) => `${url}#x`],
    ['a space', (url) => `${url} `],
    ['a registered agent', () => `agt_${'A'.repeat(22)}`],
  ])('%s', async ([, change]) => {
    const url = newUrl()
    const document = clientDocument(url, [key])
    host.serve(pathOf(url), respondJson({ ...document, client_id: change(url) }))
    expect(await fetchDocument(url)).toEqual(refusal('client-id'))
    host.serve(pathOf(url), respondJson({ ...document, client_id: url }))
    expect(await fetchDocument(url)).toEqual(accepted)
  })
})

describe('a document of the client is refused with the name of the member:', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...key, kid: `${index}` }))
  const rows: [why: string, member: string, changes: () => Record<string, unknown>][] = [
    ['no method', 'token_endpoint_auth_method', () => ({ token_endpoint_auth_method: undefined })],
    ...['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'tls_client_auth'].map(
      (method): (typeof rows)[number] => [
        `method ${method}`,
        'token_endpoint_auth_method',
        () => ({ token_endpoint_auth_method: method }),
      ],
    ),
    ['a secret', 'client_secret', () => ({ client_secret: 'Canary-7f3' })],
    ['the end of a secret', 'client_secret_expires_at', () => ({ client_secret_expires_at: 0 })],
    ['no grant types', 'grant_types', () => ({ grant_types: undefined })],
    ['other grant types', 'grant_types', () => ({ grant_types: ['authorization_code'] })],
    ['grant types as text', 'grant_types', () => ({ grant_types: 'client_credentials' })],
    ['DPoP as text', 'dpop_bound_access_tokens', () => ({ dpop_bound_access_tokens: 'Canary-7f3' })],
    ['no keys', 'jwks', () => ({ jwks: undefined })],
    ['null for keys', 'jwks', () => ({ jwks: null })],
    ['a list of keys', 'jwks', () => ({ jwks: [key] })],
    ['an empty set', 'jwks', () => ({ jwks: { keys: [] } })],
    ['text for a key', 'jwks', () => ({ jwks: { keys: ['Canary-7f3'] } })],
    ['four keys', 'jwks', () => ({ jwks: { keys: many(4) } })],
    ['keys twice', 'jwks_uri', () => ({ jwks_uri: `https://${NAME}/jwks` })],
    ['a private key', 'jwks', () => ({ jwks: { keys: [secret] } })],
    [
      'a private key beside a public one',
      'jwks',
      () => ({ jwks: { keys: [key, { ...secret, use: 'enc' }] } }),
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
    ['a point of small order', 'jwks', () => ({ jwks: { keys: [{ ...other, x: 'A'.repeat(43) }] } })],
    ['a coordinate with padding', 'jwks', () => ({ jwks: { keys: [{ ...key, x: `${key.x}=` }] } })],
    [
      'an invalid key beside a valid one',
      'jwks',
      () => ({ jwks: { keys: [key, { ...other, x: 'Canary' }] } }),
    ],
    ['a kid of 129 characters', 'jwks', () => ({ jwks: { keys: [{ ...key, kid: 'c'.repeat(129) }] } })],
    [
      'two keys with one kid',
      'jwks',
      () => ({ jwks: { keys: [key, other].map((each) => ({ ...each, kid: 'Canary' })) } }),
    ],
    ['a certificate', 'jwks', () => ({ jwks: { keys: [{ ...key, x5u: 'https://canary-7f3.example/' }] } })],
  ]
  test.for(rows)('%s', async ([, member, changes]) => {
    const url = newUrl()
    const document = clientDocument(url, [key])
    host.serve(pathOf(url), respondJson({ ...document, ...changes() }))
    const detail = expect.stringMatching(/^(must|has) /) as string
    expect(await fetchDocument(url)).toEqual({
      result: { ok: false, error: { kind: 'member', member, detail } },
      outcomes: ['member'],
    })
    host.serve(pathOf(url), respondJson(document))
    expect(await fetchDocument(url)).toEqual(accepted)
  })

  test('three keys are accepted beside those of other services', async () => {
    const url = newUrl()
    const keys = [
      { kty: 'RSA', n: 'Canary', e: 'AQAB', kid: 'c'.repeat(200) },
      { ...key, use: 'enc' },
      ...many(3),
    ]
    host.serve(pathOf(url), respondJson({ ...clientDocument(url, keys), dpop_bound_access_tokens: true }))
    const { result } = await fetchDocument(url)
    expect(result).toMatchObject({
      ok: true,
      value: { dpopBound: true, keys: [{ kid: '0' }, { kid: '1' }, { kid: '2' }] },
    })
  })
})
