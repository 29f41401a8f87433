import type {
  ZodOpenApiOperationObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi'
import type { Operation } from '../operations/operation.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { errorComponent, numberedError, responseHeaders } from './errors.ts'

const JSON_TYPE = 'application/json'

/** The longest example of a response that the description holds, in characters of JSON. The reference page shows the others. */
const LONGEST_EXAMPLE = 350

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

/** A client may also authenticate in a form, for which OpenAPI has no scheme. */
function describeSecurity({ access, bodyType }: Operation): Record<string, string[]>[] {
  if (access === 'open' || access === 'public') return []
  if (access === 'client') return [{ client: [] }, bodyType ? {} : { clientAssertion: [] }]
  return [{ oauth2: [...access.scopes] }, { dpop: [] }]
}

function describeRequestBody({ request, ...operation }: Operation, urls: ServiceUrls) {
  if (!request?.body) return {}
  const examples = Object.entries(operation.bodyExamples ?? {})
  return {
    requestBody: {
      required: !operation.bodyOptional,
      content: {
        [operation.bodyType ?? JSON_TYPE]: {
          schema: request.body,
          ...(examples.length > 0 && {
            examples: Object.fromEntries(examples.map(([name, make]) => [name, { value: make(urls) }])),
          }),
        },
      },
    },
  }
}

/** The statuses of success, the failures that the operation names by status, and all other failures as one. */
function describeResponses(operation: Operation, urls: ServiceUrls): ZodOpenApiResponsesObject {
  const failure = { $ref: `#/components/responses/${errorComponent(operation)}` as const }
  type Entry = [string, ZodOpenApiResponseObject | typeof failure]
  const successes = Object.entries(operation.responses).map(([status, schema]): Entry => {
    const { description, example } = operation.outcomes[Number(status)] ?? {
      description: '',
    }
    const shown = example?.(urls)
    const isShort = JSON.stringify(shown ?? '').length <= LONGEST_EXAMPLE
    const content = schema && {
      [JSON_TYPE]: { schema, ...(shown !== undefined && isShort && { example: shown }) },
      ...(operation.alsoAs && { [operation.alsoAs]: { schema: { type: 'string' as const } } }),
    }
    const headers = operation.cache === 'public' && { headers: responseHeaders('ETag') }
    return [status, { description, ...headers, ...(content && { content }) }]
  })
  const numbered = Object.entries(operation.numberedErrors ?? {}).map(
    ([status, description]): Entry => [status, numberedError(description)],
  )
  return Object.fromEntries<Entry[1]>([...successes, ...numbered, ['4XX', failure], ['default', failure]])
}
