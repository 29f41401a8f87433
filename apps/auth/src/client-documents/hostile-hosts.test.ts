import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { AgentId } from '@plainpath/domain'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type CertificateAuthority,
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
import type { FetchFault } from './fetch-json.ts'

const NAME = 'agent.example.org'
const DAY_MS = 86_400_000
const resources = new AsyncDisposableStack()
let authority: CertificateAuthority
let host: DocumentHost
let key: JWK
let privateKey: JWK
beforeAll(async () => {
  authority = await createCertificateAuthority()
  host = resources.use(await startDocumentHost(await authority.issue([NAME])))
  const pair = await generateKeyPair('ES256', { extractable: true })
  key = await exportJWK(pair.publicKey)
  privateKey = await exportJWK(pair.privateKey)
})
afterAll(() => resources.disposeAsync())

let pathCount = 0
/** Serves a valid document, with `changes`. */
function serveDocument(from: DocumentHost = host, changes: object = {}): AgentId {
  const url = from.getUrl(NAME, `/client-${(pathCount += 1)}.json`)
  from.serve(new URL(url).pathname, createJsonHandler({ ...createClientDocument(url, [key]), ...changes }))
  return url
}

/** Fetches with a new fetcher, for which the host of the URL is a test host by default. */
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

const createRefusal = (outcome: FetchFault) => ({
  result: { ok: false, error: { kind: 'unusable' } },
  outcomes: [outcome],
})
const accepted = expect.objectContaining({ outcomes: ['fetched'] })

describe('refuses a URL before resolving its host:', () => {
  const resolvedNames: string[] = []
  const resolve = (name: string) => {
    resolvedNames.push(name)
    return Promise.resolve(['127.0.0.1'])
  }
  test.for<[title: string, url: string]>([
    ['the http scheme', 'http://agent.example.org/client.json'],
    ['a user', 'https://user@agent.example.org/client.json'],
    ['a password', 'https://:password@agent.example.org/client.json'],
    ['a fragment', 'https://agent.example.org/client.json#x'],
    ['another port', 'https://agent.example.org:8443/client.json'],
    ['port 80', 'https://agent.example.org:80/client.json'],
    ['a loopback address', 'https://127.0.0.1/client.json'],
    ['a public address, which proves no domain', 'https://8.8.8.8/client.json'],
    ['an IPv6 address', 'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/client.json'],
    ['an IPv4-mapped address', 'https://[::ffff:127.0.0.1]/client.json'],
    ['an address as one number', 'https://2130706433/client.json'],
    ['an octal address', 'https://0177.0.0.1/client.json'],
    ['one label', 'https://localhost/client.json'],
    ['a final dot', 'https://agent.example.org./client.json'],
    ['an empty label', 'https://agent..org/client.json'],
    ['a data URL', 'data:application/json,{}'],
    ['a file URL', 'file:///etc/passwd'],
  ])('%s', async ([, url]) => {
    expect(await fetchDocument(url, { testHosts: [], resolve })).toEqual(createRefusal('url'))
    expect(resolvedNames.splice(0)).toEqual([])
  })

  test('but resolves a domain name on port 443', async () => {
    const url = 'https://agent.example.org/client.json?a=b'
    expect(await fetchDocument(url, { testHosts: [], resolve })).toEqual(createRefusal('address'))
    expect(resolvedNames.splice(0)).toEqual(['agent.example.org'])
  })

  test('a test host with another port or another name', async () => {
    const url = serveDocument()
    expect(await fetchDocument(url, { testHosts: [`${NAME}:${host.port + 1}`] })).toEqual(
      createRefusal('url'),
    )
    expect(await fetchDocument(url, { testHosts: [`www.${NAME}:${host.port}`] })).toEqual(
      createRefusal('url'),
    )
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
    expect(await fetchDocument(url, options)).toEqual(createRefusal('address'))
  })

  test('a test host with an address that is not loopback', async () => {
    const url = serveDocument()
    for (const addresses of [['10.0.0.1'], ['8.8.8.8'], ['127.0.0.1', '8.8.8.8']])
      expect(await fetchDocument(url, { resolve: () => Promise.resolve(addresses) })).toEqual(
        createRefusal('address'),
      )
    expect(await fetchDocument(url, { resolve: () => Promise.resolve(['127.0.0.1']) })).toEqual(accepted)
  })
})

test('connects to the address that it checked, even if the name then resolves to another', async () => {
  const certificate = await authority.issue([NAME])
  await using secondHost = await startDocumentHost(certificate, { address: '127.0.0.2', port: host.port })
  const url = serveDocument()
  const sequence = [['127.0.0.1'], ['127.0.0.2'], ['10.0.0.1']]
  const resolvedNames: string[] = []
  const resolve = (name: string) => {
    resolvedNames.push(name)
    return Promise.resolve(sequence.shift() ?? [])
  }
  expect(await fetchDocument(url, { resolve })).toEqual(accepted)
  expect([resolvedNames, secondHost.requests]).toEqual([[NAME], []])
  // The second fetch goes to the second host, which does not have the document (404).
  expect(await fetchDocument(url, { resolve })).toEqual(createRefusal('status'))
  expect(secondHost.requests).toHaveLength(1)
})

