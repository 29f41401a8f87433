import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { AgentId } from '@plainpath/domain'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type CertificateAuthority,
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
import type { FetchFault } from './fetch-json.ts'

const NAME = 'agent.example.org'
const DAY_MS = 86_400_000
const resources = new AsyncDisposableStack()
let authority: CertificateAuthority
let host: DocumentHost
let key: JWK
let privateKey: JWK
beforeAll(async () => {
  authority = await openCertificateAuthority()
  host = resources.use(await startDocumentHost(await authority.issue([NAME])))
  const pair = await generateKeyPair('ES256', { extractable: true })
  key = await exportJWK(pair.publicKey)
  privateKey = await exportJWK(pair.privateKey)
})
afterAll(() => resources.disposeAsync())

let paths = 0
/** Serves a document that is accepted. */
function serveDocument(from: DocumentHost = host, changes: object = {}): AgentId {
  const url = from.url(NAME, `/client-${(paths += 1)}.json`)
  from.serve(new URL(url).pathname, respondJson({ ...clientDocument(url, [key]), ...changes }))
  return url
}

/** Fetches with a fetcher of its own; the host of the URL is a test host unless the options say otherwise. */
async function fetchDocument(url: string, options: Partial<DocumentFetcherOptions> = {}) {
  const outcomes: DocumentOutcome[] = []
  const fetcher = createClientDocumentFetcher({
    testHosts: [new URL(url).host],
    ca: authority.pem,
    now: () => new Date(),
    onOutcome: (outcome) => outcomes.push(outcome),
    ...options,
  })
  return { result: await fetcher.fetch(url as AgentId, '198.51.100.7', { isNew: true }), outcomes }
}

const refusal = (outcome: FetchFault) => ({
  result: { ok: false, error: { kind: 'unusable' } },
  outcomes: [outcome],
})
const accepted = expect.objectContaining({ outcomes: ['fetched'] })

describe('refuses a URL before resolving its host:', () => {
  const resolved: string[] = []
  const resolve = (name: string) => {
    resolved.push(name)
    return Promise.resolve(['127.0.0.1'])
  }
  test.for<[why: string, url: string]>([
    ['http', 'http://agent.example.org/client.json'],
    ['user', 'https://user@agent.example.org/client.json'],
    ['password', 'https://:password@agent.example.org/client.json'],
    ['fragment', 'https://agent.example.org/client.json#x'],
    ['another port', 'https://agent.example.org:8443/client.json'],
    ['port 80', 'https://agent.example.org:80/client.json'],
    ['loopback', 'https://127.0.0.1/client.json'],
    ['a public address, which proves no domain', 'https://8.8.8.8/client.json'],
    ['IPv6', 'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/client.json'],
    ['IPv4-mapped', 'https://[::ffff:127.0.0.1]/client.json'],
    ['an address as one number', 'https://2130706433/client.json'],
    ['octal', 'https://0177.0.0.1/client.json'],
    ['one label', 'https://localhost/client.json'],
    ['a final dot', 'https://agent.example.org./client.json'],
    ['an empty label', 'https://agent..org/client.json'],
    ['data', 'data:application/json,{}'],
    ['file', 'file:///etc/passwd'],
  ])('%s', async ([, url]) => {
    expect(await fetchDocument(url, { testHosts: [], resolve })).toEqual(refusal('url'))
    expect(resolved.splice(0)).toEqual([])
  })

  test('a domain name on port 443 is resolved', async () => {
    const url = 'https://agent.example.org/client.json?a=b'
    expect(await fetchDocument(url, { testHosts: [], resolve })).toEqual(refusal('address'))
    expect(resolved.splice(0)).toEqual(['agent.example.org'])
  })

  test('a test host is one port of one name only', async () => {
    const url = serveDocument()
    expect(await fetchDocument(url, { testHosts: [`${NAME}:${host.port + 1}`] })).toEqual(refusal('url'))
    expect(await fetchDocument(url, { testHosts: [`www.${NAME}:${host.port}`] })).toEqual(refusal('url'))
    expect(await fetchDocument(url)).toEqual(accepted)
  })
})

