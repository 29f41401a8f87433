import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'

/** The members of an OpenAPI 3.1 description that the crawl reads. */
export interface ApiDescription {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly responses: Readonly<Record<string, DescribedResponse>>
    readonly securitySchemes: { readonly oauth2: { readonly flows: OAuthFlows } }
  }
}
interface OAuthFlows {
  readonly clientCredentials: { readonly tokenUrl: string; readonly scopes: Readonly<Record<string, string>> }
}
type PathItem = Readonly<Record<string, unknown>> & { readonly servers?: readonly { readonly url: string }[] }
type Content = Readonly<
  Record<string, { readonly schema?: object; readonly examples?: Record<string, { value: unknown }> }>
>
export interface DescribedResponse {
  readonly $ref?: string
  readonly content?: Content
}

export interface DescribedOperation {
  readonly operationId: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, DescribedResponse>>
}

export interface CallableOperation extends DescribedOperation {
  readonly method: string
  /** The absolute URL, with parameters such as `{slug}`. */
  readonly urlTemplate: string
}

const addFormats = ajvFormats.default
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Lists the described operations, with their methods and absolute URLs. */
export const listOperations = (description: ApiDescription): CallableOperation[] =>
  Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      ...(item[method] as DescribedOperation),
      method: method.toUpperCase(),
      urlTemplate: `${(item.servers ?? description.servers)[0]?.url}${path}`,
    })),
  )

/** Creates a checker that compares responses with the description. */
export function createResponseChecker(description: ApiDescription) {
  // In strict mode, Ajv refuses the keywords of OpenAPI.
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  ajv.addSchema({ ...description, $id: 'api' })
  return {
    /** Lists the differences between a response and its description, in the media type or in the body. */
    listDifferences(
      operation: DescribedOperation,
      response: { status: number; mediaType: string; text: string },
    ): string[] {
      const describedResponse = findDescribedResponse(description, operation, response.status)
      if (!describedResponse.content) return response.text === '' ? [] : ['has a body, but none is described']
      const describedMedia = describedResponse.content[response.mediaType]
      if (!describedMedia)
        return [
          `has the media type ${response.mediaType}, not ${Object.keys(describedResponse.content).join(' or ')}`,
        ]
      // Plain text is not JSON, so there is nothing to validate.
      if (!describedMedia.schema || response.mediaType.startsWith('text/')) return []
      const validate = ajv.compile(makeReferencesAbsolute(describedMedia.schema))
      validate(JSON.parse(response.text))
      return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
    },
  }
}

/** Finds the description of a response by its status, or by `4XX` or `default`. A response without one may have no body. */
function findDescribedResponse(
  description: ApiDescription,
  operation: DescribedOperation,
  status: number,
): DescribedResponse {
  const { responses } = operation
  const response =
    responses[String(status)] ?? (status < 500 && status >= 400 ? responses['4XX'] : responses['default'])
  const name = /^#\/components\/responses\/(.+)$/.exec(response?.$ref ?? '')?.[1]
  return (name ? description.components.responses[name] : response) ?? {}
}

/**
 * Makes local references (`#/...`) refer to the description, which is registered as `api`, so that a schema can be compiled by
 * itself.
 */
const makeReferencesAbsolute = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'))