describe('refuses a name that does not resolve:', () => {
  test.for<[title: string, resolve: () => Promise<string[]>]>([
    ['no addresses', () => Promise.resolve([])],
    ['a failure', () => Promise.reject(new Error('Canary-7f3'))],
  ])('%s', async ([, resolve]) => {
    const url = serveDocument()
    expect(await fetchDocument(url, { resolve })).toEqual(createRefusal('name'))
    expect(await fetchDocument(url)).toEqual(accepted)
  })
})

describe('refuses a certificate:', () => {
  const daysFromNow = (days: number) => new Date(Date.now() + days * DAY_MS)
  test.for([
    ['of another name', () => authority.issue([`www.${NAME}`, 'example.org'])],
    ['for the IP address', () => authority.issue(['127.0.0.1'])],
    ['that expired', () => authority.issue([NAME], { from: daysFromNow(-3), until: daysFromNow(-1) })],
    ['that is not valid yet', () => authority.issue([NAME], { from: daysFromNow(1), until: daysFromNow(3) })],
    ['of another authority', async () => (await createCertificateAuthority()).issue([NAME])],
  ] as const)('%s', async ([, issue]) => {
    await using untrustedHost = await startDocumentHost(await issue())
    await using trustedHost = await startDocumentHost(await authority.issue([`*.example.org`]))
    expect(await fetchDocument(serveDocument(untrustedHost))).toEqual(createRefusal('connection'))
    expect(untrustedHost.requests).toEqual([])
    expect(await fetchDocument(serveDocument(trustedHost))).toEqual(accepted)
  })

  test('of the test authority, unless that authority is passed as an option', async () => {
    expect(await fetchDocument(serveDocument(), { ca: undefined })).toEqual(createRefusal('connection'))
  })

  test('of an unknown authority, even if the environment disables certificate checks', async () => {
    const originalValue = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      expect(await fetchDocument(serveDocument(), { ca: undefined })).toEqual(createRefusal('connection'))
    } finally {
      if (originalValue === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = originalValue
    }
  })
})

/** Starts a server without TLS. `respond` gets each connection. */
async function startRawServer(respond: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    // The fetcher may reset the connection. Without a listener, the error would be an uncaught exception.
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

test('refuses a server without TLS, and a port on which nothing listens', async () => {
  let url: string
  {
    await using plainServer = await startRawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    url = plainServer.url
    expect(await fetchDocument(url)).toEqual(createRefusal('connection'))
  }
  expect(await fetchDocument(url)).toEqual(createRefusal('connection'))
})

test('times out after two seconds in any step, and closes the connection', async () => {
  await using silentServer = await startRawServer(() => {})
  const closeEvents: Promise<unknown>[] = []
  const noHeadersUrl = serveDocument()
  const endlessHeadersUrl = serveDocument()
  const endlessBodyUrl = serveDocument()
  host.serve(
    new URL(noHeadersUrl).pathname,
    (_request, response) => void closeEvents.push(once(response, 'close')),
  )
  // These two responses send something every 20 ms, so a limit on idle time would not end them.
  host.serve(new URL(endlessHeadersUrl).pathname, (request, response) => {
    const drip = setInterval(() => request.socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20)
    closeEvents.push(once(response, 'close').finally(() => clearInterval(drip)))
  })
  host.serve(new URL(endlessBodyUrl).pathname, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 20)
    closeEvents.push(once(response, 'close').finally(() => clearInterval(drip)))
  })
  const startedAt = performance.now()
  const neverResolves = () => new Promise<never>(() => {})
  const results = await Promise.all([
    fetchDocument(silentServer.url),
    fetchDocument(noHeadersUrl),
    fetchDocument(endlessHeadersUrl),
    fetchDocument(endlessBodyUrl),
    fetchDocument(serveDocument(), { resolve: neverResolves }),
  ])
  expect(performance.now() - startedAt).toBeGreaterThan(1_900)
  expect(results).toEqual(Array.from({ length: 5 }, () => createRefusal('timeout')))
  // Of the five fetches, only these three reach a handler of `host`.
  expect(closeEvents).toHaveLength(3)
  await Promise.all(closeEvents)
})

test('closes the connection when it refuses a response, before the timeout', async () => {
  const url = serveDocument()
  let closeEvent: Promise<unknown> | undefined
  host.serve(new URL(url).pathname, (_request, response) => {
    closeEvent = once(response, 'close')
    response.writeHead(404).write('Canary')
  })
  const startedAt = performance.now()
  expect(await fetchDocument(url)).toEqual(createRefusal('status'))
  await closeEvent
  // The timeout is 2,000 ms.
  expect(performance.now() - startedAt).toBeLessThan(1_900)
})

