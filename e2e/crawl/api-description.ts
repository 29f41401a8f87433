import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** The members of the API description that a client needs. */
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
  /** Absolute, with parameters such as `{slug}`. */
  readonly address: string
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Lists the described operations, with their methods and absolute addresses. */
export const listOperations = (description: ApiDescription): CallableOperation[] =>
  Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      ...(item[method] as DescribedOperation),
      method: method.toUpperCase(),
      address: `${(item.servers ?? description.servers)[0]?.url}${path}`,
    })),
  )

/** Creates a checker that compares responses with the description. */
export function createResponseChecker(description: ApiDescription) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema({ ...description, $id: 'api' })
  return {
    /** Returns how a response differs from the description; empty if it does not. */
    findMistakes(
      operation: DescribedOperation,
      response: { status: number; type: string; text: string },
    ): string[] {
      const describedResponse = findDescribedResponse(description, operation, response.status)
      if (!describedResponse.content) return response.text === '' ? [] : ['has a body']
      const media = describedResponse.content[response.type]
      if (!media)
        return [`has the type ${response.type}, not ${Object.keys(describedResponse.content).join(' or ')}`]
      if (!media.schema || response.type.startsWith('text/')) return []
      const validate = ajv.compile(makeReferencesAbsolute(media.schema))
      validate(JSON.parse(response.text))
      return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
    },
  }
}

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

/** Lets references within the description resolve outside it. */
const makeReferencesAbsolute = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'))