describe('refuses a host with an address that is not public, without connecting:', () => {
  test.for([
    ['127.0.0.1'],
    ['::1'],
    ['10.0.0.1'],
    ['172.16.0.1'],
    ['192.168.0.1'],
    ['169.254.169.254'],
    ['fe80::1'],
    ['fd00:ec2::254'],
    ['100.64.0.1'],
    ['224.0.0.1'],
    ['ff02::1'],
    ['0.0.0.0'],
    ['::'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['64:ff9b::808:808'],
    ['2002:7f00:1::1'],
    ['2001::1'],
    ['203.0.113.7'],
    ['8.8.8.8', '10.0.0.1'],
    ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', '8.8.8.8', '::1'],
  ])('%s %s %s', async (addresses) => {
    const url = `https://${NAME}/client.json`
    const options = { testHosts: [], resolve: () => Promise.resolve(addresses) }
    expect(await fetchDocument(url, options)).toEqual(refusal('address'))
  })

  test('connects to a test host at loopback addresses only', async () => {
    const url = serveDocument()
    for (const addresses of [['10.0.0.1'], ['8.8.8.8'], ['127.0.0.1', '8.8.8.8']])
      expect(await fetchDocument(url, { resolve: () => Promise.resolve(addresses) })).toEqual(
        refusal('address'),
      )
    expect(await fetchDocument(url, { resolve: () => Promise.resolve(['127.0.0.1']) })).toEqual(accepted)
  })
})

test('connects to the address that it checked, also when a later look-up returns another', async () => {
  const certificate = await authority.issue([NAME])
  await using elsewhere = await startDocumentHost(certificate, { address: '127.0.0.2', port: host.port })
  const url = serveDocument()
  const sequence = [['127.0.0.1'], ['127.0.0.2'], ['10.0.0.1']]
  const resolved: string[] = []
  const resolve = (name: string) => {
    resolved.push(name)
    return Promise.resolve(sequence.shift() ?? [])
  }
  expect(await fetchDocument(url, { resolve })).toEqual(accepted)
  expect([resolved, elsewhere.requests]).toEqual([[NAME], []])
  expect(await fetchDocument(url, { resolve })).toEqual(refusal('status'))
  expect(elsewhere.requests).toHaveLength(1)
})

describe('refuses a name that does not resolve:', () => {
  test.for<[why: string, resolve: () => Promise<string[]>]>([
    ['no addresses', () => Promise.resolve([])],
    ['a failure', () => Promise.reject(new Error('Canary-7f3'))],
  ])('%s', async ([, resolve]) => {
    const url = serveDocument()
    expect(await fetchDocument(url, { resolve })).toEqual(refusal('name'))
    expect(await fetchDocument(url)).toEqual(accepted)
  })
})

describe('refuses a certificate:', () => {
  const day = (days: number) => new Date(Date.now() + days * DAY_MS)
  test.for([
    ['of another name', () => authority.issue([`www.${NAME}`, 'example.org'])],
    ['for the IP address', () => authority.issue(['127.0.0.1'])],
    ['that expired', () => authority.issue([NAME], { from: day(-3), until: day(-1) })],
    ['that is not valid yet', () => authority.issue([NAME], { from: day(1), until: day(3) })],
    ['of another authority', async () => (await openCertificateAuthority()).issue([NAME])],
  ] as const)('%s', async ([, issue]) => {
    await using hostile = await startDocumentHost(await issue())
    await using honest = await startDocumentHost(await authority.issue([`*.example.org`]))
    expect(await fetchDocument(serveDocument(hostile))).toEqual(refusal('connection'))
    expect(hostile.requests).toEqual([])
    expect(await fetchDocument(serveDocument(honest))).toEqual(accepted)
  })

  test('by default, from the authority of this test', async () => {
    expect(await fetchDocument(serveDocument(), { ca: undefined })).toEqual(refusal('connection'))
  })

  test('also when the environment trusts every certificate', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      expect(await fetchDocument(serveDocument(), { ca: undefined })).toEqual(refusal('connection'))
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })
})

/** A server without TLS; `respond` gets each connection. */
async function startRawServer(respond: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    respond(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://${NAME}:${(server.address() as AddressInfo).port}/client.json`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

test('refuses a server without TLS, and a port that nothing listens on', async () => {
  let url: string
  {
    await using plain = await startRawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    url = plain.url
    expect(await fetchDocument(url)).toEqual(refusal('connection'))
  }
  expect(await fetchDocument(url)).toEqual(refusal('connection'))
})

test('gives up a slow step after two seconds, and closes its connection', async () => {
  await using silent = await startRawServer(() => {})
  const closed: Promise<unknown>[] = []
  const headers = serveDocument()
  const withoutEnd = serveDocument()
  const body = serveDocument()
  host.serve(new URL(headers).pathname, (_request, response) => void closed.push(once(response, 'close')))
  host.serve(new URL(withoutEnd).pathname, (request, response) => {
    const drip = setInterval(() => request.socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20)
    closed.push(once(response, 'close').finally(() => clearInterval(drip)))
  })
  host.serve(new URL(body).pathname, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 20)
    closed.push(once(response, 'close').finally(() => clearInterval(drip)))
  })
  const startedAt = performance.now()
  const neverResolves = () => new Promise<never>(() => {})
  const results = await Promise.all([
    fetchDocument(silent.url),
    fetchDocument(headers),
    fetchDocument(withoutEnd),
    fetchDocument(body),
    fetchDocument(serveDocument(), { resolve: neverResolves }),
  ])
  expect(performance.now() - startedAt).toBeGreaterThan(1_900)
  expect(results).toEqual(Array.from({ length: 5 }, () => refusal('timeout')))
  expect(closed).toHaveLength(3)
  await Promise.all(closed)
})