describe('jwks_uri', () => {
  const serveWithKeysAt = (uri: string) => serveDocument(host, { jwks: undefined, jwks_uri: uri })
  const createKeysUrl = () => host.getUrl(NAME, `/keys-${(pathCount += 1)}`)

  test.for<[title: string, uri: (origin: string) => unknown]>([
    ['another host', (origin) => `${origin.replace('agent', 'keys')}/keys`],
    ['another port', (origin) => `${origin.replace(/:\d+$/, '')}/keys`],
    ['http', (origin) => `${origin.replace('https', 'http')}/keys`],
    ['a user', (origin) => `${origin.replace('//', '//user@')}/keys`],
    ['a fragment', (origin) => `${origin}/keys#x`],
    ['an empty fragment', (origin) => `${origin}/keys#`],
    ['a relative URL', () => '/keys'],
    ['dot segments', (origin) => `${origin}/a/../keys`],
    ['data', () => 'data:application/json,{"keys":[]}'],
    ['a number', () => 1],
    ['null', () => null],
  ])('with %s is named as the invalid member, and not fetched', async ([, uri]) => {
    const url = serveDocument(host, { jwks: undefined, jwks_uri: uri(`https://${NAME}:${host.port}`) })
    const requestCount = host.requests.length
    expect(await fetchDocument(url)).toMatchObject({
      result: { ok: false, error: { kind: 'member', member: 'jwks_uri' } },
      outcomes: ['member'],
    })
    expect(host.requests.length - requestCount).toBe(1)
  })

  test.for<[title: string, outcome: FetchFault, respond: Parameters<DocumentHost['serve']>[1]]>([
    ['a redirect', 'status', (_request, response) => response.writeHead(302, { location: '/' }).end()],
    [
      'another type',
      'type',
      (_request, response) => response.setHeader('content-type', 'text/html').end('{}'),
    ],
    ['more than 5 KiB', 'size', createJsonHandler({ keys: [], x: 'x'.repeat(5_200) })],
    [
      'text that is not JSON',
      'json',
      (_request, response) => response.setHeader('content-type', 'application/json').end('Canary'),
    ],
  ])('that leads to %s is refused as unusable, without details', async ([, outcome, respond]) => {
    const uri = createKeysUrl()
    host.serve(new URL(uri).pathname, respond)
    expect(await fetchDocument(serveWithKeysAt(uri))).toEqual(createRefusal(outcome))
    host.serve(
      new URL(uri).pathname,
      createJsonHandler({ keys: [key] }, { 'content-type': 'application/jwk-set+json' }),
    )
    expect(await fetchDocument(serveWithKeysAt(uri))).toEqual(accepted)
  })

  test('is not fetched if its host now resolves to an address that is not allowed', async () => {
    const uri = createKeysUrl()
    host.serve(new URL(uri).pathname, createJsonHandler({ keys: [key] }))
    const sequence = [['127.0.0.1'], ['10.0.0.1']]
    const resolve = () => Promise.resolve(sequence.shift() ?? ['127.0.0.1'])
    expect(await fetchDocument(serveWithKeysAt(uri), { resolve })).toEqual(createRefusal('address'))
    expect(await fetchDocument(serveWithKeysAt(uri), { resolve })).toEqual(accepted)
  })

  test('that leads to a private key is named as the invalid member', async () => {
    const uri = createKeysUrl()
    host.serve(new URL(uri).pathname, createJsonHandler({ keys: [privateKey] }))
    const { result } = await fetchDocument(serveWithKeysAt(uri))
    expect(result).toMatchObject({ ok: false, error: { kind: 'member', member: 'jwks_uri' } })
    expect(JSON.stringify(result)).not.toContain(privateKey.d)
  })

  test('gives the document the shorter of its own lifetime and that of the keys', async () => {
    for (const [documentSeconds, keysSeconds, lifetimeMs] of [
      [7_200, 600, 600_000],
      [600, 7_200, 600_000],
    ] as const) {
      const uri = createKeysUrl()
      host.serve(
        new URL(uri).pathname,
        createJsonHandler({ keys: [key] }, { 'cache-control': `max-age=${keysSeconds}` }),
      )
      const url = host.getUrl(NAME, `/client-${(pathCount += 1)}.json`)
      const document = { ...createClientDocument(url, []), jwks: undefined, jwks_uri: uri }
      host.serve(
        new URL(url).pathname,
        createJsonHandler(document, { 'cache-control': `max-age=${documentSeconds}` }),
      )
      expect((await fetchDocument(url)).result).toMatchObject({ ok: true, value: { lifetimeMs } })
    }
  })
})
