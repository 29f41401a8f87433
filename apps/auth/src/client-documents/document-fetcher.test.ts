import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AgentId } from '@plainpath/domain'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  clientDocument,
  type DocumentHost,
  openCertificateAuthority,
  respondJson,
  startDocumentHost,
} from '../../test/document-host.ts'
import { createClientDocumentFetcher, type DocumentOutcome } from './document-fetcher.ts'

const NAMES = Array.from({ length: 10 }, (_, index) => `host-${index}.example.org`)
const [A = '', B = '', C = ''] = NAMES
const resources = new AsyncDisposableStack()
let ca: string
let host: DocumentHost
let key: JWK
beforeAll(async () => {
  const authority = await openCertificateAuthority()
  ca = authority.pem
  host = resources.use(await startDocumentHost(await authority.issue(NAMES)))
  key = await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey)
})
afterAll(() => resources.disposeAsync())

let outcomes: DocumentOutcome[]
let clock: { now(): number }
let nowMs: number
let fetcher: ReturnType<typeof createClientDocumentFetcher>
/** Fetches the document of a client that is not stored, unless the options say otherwise. */
const fetchDocument = (url: AgentId, address: string, { isNew = true } = {}) =>
  fetcher.fetch(url, address, { isNew })
beforeEach(() => {
  outcomes = []
  nowMs = 1_000
  clock = { now: () => nowMs }
  fetcher = createClientDocumentFetcher({
    testHosts: NAMES.map((name) => `${name}:${host.port}`),
    ca,
    now: () => new Date(),
    clock,
    onOutcome: (outcome) => outcomes.push(outcome),
  })
  host.requests.length = 0
})

const accepted = expect.objectContaining({ ok: true })
const busy = { ok: false, error: { kind: 'busy' } }
const unusable = { ok: false, error: { kind: 'unusable' } }
const caller = (index: number) => `198.51.100.${index}`

let paths = 0
function serveDocument(name: string): AgentId {
  const url = host.url(name, `/client-${(paths += 1)}.json`)
  host.serve(new URL(url).pathname, respondJson(clientDocument(url, [key])))
  return url
}

/** Serves documents that wait until they are released. */
function serveHeld() {
  const arrivals = new EventEmitter()
  const held: (() => void)[] = []
  return {
    serve(name: string): AgentId {
      const url = host.url(name, `/client-${(paths += 1)}.json`)
      host.serve(new URL(url).pathname, (request, response: ServerResponse) => {
        held.push(() => respondJson(clientDocument(url, [key]))(request, response))
        arrivals.emit('arrival')
      })
      return url
    },
    async arrived(count: number) {
      while (held.length < count) await once(arrivals, 'arrival')
    },
    release() {
      for (const respond of held.splice(0)) respond()
    },
  }
}

test('a third fetch from one host is refused as busy, and succeeds once there is room', async () => {
  const held = serveHeld()
  const first = [held.serve(A), held.serve(A)].map((url, index) => fetchDocument(url, caller(index)))
  await held.arrived(2)
  const third = serveDocument(A)
  expect(await fetchDocument(third, caller(3))).toEqual(busy)
  expect(await fetchDocument(serveDocument(B), caller(3))).toEqual(accepted)
  held.release()
  expect(await Promise.all(first)).toEqual([accepted, accepted])
  expect(await fetchDocument(third, caller(3))).toEqual(accepted)
  expect(outcomes).toEqual(['busy', 'fetched', 'fetched', 'fetched', 'fetched'])
})

test.for([
  ['an address', '198.51.100.1', '198.51.100.1', '198.51.100.2'],
  ['a /64', '2606:2800:1:2::1', '2606:2800:1:2:ffff::2', '2606:2800:1:3::1'],
])('a third fetch for %s is refused as busy', async ([, one, another, neighbour]) => {
  const held = serveHeld()
  const first = [held.serve(A), held.serve(B)].map((url) => fetchDocument(url, one!))
  await held.arrived(2)
  const third = serveDocument(C)
  expect(await fetchDocument(third, another!)).toEqual(busy)
  expect(await fetchDocument(third, neighbour!)).toEqual(accepted)
  held.release()
  expect(await Promise.all(first)).toEqual([accepted, accepted])
  expect(await fetchDocument(third, another!)).toEqual(accepted)
})

