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
