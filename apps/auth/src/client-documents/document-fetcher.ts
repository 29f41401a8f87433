import { type AgentId, createByteBoundOptions, err, ok, type Result, RULES } from '@plainpath/domain'
import { createSlotCounter, listNetworks } from '@plainpath/http'
import { LRUCache } from 'lru-cache'
import {
  type ClientDocument,
  type DocumentFault,
  type FetchClientDocument,
  type FetchMetadataDocument,
  type KeySetSource,
  parseClientDocument,
  parseKeySet,
} from './client-document.ts'
import {
  FETCH_FAULTS,
  type FetchedJson,
  type FetchFault,
  type FetchOptions,
  fetchJson,
} from './fetch-json.ts'

/**
 * Limits of the fetches in flight of one fetcher for stored clients: in this process, from one host, and for the network of a
 * caller. An IPv6 /48 may have four times as many as another network. A process has two fetchers (`wire-clients.ts`).
 */
const MAX_IN_PROCESS = 16
const MAX_FOR_HOST = 3
const MAX_FOR_CALLER = 2
/** Lower limits for new clients, so URLs that anybody can invent leave slots for stored clients. */
const MAX_NEW_IN_PROCESS = 12
const MAX_NEW_FOR_HOST = 2

/** The time after a failure during which a URL is not fetched again, unless later failures have evicted this one. */
const FAILURE_TTL_MS = RULES.documentFailureMs
/** Enough for 1,000 failures with the longest URLs (estimated by `createByteBoundOptions`). */
const MAX_FAILURES_BYTES = 1_000_000

/**
 * The outcomes of a call, which are the values of a metric's label. `client-id`: the response is not a document that names this
 * client. `member`: a member of the document is invalid. `FETCH_FAULTS` names the steps of a fetch that can fail.
 */
export const DOCUMENT_OUTCOMES = [
  'fetched',
  'busy',
  'failed-recently',
  'client-id',
  'member',
  ...FETCH_FAULTS,
] as const
export type DocumentOutcome = (typeof DOCUMENT_OUTCOMES)[number]

export interface DocumentFetcherOptions extends FetchOptions {
  readonly now: () => Date
  /**
   * Called with the outcome and the duration of each fetch, and of each call that was refused without a fetch. It gets
   * no URL and no host, since anybody can choose them.
   */
  readonly onOutcome?: (outcome: DocumentOutcome, seconds: number) => void
  /** A monotonic clock in milliseconds. */
  readonly clock?: { now(): number }
}

/** Creates the fetcher for the documents of agents. */
export const createClientDocumentFetcher = (
  options: DocumentFetcherOptions,
): { readonly fetch: FetchClientDocument } => createDocumentFetcher(readClientDocument, options)

/** Fetches one URL within limits of time and size. */
type GetJson = (url: URL) => Promise<Result<FetchedJson, FetchFault>>

/** Reads the document of a client, with its keys. */
export type ReadDocument<Document> = (url: AgentId, get: GetJson) => Promise<ReadDocumentResult<Document>>

/**
 * Creates a fetcher for Client ID Metadata Documents. Any caller can cause a fetch, so fetches are limited.
 * Simultaneous calls for a URL share one fetch, and the fetcher does not fetch a URL again for a minute after a
 * failure. It does not cache documents: the caller stores their content, so all instances share it.
 */
