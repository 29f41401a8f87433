import type { GuideListing } from '@plainpath/domain'
import type { z } from 'zod'

/** A published guide, as lists name it. */
export type ListedGuide = Pick<GuideListing, 'slug' | 'title' | 'summary' | 'updated'>

/** What the documents of the API are made from, beside its addresses. */
export interface ResourceDocumentConfig {
  /** The official lists of attorneys and accredited representatives. */
  readonly attorneyLists: readonly string[]
  /** When the app started. Only its month is used, so that all instances of a release serve the same bytes. */
  readonly builtAt: Date
  /** Where faults of security are reported: a `mailto:` or `https:` URI. */
  readonly securityContact: string
  /** What is published now, by slug. */
  readonly guides: () => readonly ListedGuide[]
}

/** A document as an app serves it. Its bytes depend on nothing in a request but a query that selects a part. */
export interface ServedDocument {
  readonly path: `/${string}`
  /** The `Content-Type`, sent exactly so. */
  readonly contentType: string
  /** Further media types under which the same bytes come when `Accept` asks for them. */
  readonly alsoAs?: readonly string[]
  /** A function where it changes with the published guides. */
  readonly content: string | (() => string)
  readonly headers?: Readonly<Record<string, string>>
  /** Parses the query to the content of the part that it selects; to undefined for the whole document. */
  readonly part?: z.ZodType<string | undefined>
}

/** @param address below the origin */
export const parsePath = (address: string): `/${string}` => new URL(address).pathname as `/${string}`

export const JSON_TYPE = 'application/json'
export const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'
export const PLAIN_TYPE = 'text/plain; charset=utf-8'

export const jsonDocument = (
  address: string,
  value: unknown,
  more: Partial<ServedDocument> = {},
): ServedDocument => ({
  path: parsePath(address),
  contentType: JSON_TYPE,
  content: JSON.stringify(value),
  ...more,
})