test('the connection is closed as soon as a response is refused', async () => {
  const url = serveDocument()
  let closed: Promise<unknown> | undefined
  host.serve(new URL(url).pathname, (_request, response) => {
    closed = once(response, 'close')
    response.writeHead(404).write('Canary')
  })
  const startedAt = performance.now()
  expect(await fetchDocument(url)).toEqual(refusal('status'))
  await closed
  expect(performance.now() - startedAt).toBeLessThan(1_900)
})

describe('jwks_uri', () => {
  const serveWithKeysAt = (uri: string) => serveDocument(host, { jwks: undefined, jwks_uri: uri })
  const newKeysUrl = () => host.url(NAME, `/keys-${(paths += 1)}`)

  test.for<[why: string, uri: (origin: string) => unknown]>([
    ['another host', (origin) => `${origin.replace('agent', 'keys')}/keys`],
    ['another port', (origin) => `${origin.replace(/:\d+$/, '')}/keys`],
    ['http', (origin) => `${origin.replace('https', 'http')}/keys`],
    ['a user', (origin) => `${origin.replace('//', '//user@')}/keys`],
    ['a fragment', (origin) => `${origin}/keys#x`],
    ['an empty fragment', (origin) => `${origin}/keys#`],
    ['a relative URL', () => '/keys'],
    ['dot segments', (origin) => `${origin}/a/../keys`],
    ['data', () => 'data:application/json,{"keys":[]}'],
    ['no text', () => 1],
    ['null', () => null],
  ])('of %s is refused by name, and not fetched', async ([, uri]) => {
    const url = serveDocument(host, { jwks: undefined, jwks_uri: uri(`https://${NAME}:${host.port}`) })
    const before = host.requests.length
    expect(await fetchDocument(url)).toMatchObject({
      result: { ok: false, error: { kind: 'member', member: 'jwks_uri' } },
      outcomes: ['member'],
    })
    expect(host.requests.length - before).toBe(1)
  })

  test.for<[why: string, outcome: FetchFault, respond: Parameters<DocumentHost['serve']>[1]]>([
    ['a redirect', 'status', (_request, response) => response.writeHead(302, { location: '/' }).end()],
    [
      'another type',
      'type',
      (_request, response) => response.setHeader('content-type', 'text/html').end('{}'),
    ],
    ['more than 5 KiB', 'size', respondJson({ keys: [], x: 'x'.repeat(5_200) })],
    [
      'no JSON',
      'json',
      (_request, response) => response.setHeader('content-type', 'application/json').end('Canary'),
    ],
  ])('that leads to %s is refused without a word about it', async ([, outcome, respond]) => {
    const uri = newKeysUrl()
    host.serve(new URL(uri).pathname, respond)
    expect(await fetchDocument(serveWithKeysAt(uri))).toEqual(refusal(outcome))
    host.serve(
      new URL(uri).pathname,
      respondJson({ keys: [key] }, { 'content-type': 'application/jwk-set+json' }),
    )
    expect(await fetchDocument(serveWithKeysAt(uri))).toEqual(accepted)
  })

  test('is not fetched from an address that the host has meanwhile and that is not public', async () => {
    const uri = newKeysUrl()
    host.serve(new URL(uri).pathname, respondJson({ keys: [key] }))
    const sequence = [['127.0.0.1'], ['10.0.0.1']]
    const resolve = () => Promise.resolve(sequence.shift() ?? ['127.0.0.1'])
    expect(await fetchDocument(serveWithKeysAt(uri), { resolve })).toEqual(refusal('address'))
    expect(await fetchDocument(serveWithKeysAt(uri), { resolve })).toEqual(accepted)
  })

  test('with a private key is refused by name', async () => {
    const uri = newKeysUrl()
    host.serve(new URL(uri).pathname, respondJson({ keys: [privateKey] }))
    const { result } = await fetchDocument(serveWithKeysAt(uri))
    expect(result).toMatchObject({ ok: false, error: { kind: 'member', member: 'jwks_uri' } })
    expect(JSON.stringify(result)).not.toContain(privateKey.d)
  })

  test('makes the shorter lifetime of both count', async () => {
    for (const [ofDocument, ofKeys, lifetimeMs] of [
      [7_200, 600, 600_000],
      [600, 7_200, 600_000],
    ] as const) {
      const uri = newKeysUrl()
      host.serve(
        new URL(uri).pathname,
        respondJson({ keys: [key] }, { 'cache-control': `max-age=${ofKeys}` }),
      )
      const url = host.url(NAME, `/client-${(paths += 1)}.json`)
      const document = { ...clientDocument(url, []), jwks: undefined, jwks_uri: uri }
      host.serve(new URL(url).pathname, respondJson(document, { 'cache-control': `max-age=${ofDocument}` }))
      expect((await fetchDocument(url)).result).toMatchObject({ ok: true, value: { lifetimeMs } })
    }
  })
})
