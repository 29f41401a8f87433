/** The parts of our own OpenAPI document that the reference shows. */
export interface ApiDocument {
  info: { title: string; version: string; description: string }
  servers: [{ url: string }]
  tags: { name: string; description: string }[]
  paths: Record<string, { servers?: [{ url: string }] } & { [method in Method]?: ApiOperation }>
  components: { schemas: Record<string, ApiSchema>; responses: Record<string, ApiResponse> }
}
const METHODS = ['get', 'post', 'put', 'delete'] as const
type Method = (typeof METHODS)[number]

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

/** An operation with its method and address. */
export interface LocatedOperation {
  readonly operation: ApiOperation
  readonly method: string
  /** An absolute URL, with parameters as `{slug}`. */
  readonly address: string
}

/** Lists the operations of a document, each with its method and address. */
export const locateOperations = ({ paths, servers }: ApiDocument): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, pathItem]) =>
    METHODS.flatMap((method) => {
      const operation = pathItem[method]
      const address = `${(pathItem.servers ?? servers)[0].url}${path}`
      return operation ? { operation, method: method.toUpperCase(), address } : []
    }),
  )

/** Lists the scopes that a token needs for an operation. */
export const listRequiredScopes = ({ security }: ApiOperation) =>
  security.flatMap((scheme) => scheme['oauth2'] ?? [])
