import { Scope } from '@plainpath/domain'

/** Parts of the service that documents name only while they run. */
export interface Features {
  /** The MCP server at `BASE/mcp` and its server card. */
  readonly mcp: boolean
  /** The API reference at `/docs`. */
  readonly reference: boolean
  /** `/privacy` and `/terms`. */
  readonly policies: boolean
  /** `/changelog`. */
  readonly changelog: boolean
  /** `/` also as Markdown, and the same text at `/index.md`. */
  readonly homeMarkdown: boolean
  /** Claims and the jwt-bearer grant. */
  readonly verifiedEmail: boolean
  /** `POST BASE/contact` and the scope `contact:write`. */
  readonly contact: boolean
}

/** What runs in this version, in both apps. */
export const FEATURES: Features = {
  mcp: true,
  reference: true,
  policies: true,
  changelog: true,
  homeMarkdown: true,
  verifiedEmail: true,
  contact: true,
}

/** The scopes that a token can have. */
export const scopesOf = (features: Features): Scope[] =>
  Scope.options.filter((scope) => scope !== 'contact:write' || features.contact)

export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The grants that the token endpoint knows. */
export const grantTypesOf = (features: Features): string[] => [
  'client_credentials',
  ...(features.verifiedEmail ? [JWT_BEARER_GRANT] : []),
]
