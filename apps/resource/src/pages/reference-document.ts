const METHODS = ['get', 'post', 'put', 'delete'] as const
type Method = (typeof METHODS)[number]

/**
 * The parts of our OpenAPI document that the API reference at `/docs` renders. Each operation of the document has one tag, and
 * each list of servers has one entry. Every `description` is Markdown.
 */
export interface ApiDocument {
  info: { title: string; version: string; description: string }
  servers: [{ url: string }]
  tags: { name: string; description: string }[]
  paths: Record<string, { servers?: [{ url: string }] } & { [method in Method]?: ApiOperation }>
  components: { schemas: Record<string, ApiSchema>; responses: Record<string, ApiResponse> }
}

export interface ApiOperation {
  operationId: string
  tags: [string]
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters?: { in: string; name: string; required?: boolean; description?: string; schema: ApiSchema }[]
  requestBody?: { content: Content }
  responses: Record<string, ApiResponse>
}
interface ApiResponse {
  $ref?: string
  description?: string
  content?: Content
}
type Content = Record<
  string,
  { schema: ApiSchema; example?: unknown; examples?: Record<string, { value: unknown }> }
>
export interface ApiSchema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  format?: string
  description?: string
  items?: ApiSchema
  anyOf?: ApiSchema[]
  properties?: Record<string, ApiSchema>
  required?: string[]
}

/** An operation with its method and URL, which an operation object of OpenAPI does not contain. */
export interface LocatedOperation {
  readonly operation: ApiOperation
  /** In upper case, such as `GET`. */
  readonly method: string
  /** An absolute URL, with path parameters as `{slug}`. */
  readonly urlTemplate: string
}

/** Lists the operations of a document. The servers of a path take precedence over those of the document. */
export const listOperations = ({ paths, servers }: ApiDocument): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, pathItem]) =>
    METHODS.flatMap((method) => {
      const operation = pathItem[method]
      const urlTemplate = `${(pathItem.servers ?? servers)[0].url}${path}`
      return operation ? { operation, method: method.toUpperCase(), urlTemplate } : []
    }),
  )

/**
 * Lists the scopes that a token needs for an operation. The entries of `security` are alternatives. In our document, at most one
 * of them names `oauth2`.
 */
export const listRequiredScopes = ({ security }: ApiOperation): string[] =>
  security.flatMap((requirement) => requirement['oauth2'] ?? [])
