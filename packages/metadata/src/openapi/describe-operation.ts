import type {
  ZodOpenApiOperationObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi'
import type { Operation } from '../operations/operation.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { describeDocumentedError, getErrorComponentName, referToHeaders } from './errors.ts'

const JSON_TYPE = 'application/json'

/** The maximum length of a response example as JSON. The API description leaves out longer ones. */
const MAX_EXAMPLE_CHARACTERS = 350

/** Describes one operation in OpenAPI 3.1. */
export function describeOperation(operation: Operation, urls: ServiceUrls): ZodOpenApiOperationObject {
  return {
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
    security: describeSecurity(operation),
    ...describeParameters(operation),
    ...describeRequestBody(operation, urls),
    responses: describeResponses(operation, urls),
  }
}

function describeParameters({ request, requestHeaders: header }: Operation) {
  const { params: path, query } = request ?? {}
  const requestParams = { ...(path && { path }), ...(query && { query }), ...(header && { header }) }
  return Object.keys(requestParams).length > 0 && { requestParams: requestParams as never }
}

/**
 * Describes the accepted credentials. An empty requirement stands for client credentials in form fields, for which OpenAPI has
 * no scheme.
 */
function describeSecurity({ access, bodyMediaType }: Operation): Record<string, string[]>[] {
  if (access === 'open' || access === 'public') return []
  if (access === 'client') return [{ client: [] }, bodyMediaType ? {} : { clientAssertion: [] }]
  return [{ oauth2: [...access.scopes] }, { dpop: [] }]
}

function describeRequestBody({ request, ...operation }: Operation, urls: ServiceUrls) {
  if (!request?.body) return {}
  const examples = Object.entries(operation.bodyExamples ?? {})
  return {
    requestBody: {
      required: !operation.bodyOptional,
      content: {
        [operation.bodyMediaType ?? JSON_TYPE]: {
          schema: request.body,
          ...(examples.length > 0 && {
            examples: Object.fromEntries(
              examples.map(([name, createExample]) => [name, { value: createExample(urls) }]),
            ),
          }),
        },
      },
    },
  }
}

/** Describes each success, each error in `documentedErrors`, and all other errors together. */
function describeResponses(operation: Operation, urls: ServiceUrls): ZodOpenApiResponsesObject {
  const errorReference = { $ref: `#/components/responses/${getErrorComponentName(operation)}` as const }
  type ResponseEntry = [string, ZodOpenApiResponseObject | typeof errorReference]
  const successes = Object.entries(operation.responses).map(([status, schema]): ResponseEntry => {
    // The fallback is only for the compiler: every status has its documentation.
    const { description, example } = operation.responseDocs[Number(status)] ?? {
      description: '',
    }
    const exampleBody = example?.(urls)
    const isShort = JSON.stringify(exampleBody ?? '').length <= MAX_EXAMPLE_CHARACTERS
    const content = schema && {
      [JSON_TYPE]: { schema, ...(exampleBody !== undefined && isShort && { example: exampleBody }) },
      ...(operation.alternativeMediaType && {
        [operation.alternativeMediaType]: { schema: { type: 'string' as const } },
      }),
    }
    const headers = operation.cache === 'public' && { headers: referToHeaders('ETag') }
    return [status, { description, ...headers, ...(content && { content }) }]
  })
  const documentedErrors = Object.entries(operation.documentedErrors ?? {}).map(
    ([status, description]): ResponseEntry => [status, describeDocumentedError(description)],
  )
  return Object.fromEntries<ResponseEntry[1]>([
    ...successes,
    ...documentedErrors,
    ['4XX', errorReference],
    ['default', errorReference],
  ])
}
