import type { GuideListing } from '@plainpath/domain'
import type { z } from 'zod'

/** The members of a published guide that document lists show. */
export type ListedGuide = Pick<GuideListing, 'slug' | 'title' | 'summary' | 'updated'>

/** The input for the API's documents, in addition to the service addresses. */
export interface ResourceDocumentConfig {
  /** The addresses of the official lists of attorneys and accredited representatives. */
  readonly attorneyLists: readonly string[]
  /** The start time of the app. Only its month is used, so instances that started in the same month serve the same bytes. */
  readonly startedAt: Date
  /** The `mailto:` or `https:` URI for reports of security faults. */
  readonly securityContact: string
  /** Returns the published guides, sorted by slug. */
  readonly listGuides: () => readonly ListedGuide[]
}

/** A document that an app serves. Its text changes only with the published guides, or for a query that selects a part. */
export interface ServedDocument {
  readonly path: `/${string}`
  /** The value of `Content-Type`. */
  readonly contentType: string
  /** Further media types that `Accept` can select. The bytes are the same. */
  readonly otherTypes?: readonly string[]
  /** The text, or a function that creates a text that depends on the published guides. */
  readonly content: string | (() => string)
  readonly headers?: Readonly<Record<string, string>>
  /** Parses the query into a function that creates the selected part; undefined for the whole document. */
  readonly part?: z.ZodType<(() => string) | undefined>
}

/** Returns the path of a URL. */
export const parsePath = (address: string): `/${string}` => new URL(address).pathname as `/${string}`

export const JSON_TYPE = 'application/json'
export const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'
export const PLAIN_TYPE = 'text/plain; charset=utf-8'

/**
 * Creates a document with a value as JSON.
 *
 * @param address the URL of the document, of which only the path is used
 */
export const createJsonDocument = (
  address: string,
  value: unknown,
  overrides: Partial<ServedDocument> = {},
): ServedDocument => ({
  path: parsePath(address),
  contentType: JSON_TYPE,
  content: JSON.stringify(value),
  ...overrides,
})
