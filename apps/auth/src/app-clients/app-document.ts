import { ok } from '@plainpath/domain'
import {
  outcomeOf,
  type ReadDocument,
  readKeys,
  refusedDocument,
} from '../client-documents/document-fetcher.ts'
import { type AppMetadata, parseAppDocument } from './app-metadata.ts'
import type { ChatHosts } from './chat-hosts.ts'

/** What is used of the Client ID Metadata Document of an app. */
export interface AppDocument {
  readonly metadata: AppMetadata
  /** When it was requested. */
  readonly fetchedAt: Date
  /** Five minutes to a day later. */
  readonly expiresAt: Date
}

/** Creates the function that reads the document of an app, with its keys if they authenticate it. */
export const readAppDocument =
  (hosts: ChatHosts, now: () => Date): ReadDocument<AppDocument> =>
  async (url, get) => {
    const fetchedAt = now()
    const expiresAfter = (lifetimeMs: number) => new Date(fetchedAt.getTime() + lifetimeMs)
    const document = await get(new URL(url))
    if (!document.ok) return refusedDocument(document.error, { kind: 'unusable' })
    const { json, lifetimeMs } = document.value
    const parsed = parseAppDocument(json, url, hosts)
    if (!parsed.ok) return refusedDocument(outcomeOf(parsed.error), parsed.error)
    const { keySet, ...described } = parsed.value
    if (!keySet) {
      const metadata: AppMetadata = { ...described, authMethod: 'none', keys: [] }
      return { outcome: 'fetched', result: ok({ metadata, fetchedAt, expiresAt: expiresAfter(lifetimeMs) }) }
    }
    const { outcome, result } = await readKeys(keySet, get)
    if (!result.ok) return { outcome, result }
    const { keys, lifetimeMs: keysLifetimeMs } = result.value
    const metadata: AppMetadata = { ...described, authMethod: 'private_key_jwt', keys }
    const expiresAt = expiresAfter(Math.min(lifetimeMs, keysLifetimeMs))
    return { outcome, result: ok({ metadata, fetchedAt, expiresAt }) }
  }
