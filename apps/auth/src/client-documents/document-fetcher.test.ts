import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AgentId } from '@plainpath/domain'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  createCertificateAuthority,
  createClientDocument,
  createJsonHandler,
  type DocumentHost,
  startDocumentHost,
} from '../../test/document-host.ts'
import { createClientDocumentFetcher, type DocumentOutcome } from './document-fetcher.ts'

/** Enough hosts to fill all slots of the process, because each host has only two slots for new clients. */
const NAMES = Array.from({ length: 10 }, (_, index) => `host-${index}.example.org`)
const [HOST_A = '', HOST_B = '', HOST_C = ''] = NAMES
const resources = new AsyncDisposableStack()
let ca: string
let host: DocumentHost
let key: JWK
beforeAll(async () => {
  const authority = await createCertificateAuthority()
  ca = authority.pem
  host = resources.use(await startDocumentHost(await authority.issue(NAMES)))
  key = await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey)
})
afterAll(() => resources.disposeAsync())

let outcomes: DocumentOutcome[]
let clock: { now(): number }
let nowMs: number
let fetcher: ReturnType<typeof createClientDocumentFetcher>
/** Fetches a document, by default for a client that is not stored. */
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
const getCallerAddress = (index: number) => `198.51.100.${index}`

let pathCount = 0
function serveDocument(name: string): AgentId {
  const url = host.getUrl(name, `/client-${(pathCount += 1)}.json`)
  host.serve(new URL(url).pathname, createJsonHandler(createClientDocument(url, [key])))
  return url
}

/** Serves documents, and holds the responses until the test releases them. */
function holdResponses() {
  const arrivals = new EventEmitter()
  const heldResponses: (() => void)[] = []
  return {
    serve(name: string): AgentId {
      const url = host.getUrl(name, `/client-${(pathCount += 1)}.json`)
      host.serve(new URL(url).pathname, (request, response: ServerResponse) => {
        heldResponses.push(() => createJsonHandler(createClientDocument(url, [key]))(request, response))
        arrivals.emit('arrival')
      })
      return url
    },
    async waitForRequests(count: number) {
      while (heldResponses.length < count) await once(arrivals, 'arrival')
    },
    release() {
      for (const respond of heldResponses.splice(0)) respond()
    },
  }
}

test('refuses a third fetch from one host as busy, and accepts it when another has finished', async () => {
  const held = holdResponses()
  const firstFetches = [held.serve(HOST_A), held.serve(HOST_A)].map((url, index) =>
    fetchDocument(url, getCallerAddress(index)),
  )
  await held.waitForRequests(2)
  const thirdUrl = serveDocument(HOST_A)
  expect(await fetchDocument(thirdUrl, getCallerAddress(3))).toEqual(busy)
  expect(await fetchDocument(serveDocument(HOST_B), getCallerAddress(3))).toEqual(accepted)
  held.release()
  expect(await Promise.all(firstFetches)).toEqual([accepted, accepted])
  expect(await fetchDocument(thirdUrl, getCallerAddress(3))).toEqual(accepted)
  expect(outcomes).toEqual(['busy', 'fetched', 'fetched', 'fetched', 'fetched'])
})

test.for([
  ['an address', '198.51.100.1', '198.51.100.1', '198.51.100.2'],
  ['a /64', '2606:2800:1:2::1', '2606:2800:1:2:ffff::2', '2606:2800:1:3::1'],
])('refuses a third fetch for %s as busy', async ([, address, sameNetwork, otherNetwork]) => {
  const held = holdResponses()
  const firstFetches = [held.serve(HOST_A), held.serve(HOST_B)].map((url) => fetchDocument(url, address!))
  await held.waitForRequests(2)
  const thirdUrl = serveDocument(HOST_C)
  expect(await fetchDocument(thirdUrl, sameNetwork!)).toEqual(busy)
  expect(await fetchDocument(thirdUrl, otherNetwork!)).toEqual(accepted)
  held.release()
  expect(await Promise.all(firstFetches)).toEqual([accepted, accepted])
  expect(await fetchDocument(thirdUrl, sameNetwork!)).toEqual(accepted)
})

test('refuses a ninth fetch for a /48 as busy', async () => {
  const held = holdResponses()
  const firstFetches = NAMES.slice(0, 4).flatMap((name, index) =>
    [held.serve(name), held.serve(name)].map((url) => fetchDocument(url, `2606:2800:1:${index}::1`)),
  )
  await held.waitForRequests(8)
  const ninthUrl = serveDocument(NAMES[4] ?? '')
  expect(await fetchDocument(ninthUrl, '2606:2800:1:ffff::1')).toEqual(busy)
  expect(await fetchDocument(ninthUrl, '2606:2800:2::1')).toEqual(accepted)
  held.release()
  expect(await Promise.all(firstFetches)).toEqual(Array.from({ length: 8 }, () => accepted))
  expect(await fetchDocument(ninthUrl, '2606:2800:1:ffff::1')).toEqual(accepted)
})