test('a process allows twelve fetches in flight for new clients and sixteen in all, and never refuses a shared one', async () => {
  const held = serveHeld()
  const urls = NAMES.slice(0, 8).flatMap((name) => [held.serve(name), held.serve(name)])
  const first = urls.slice(0, 12).map((url, index) => fetchDocument(url, caller(index)))
  await held.arrived(12)
  const [, , , , , , , , ninth = ''] = NAMES
  const late = serveDocument(ninth)
  expect(await fetchDocument(late, caller(100))).toEqual(busy)
  const stored = urls.slice(12).map((url, index) => fetchDocument(url, caller(12 + index), { isNew: false }))
  await held.arrived(16)
  expect(await fetchDocument(late, caller(100), { isNew: false })).toEqual(busy)
  const shared = fetchDocument(urls[0]!, caller(101))
  held.release()
  expect(await Promise.all([...first, ...stored, shared])).toEqual(Array.from({ length: 17 }, () => accepted))
  expect(host.requests).toHaveLength(16)
  expect(await fetchDocument(late, caller(100))).toEqual(accepted)
})

test('keeps one fetch per host for stored clients when new clients use the others', async () => {
  const held = serveHeld()
  const first = [held.serve(A), held.serve(A)].map((url, index) => fetchDocument(url, caller(index)))
  await held.arrived(2)
  const another = serveDocument(A)
  expect(await fetchDocument(another, caller(3))).toEqual(busy)
  expect(await fetchDocument(another, caller(3), { isNew: false })).toEqual(accepted)
  held.release()
  expect(await Promise.all(first)).toEqual([accepted, accepted])
})

test('failed fetches free their place', async () => {
  for (let each = 0; each < 20; each += 1)
    expect(await fetchDocument(host.url(A, `/nowhere-${each}`), caller(1))).toEqual(unusable)
  expect(await fetchDocument(serveDocument(A), caller(1))).toEqual(accepted)
})

test('simultaneous calls for one URL share one fetch', async () => {
  const held = serveHeld()
  const url = held.serve(A)
  const calls = Array.from({ length: 100 }, (_, index) => fetchDocument(url, caller(index)))
  await held.arrived(1)
  held.release()
  const results = await Promise.all(calls)
  expect(results).toEqual(Array.from({ length: 100 }, () => accepted))
  expect([host.requests.length, outcomes]).toEqual([1, ['fetched']])
})

test('a document is fetched again at the next call', async () => {
  const url = serveDocument(A)
  await fetchDocument(url, caller(1))
  expect(await fetchDocument(url, caller(1))).toEqual(accepted)
  expect(host.requests).toHaveLength(2)
})

test('a URL that failed is not fetched again for a minute', async () => {
  const url = host.url(A, `/client-${(paths += 1)}.json`)
  expect(await fetchDocument(url, caller(1))).toEqual(unusable)
  host.serve(new URL(url).pathname, respondJson(clientDocument(url, [key])))
  nowMs += 59_999
  expect(await fetchDocument(url, caller(2))).toEqual(unusable)
  expect(await fetchDocument(serveDocument(A), caller(2))).toEqual(accepted)
  nowMs += 2
  expect(await fetchDocument(url, caller(1))).toEqual(accepted)
  expect(outcomes).toEqual(['status', 'failed-recently', 'fetched', 'fetched'])
})

test('reports a wrong member again within the minute, without a fetch', async () => {
  const url = host.url(A, `/client-${(paths += 1)}.json`)
  host.serve(new URL(url).pathname, respondJson({ ...clientDocument(url, [key]), grant_types: [] }))
  const first = await fetchDocument(url, caller(1))
  expect(first).toMatchObject({ error: { kind: 'member', member: 'grant_types' } })
  expect(await fetchDocument(url, caller(2))).toEqual(first)
  expect(host.requests).toHaveLength(1)
})

test('remembers the latest thousand failures', async () => {
  const url = (index: number) => `https://${A}:1/client-${index}.json` as AgentId
  for (let index = 0; index <= 1_000; index += 1) await fetchDocument(url(index), caller(1))
  outcomes = []
  await fetchDocument(url(1), caller(1))
  await fetchDocument(url(0), caller(1))
  expect(outcomes).toEqual(['failed-recently', 'url'])
})

test('a fetch sends no data about the caller', async () => {
  const url = host.url(A, `/client-${(paths += 1)}.json`)
  let sent: object = {}
  host.serve(new URL(url).pathname, (request, response) => {
    sent = request.headers
    respondJson(clientDocument(url, [key]))(request, response)
  })
  await fetchDocument(url, caller(1))
  expect(sent).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'plainpath',
    host: `${A}:${host.port}`,
    connection: 'close',
  })
})
