import { type AgentId, err, ok, type Result, RULES } from '@plainpath/domain'
import { addressNetworks } from '@plainpath/http'
import { LRUCache } from 'lru-cache'
import {
  type ClientDocument,
  type DocumentFault,
  type FetchClientDocument,
  type FetchDocumentOf,
  type KeySetPlace,
  parseClientDocument,
  parseKeySet,
} from './client-document.ts'
import { FETCH_FAULTS, type FetchedJson, type FetchOptions, fetchJson } from './fetch-json.ts'

/** Fetches in flight at once, for clients that are stored: of this process, from one host, and for the network of one caller. */
const MAX_IN_PROCESS = 16
const MAX_FOR_HOST = 3
const MAX_FOR_CALLER = 2
/** For new clients, whose URLs anybody may make up, so that stored ones always have room. */
const MAX_NEW_IN_PROCESS = 12
const MAX_NEW_FOR_HOST = 2

/** How long a URL that failed is not fetched again. */
const FAILURE_MS = RULES.documentFailureMs
const MAX_FAILURES = 1_000

/** How a call ended, as the label of a metric: a step that failed, or one of the other names. */
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
   * Notified of how each fetch ended, and of each call that was refused without one. Gets no URL and no host: neither is
   * proven, and anybody may choose it.
   */
  readonly onOutcome?: (outcome: DocumentOutcome, seconds: number) => void
  /** A monotonic clock in milliseconds. */
  readonly clock?: { now(): number }
}

/** Opens the fetcher of the documents of agents. */
export const openDocumentFetcher = (
  options: DocumentFetcherOptions,
): { readonly fetch: FetchClientDocument } => openFetcher(readClientDocument, options)

/** Reads the document of a client, with its keys, through `get`, which is bounded. */
export type ReadDocument<Document> = (
  url: AgentId,
  get: (url: URL) => ReturnType<typeof fetchJson>,
) => Promise<FetchedDocument<Document>>

/**
 * Fetches Client ID Metadata Documents for requests of anybody, within bounds. Simultaneous calls for a URL share one fetch, and
 * a URL that failed is not fetched again for a minute by this process. Documents are not cached here: what is read of them is
 * stored, so that all instances share it.
 */
export function openFetcher<Document>(
  read: ReadDocument<Document>,
  options: DocumentFetcherOptions,
): { readonly fetch: FetchDocumentOf<Document> } {
  const { clock = performance, onOutcome = () => {} } = options
  const inFlight = new Map<AgentId, Promise<Result<Document, DocumentFault>>>()
  const slots = openSlots()
  const failures = new LRUCache<AgentId, DocumentFault>({
    max: MAX_FAILURES,
    ttl: FAILURE_MS,
    perf: clock,
    ttlResolution: 0,
  })

  async function fetchOnce(url: AgentId, release: () => void) {
    const startedAt = clock.now()
    try {
      const { outcome, result } = await read(url, (uri) => fetchJson(uri, options, options.now))
      if (!result.ok) failures.set(url, result.error)
      onOutcome(outcome, (clock.now() - startedAt) / 1000)
      return result
    } finally {
      release()
      inFlight.delete(url)
    }
  }

  return {
    async fetch(url, address, { isNew }) {
      const shared = inFlight.get(url)
      if (shared) return shared
      const failure = failures.get(url)
      if (failure) {
        onOutcome('failed-recently', 0)
        return err(failure)
      }
      const release = slots.take([
        { name: 'process', most: isNew ? MAX_NEW_IN_PROCESS : MAX_IN_PROCESS },
        { name: `host ${new URL(url).hostname}`, most: isNew ? MAX_NEW_FOR_HOST : MAX_FOR_HOST },
        { name: `caller ${addressNetworks(address)[0]?.network}`, most: MAX_FOR_CALLER },
      ])
      if (!release) {
        onOutcome('busy', 0)
        return err({ kind: 'busy' })
      }
      const fetched = fetchOnce(url, release)
      inFlight.set(url, fetched)
      return fetched
    },
  }
}

export interface FetchedDocument<Document> {
  readonly outcome: DocumentOutcome
  readonly result: Result<Document, DocumentFault>
}

export const refusedDocument = (outcome: DocumentOutcome, fault: DocumentFault) => ({
  outcome,
  result: err(fault),
})

/** The outcome of a document that could not be parsed. */
export const outcomeOf = ({ kind }: DocumentFault): DocumentOutcome =>
  kind === 'member' ? 'member' : 'client-id'

const readClientDocument: ReadDocument<ClientDocument> = async (url, get) => {
  const document = await get(new URL(url))
  if (!document.ok) return refusedDocument(document.error, { kind: 'unusable' })
  const parsed = parseClientDocument(document.value.json, url)
  if (!parsed.ok) return refusedDocument(outcomeOf(parsed.error), parsed.error)
  const { keySet, dpopBound } = parsed.value
  const keys = await readKeys(keySet, get)
  if (!keys.result.ok) return { outcome: keys.outcome, result: keys.result }
  const lifetimeMs = Math.min(document.value.lifetimeMs, keys.result.value.lifetimeMs)
  return { outcome: 'fetched', result: ok({ keys: keys.result.value.keys, dpopBound, lifetimeMs }) }
}

/** Reads the keys of a document, and fetches them if they are elsewhere. */
export async function readKeys(
  keySet: KeySetPlace,
  get: (url: URL) => ReturnType<typeof fetchJson>,
): Promise<FetchedDocument<Pick<ClientDocument, 'keys' | 'lifetimeMs'>>> {
  let fetchedKeys: FetchedJson | undefined
  if ('uri' in keySet) {
    const fetched = await get(keySet.uri)
    if (!fetched.ok) return refusedDocument(fetched.error, { kind: 'unusable' })
    fetchedKeys = fetched.value
  }
  const keys =
    'uri' in keySet
      ? await parseKeySet(fetchedKeys?.json, 'jwks_uri')
      : await parseKeySet(keySet.jwks, 'jwks')
  if (!keys.ok) return refusedDocument('member', keys.error)
  const lifetimeMs = fetchedKeys?.lifetimeMs ?? Infinity
  return { outcome: 'fetched', result: ok({ keys: keys.value, lifetimeMs }) }
}

/** Counts what is in flight under several names at once. A name is forgotten when nothing is in flight under it. */
function openSlots() {
  const taken = new Map<string, number>()
  return {
    /** Takes a slot under every name, or under none if one of them has no slot left. @returns the function that frees them */
    take(bounds: readonly { readonly name: string; readonly most: number }[]): (() => void) | undefined {
      if (bounds.some(({ name, most }) => (taken.get(name) ?? 0) >= most)) return undefined
      for (const { name } of bounds) taken.set(name, (taken.get(name) ?? 0) + 1)
      return () => {
        for (const { name } of bounds) {
          const left = (taken.get(name) ?? 0) - 1
          if (left > 0) taken.set(name, left)
          else taken.delete(name)
        }
      }
    },
  }
}