test('allows 12 fetches in flight for new clients and 16 in all, and shares one of them even when no slot is free', async () => {
  const held = holdResponses()
  const urls = NAMES.slice(0, 8).flatMap((name) => [held.serve(name), held.serve(name)])
  const newClientFetches = urls.slice(0, 12).map((url, index) => fetchDocument(url, getCallerAddress(index)))
  await held.waitForRequests(12)
  const extraUrl = serveDocument(NAMES[8] ?? '')
  expect(await fetchDocument(extraUrl, getCallerAddress(100))).toEqual(busy)
  const storedClientFetches = urls
    .slice(12)
    .map((url, index) => fetchDocument(url, getCallerAddress(12 + index), { isNew: false }))
  await held.waitForRequests(16)
  expect(await fetchDocument(extraUrl, getCallerAddress(100), { isNew: false })).toEqual(busy)
  const sharedFetch = fetchDocument(urls[0]!, getCallerAddress(101))
  held.release()
  const results = await Promise.all([...newClientFetches, ...storedClientFetches, sharedFetch])
  expect(results).toEqual(Array.from({ length: 17 }, () => accepted))
  expect(host.requests).toHaveLength(16)
  expect(await fetchDocument(extraUrl, getCallerAddress(100))).toEqual(accepted)
})

test('reserves one fetch per host for stored clients', async () => {
  const held = holdResponses()
  const newClientFetches = [held.serve(HOST_A), held.serve(HOST_A)].map((url, index) =>
    fetchDocument(url, getCallerAddress(index)),
  )
  await held.waitForRequests(2)
  const extraUrl = serveDocument(HOST_A)
  expect(await fetchDocument(extraUrl, getCallerAddress(3))).toEqual(busy)
  expect(await fetchDocument(extraUrl, getCallerAddress(3), { isNew: false })).toEqual(accepted)
  held.release()
  expect(await Promise.all(newClientFetches)).toEqual([accepted, accepted])
})

test('frees the slots of failed fetches', async () => {
  for (let index = 0; index < 20; index += 1)
    expect(await fetchDocument(host.getUrl(HOST_A, `/nowhere-${index}`), getCallerAddress(1))).toEqual(
      unusable,
    )
  expect(await fetchDocument(serveDocument(HOST_A), getCallerAddress(1))).toEqual(accepted)
})

test('shares one fetch between simultaneous calls for one URL', async () => {
  const held = holdResponses()
  const url = held.serve(HOST_A)
  const calls = Array.from({ length: 100 }, (_, index) => fetchDocument(url, getCallerAddress(index)))
  await held.waitForRequests(1)
  held.release()
  const results = await Promise.all(calls)
  expect(results).toEqual(Array.from({ length: 100 }, () => accepted))
  expect([host.requests.length, outcomes]).toEqual([1, ['fetched']])
})

test('fetches a document at each call, because it caches none', async () => {
  const url = serveDocument(HOST_A)
  await fetchDocument(url, getCallerAddress(1))
  expect(await fetchDocument(url, getCallerAddress(1))).toEqual(accepted)
  expect(host.requests).toHaveLength(2)
})

test('does not fetch a URL again for a minute after a failure', async () => {
  const url = host.getUrl(HOST_A, `/client-${(pathCount += 1)}.json`)
  expect(await fetchDocument(url, getCallerAddress(1))).toEqual(unusable)
  host.serve(new URL(url).pathname, createJsonHandler(createClientDocument(url, [key])))
  nowMs += 59_999
  expect(await fetchDocument(url, getCallerAddress(2))).toEqual(unusable)
  expect(await fetchDocument(serveDocument(HOST_A), getCallerAddress(2))).toEqual(accepted)
  nowMs += 2
  expect(await fetchDocument(url, getCallerAddress(1))).toEqual(accepted)
  expect(outcomes).toEqual(['status', 'failed-recently', 'fetched', 'fetched'])
})

test('reports an invalid member again within a minute, without a second fetch', async () => {
  const url = host.getUrl(HOST_A, `/client-${(pathCount += 1)}.json`)
  host.serve(
    new URL(url).pathname,
    createJsonHandler({ ...createClientDocument(url, [key]), grant_types: [] }),
  )
  const firstResult = await fetchDocument(url, getCallerAddress(1))
  expect(firstResult).toMatchObject({ error: { kind: 'member', member: 'grant_types' } })
  expect(await fetchDocument(url, getCallerAddress(2))).toEqual(firstResult)
  expect(host.requests).toHaveLength(1)
})

test('remembers the latest 1,000 failures, even of long URLs', async () => {
  // No test host has port 1, so each fetch fails without a request.
  const createUrl = (index: number) => `https://${HOST_A}:1/${'x'.repeat(220)}-${index}.json` as AgentId
  for (let index = 0; index <= 1_500; index += 1) await fetchDocument(createUrl(index), getCallerAddress(1))
  outcomes = []
  // The latest 1,000 failures are those of 501 to 1,500.
  await fetchDocument(createUrl(501), getCallerAddress(1))
  await fetchDocument(createUrl(0), getCallerAddress(1))
  expect(outcomes).toEqual(['failed-recently', 'url'])
})

test('sends no data about the caller', async () => {
  const url = host.getUrl(HOST_A, `/client-${(pathCount += 1)}.json`)
  let sentHeaders: object = {}
  host.serve(new URL(url).pathname, (request, response) => {
    sentHeaders = request.headers
    createJsonHandler(createClientDocument(url, [key]))(request, response)
  })
  await fetchDocument(url, getCallerAddress(1))
  expect(sentHeaders).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'plainpath',
    host: `${HOST_A}:${host.port}`,
    connection: 'close',
  })
})
