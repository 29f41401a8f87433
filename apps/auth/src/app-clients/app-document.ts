import { ok } from '@plainpath/domain'
import {
  type ReadDocument,
  readKeys,
  refuseDocument,
  toOutcome,
} from '../client-documents/document-fetcher.ts'
import { type AppMetadata, parseAppDocument } from './app-metadata.ts'
import type { ChatHosts } from './chat-hosts.ts'

/** The members of an app's Client ID Metadata Document that this server uses. */
export interface AppDocument {
  readonly metadata: AppMetadata
  /** When the document was requested. */
  readonly fetchedAt: Date
  /** Five minutes to a day after `fetchedAt`. */
  readonly expiresAt: Date
}

/** Creates the function that reads the document of an app, and its keys if the app authenticates with them. */
export const createAppDocumentReader =
  (hosts: ChatHosts, now: () => Date): ReadDocument<AppDocument> =>
  async (url, get) => {
    const fetchedAt = now()
    const computeExpiry = (lifetimeMs: number) => new Date(fetchedAt.getTime() + lifetimeMs)
    const document = await get(new URL(url))
    if (!document.ok) return refuseDocument(document.error, { kind: 'unusable' })
    const { json, lifetimeMs } = document.value
    const parsed = parseAppDocument(json, url, hosts)
    if (!parsed.ok) return refuseDocument(toOutcome(parsed.error), parsed.error)
    const { keySet, ...description } = parsed.value
    if (!keySet) {
      const metadata: AppMetadata = { ...description, authMethod: 'none', keys: [] }
      return { outcome: 'fetched', result: ok({ metadata, fetchedAt, expiresAt: computeExpiry(lifetimeMs) }) }
    }
    const { outcome, result } = await readKeys(keySet, get)
    if (!result.ok) return { outcome, result }
    const { keys, lifetimeMs: keysLifetimeMs } = result.value
    const metadata: AppMetadata = { ...description, authMethod: 'private_key_jwt', keys }
    const expiresAt = computeExpiry(Math.min(lifetimeMs, keysLifetimeMs))
    return { outcome, result: ok({ metadata, fetchedAt, expiresAt }) }
  }