export function createDocumentFetcher<Document>(
  readDocument: ReadDocument<Document>,
  options: DocumentFetcherOptions,
): { readonly fetch: FetchMetadataDocument<Document> } {
  const { clock = performance, onOutcome = () => {} } = options
  const fetchesInFlight = new Map<AgentId, Promise<Result<Document, DocumentFault>>>()
  const slots = createSlotCounter()
  const failures = new LRUCache<AgentId, DocumentFault>({
    ...createByteBoundOptions(MAX_FAILURES_BYTES),
    ttl: FAILURE_TTL_MS,
    perf: clock,
    // By default, lru-cache reads the clock at most once a millisecond.
    ttlResolution: 0,
  })

  async function fetchOnce(url: AgentId, releaseSlots: () => void) {
    const startedAt = clock.now()
    try {
      const { outcome, result } = await readDocument(url, (uri) => fetchJson(uri, options, options.now))
      if (!result.ok) failures.set(url, result.error)
      onOutcome(outcome, (clock.now() - startedAt) / 1000)
      return result
    } finally {
      releaseSlots()
      fetchesInFlight.delete(url)
    }
  }

  return {
    async fetch(url, address, { isNew }) {
      const pendingFetch = fetchesInFlight.get(url)
      if (pendingFetch) return pendingFetch
      const failure = failures.get(url)
      if (failure) {
        onOutcome('failed-recently', 0)
        return err(failure)
      }
      const releaseSlots = slots.take([
        { name: 'process', max: isNew ? MAX_NEW_IN_PROCESS : MAX_IN_PROCESS },
        { name: `host ${new URL(url).hostname}`, max: isNew ? MAX_NEW_FOR_HOST : MAX_FOR_HOST },
        ...listNetworks(address).map(({ network, allowance }) => ({
          name: `caller ${network}`,
          max: MAX_FOR_CALLER * allowance,
        })),
      ])
      if (!releaseSlots) {
        onOutcome('busy', 0)
        return err({ kind: 'busy' })
      }
      const newFetch = fetchOnce(url, releaseSlots)
      fetchesInFlight.set(url, newFetch)
      return newFetch
    },
  }
}

/** The document that was read, or the fault, with the outcome for the metric. */
export interface ReadDocumentResult<Document> {
  readonly outcome: DocumentOutcome
  readonly result: Result<Document, DocumentFault>
}

export const refuseDocument = (outcome: DocumentOutcome, fault: DocumentFault) => ({
  outcome,
  result: err(fault),
})

/** Returns the outcome for a document that was fetched but refused. */
export const toOutcome = ({ kind }: DocumentFault): DocumentOutcome =>
  kind === 'member' ? 'member' : 'client-id'

const readClientDocument: ReadDocument<ClientDocument> = async (url, get) => {
  const document = await get(new URL(url))
  if (!document.ok) return refuseDocument(document.error, { kind: 'unusable' })
  const parsed = parseClientDocument(document.value.json, url)
  if (!parsed.ok) return refuseDocument(toOutcome(parsed.error), parsed.error)
  const { keySet, dpopBound } = parsed.value
  const { outcome, result } = await readKeys(keySet, get)
  if (!result.ok) return { outcome, result }
  const lifetimeMs = Math.min(document.value.lifetimeMs, result.value.lifetimeMs)
  return { outcome, result: ok({ keys: result.value.keys, dpopBound, lifetimeMs }) }
}

/** Reads the keys of a document, and fetches them if they are at a URL. */
export async function readKeys(
  keySet: KeySetSource,
  get: GetJson,
): Promise<ReadDocumentResult<Pick<ClientDocument, 'keys' | 'lifetimeMs'>>> {
  let fetchedKeys: FetchedJson | undefined
  if ('uri' in keySet) {
    const fetched = await get(keySet.uri)
    if (!fetched.ok) return refuseDocument(fetched.error, { kind: 'unusable' })
    fetchedKeys = fetched.value
  }
  const keys =
    'uri' in keySet
      ? await parseKeySet(fetchedKeys?.json, 'jwks_uri')
      : await parseKeySet(keySet.jwks, 'jwks')
  if (!keys.ok) return refuseDocument('member', keys.error)
  // Keys in the document itself have no lifetime of their own.
  const lifetimeMs = fetchedKeys?.lifetimeMs ?? Infinity
  return { outcome: 'fetched', result: ok({ keys: keys.value, lifetimeMs }) }
}
