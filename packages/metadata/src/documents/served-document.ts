/** What every document is made from. */
export interface DocumentConfig {
  /** As `Origin` has it. */
  readonly origin: string
}

/** A published guide, as lists name it. */
export interface ListedGuide {
  readonly slug: string
  readonly title: string
  readonly summary: string
  /** A day, as `2026-11-20`. */
  readonly updated: string
}

/** What the documents of the API are made from. */
export interface ResourceDocumentConfig extends DocumentConfig {
  /** The official lists of attorneys and accredited representatives. */
  readonly attorneyLists: readonly string[]
  /** When the app started. Only its month is used, so that all instances of a release serve the same bytes. */
  readonly builtAt: Date
  /** Where faults of security are reported: a `mailto:` or `https:` URI. */
  readonly securityContact: string
}

/** A document as an app serves it: bytes that depend on configuration only, never on a request. */
export interface ServedDocument {
  readonly path: `/${string}`
  /** The `Content-Type`, sent exactly so. */
  readonly contentType: string
  /** Further media types under which the same bytes come when `Accept` asks for them. */
  readonly alsoAs?: readonly string[]
  readonly content: string
  readonly headers?: Readonly<Record<string, string>>
}

/** @param address below the origin */
export const pathOf = (address: string): `/${string}` => new URL(address).pathname as `/${string}`

export const JSON_TYPE = 'application/json'
export const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'
export const PLAIN_TYPE = 'text/plain; charset=utf-8'

export const jsonDocument = (
  address: string,
  value: unknown,
  more: Partial<ServedDocument> = {},
): ServedDocument => ({
  path: pathOf(address),
  contentType: JSON_TYPE,
  content: JSON.stringify(value),
  ...more,
})
