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
