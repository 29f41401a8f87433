import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import { getErrorComponentName } from '../openapi/errors.ts'
import type { Operation } from '../operations/operation.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { AGENT_ERRORS } from './agent-errors.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const PROBLEM_TYPE = 'application/problem+json'

/** An `Authorization` header with a placeholder, which readers replace with their credentials. */
export const EXAMPLE_BASIC_HEADER = { Authorization: 'Basic base64(client_id:client_secret)' }

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** The name of a body example; by default the first example. */
  readonly bodyExample?: string
  /** Members that extend or override the example body. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /** The values of the path parameters, already percent-encoded. A parameter without a value becomes an empty string. */
  readonly params?: Readonly<Record<string, string>>
}

interface ExchangeOptions extends RequestOptions {
  /** Creates the response body; by default the operation's example. */
  readonly createResponseBody?: () => object
}

interface ErrorExchangeOptions extends RequestOptions {
  /** The response body, which the operation's error schema must accept. Its `code` selects the status, from `AGENT_ERRORS`. */
  readonly error: { readonly code: string }
  /** Response headers in addition to `Content-Type`. */
  readonly responseHeaders?: Readonly<Record<string, string>>
}

/**
 * Creates an example response body and parses it with its schema.
 *
 * @param urls the URLs that appear in the example
 * @throws {z.ZodError} if there is no example, or if the schema rejects it
 */
export const parseExample = <T>(
  schema: z.ZodType<T>,
  responseDoc: Operation['responseDocs'][number],
  urls: ServiceUrls,
): T => schema.parse(responseDoc.example?.(urls))

/**
 * Formats an example request, and a response with the operation's lowest documented status, as two `http` blocks.
 * `operations.test.ts` parses the examples with the operation's schemas, and `documented-exchanges.test.ts` compares them with
 * the service's real responses.
 *
 * @throws {Error} if the operation documents no response, or has no body example of the given name
 */
export function formatExchange(
  operation: Operation,
  urls: ServiceUrls,
  options: ExchangeOptions = {},
): string {
  // `Object.entries` sorts integer keys in ascending order, so the first status is the lowest.
  const [firstResponse] = Object.entries(operation.responseDocs)
  if (!firstResponse) throw new Error(`${operation.operationId} documents no response`)
  const [status, responseDoc] = firstResponse
  const responseBody = options.createResponseBody?.() ?? (responseDoc.example?.(urls) as object | undefined)
  return `${formatRequestBlock(operation, urls, options)}\n\n${formatResponseBlock(Number(status), responseBody)}`
}

/**
 * Formats an example request and its error response as two `http` blocks.
 *
 * @throws {Error} if `AGENT_ERRORS` lacks the error's code, or the operation has no body example of the given name
 */
export function formatErrorExchange(
  operation: Operation,
  urls: ServiceUrls,
  { error, responseHeaders, ...options }: ErrorExchangeOptions,
): string {
  const status = AGENT_ERRORS.find(({ code }) => code === error.code)?.status
  if (status === undefined) throw new Error(`AGENT_ERRORS has no error with the code ${error.code}`)
  const type = getErrorComponentName(operation) === 'OAuthError' ? JSON_TYPE : PROBLEM_TYPE
  return `${formatRequestBlock(operation, urls, options)}\n\n${formatResponseBlock(status, error, type, responseHeaders)}`
}

function formatRequestBlock(operation: Operation, urls: ServiceUrls, options: RequestOptions): string {
  const { method, path, bodyMediaType = JSON_TYPE } = operation
  const pathWithValues = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => options.params?.[name] ?? '')
  const body = createExampleBody(operation, urls, options)
  return formatBlock([
    `${method.toUpperCase()} ${urls.origin}${pathWithValues}`,
    ...formatHeaders({ ...options.headers, ...(body && { 'Content-Type': bodyMediaType }) }),
    ...(body ? ['', bodyMediaType === FORM_TYPE ? encodeForm(body) : formatOnOneLine(body)] : []),
  ])
}

function createExampleBody(
  operation: Operation,
  urls: ServiceUrls,
  { bodyExample, overrides }: RequestOptions,
): object | undefined {
  const examples = operation.bodyExamples
  if (!examples) return undefined
  const name = bodyExample ?? Object.keys(examples)[0] ?? ''
  const example = examples[name]
  if (!example) throw new Error(`${operation.operationId} has no body example ${name}`)
  return { ...(example(urls) as object), ...overrides }
}

const formatResponseBlock = (status: number, body?: object, type = JSON_TYPE, headers: object = {}) =>
  formatBlock([
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...formatHeaders({ ...headers, ...(body && { 'Content-Type': type }) }),
    ...(body ? ['', formatJson(body)] : []),
  ])

const formatHeaders = (headers: object) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

const formatBlock = (lines: readonly string[]) => `\`\`\`http\n${lines.join('\n')}\n\`\`\``

/** Encodes a form. Keeps angle brackets, because they mark values that readers replace. */
const encodeForm = (fields: object) =>
  new URLSearchParams(fields as Record<string, string>)
    .toString()
    .replaceAll('%3C', '<')
    .replaceAll('%3E', '>')

/**
 * Formats a value as JSON on one line, with a space after each comma and colon. Also removes a space after an opening and before
 * a closing bracket or brace within strings.
 */
const formatOnOneLine = (value: object) =>
  JSON.stringify(value, null, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/([{[]) | ([}\]])/g, '$1$2')

/** Formats a value as JSON, with one member per line. A nested array is on one line if no item contains a bracket or a brace. */
export const formatJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(
    /\[\n\s+([^[\]{}]*?)\n\s+\]/g,
    (_, items: string) => `[${items.replaceAll(/\n\s+/g, ' ')}]`,
  )
