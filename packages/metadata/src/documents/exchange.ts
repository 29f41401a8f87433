import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import { errorComponent } from '../openapi/errors.ts'
import type { Operation } from '../operations/operation.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { AGENT_ERRORS } from './agent-errors.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

/** A placeholder for the agent's credentials; a reader of the document encodes its own. */
export const BASIC = { Authorization: 'Basic base64(client_id:client_secret)' }

interface ExchangeOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** The name of a body example; the first one when absent. */
  readonly body?: string
  /** Members that the body has beside those of the example, or instead of them. */
  readonly with?: Readonly<Record<string, unknown>>
  /** Values for the parameters of the path. */
  readonly params?: Readonly<Record<string, string>>
  /** The body of the response, where it is not the example of the operation. */
  readonly response?: () => object
  /** Headers of the response beside `Content-Type`. */
  readonly responseHeaders?: Readonly<Record<string, string>>
}

/** The example of a response, with its type. */
export const findExample = <T>(
  schema: z.ZodType<T>,
  outcome: Operation['outcomes'][number],
  urls: ServiceUrls,
): T => schema.parse(outcome.example?.(urls))

/**
 * Shows a request and its response as two `http` blocks. Both are the examples of the operation, which tests compare with
 * its schemas and with what the service answers.
 */
export function exchange(operation: Operation, urls: ServiceUrls, options: ExchangeOptions = {}): string {
  const [[status, outcome] = ['', undefined]] = Object.entries(operation.outcomes)
  const shown = options.response?.() ?? (outcome?.example?.(urls) as object | undefined)
  return `${request(operation, urls, options)}\n\n${response(Number(status), shown)}`
}

/** Shows a request and the error that it leads to. @param error an example that the schema of the operation's errors accepts */
export function refusal(
  operation: Operation,
  urls: ServiceUrls,
  { error, ...options }: ExchangeOptions & { readonly error: { readonly code: string } },
): string {
  const status = AGENT_ERRORS.find(({ code }) => code === error.code)?.status ?? 0
  const type = errorComponent(operation) === 'OAuthError' ? JSON_TYPE : 'application/problem+json'
  return `${request(operation, urls, options)}\n\n${response(status, error, type, options.responseHeaders)}`
}

function request(operation: Operation, urls: ServiceUrls, options: ExchangeOptions): string {
  const { method, path, bodyType = JSON_TYPE } = operation
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => options.params?.[name] ?? '')
  const body = exampleBody(operation, urls, options)
  return block([
    `${method.toUpperCase()} ${urls.origin}${filled}`,
    ...headerLines({ ...options.headers, ...(body && { 'Content-Type': bodyType }) }),
    ...(body ? ['', bodyType === FORM_TYPE ? encodeForm(body) : oneLine(body)] : []),
  ])
}

function exampleBody(operation: Operation, urls: ServiceUrls, { body, with: more }: ExchangeOptions) {
  const examples = operation.bodyExamples
  if (!examples) return undefined
  const example = examples[body ?? Object.keys(examples)[0] ?? '']
  if (!example) throw new Error(`${operation.operationId} has no body example ${body}`)
  return { ...(example(urls) as object), ...more }
}

const response = (status: number, body?: object, type = JSON_TYPE, headers: object = {}) =>
  block([
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...headerLines({ ...headers, ...(body && { 'Content-Type': type }) }),
    ...(body ? ['', pretty(body)] : []),
  ])

const headerLines = (headers: object) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

const block = (lines: readonly string[]) => `\`\`\`http\n${lines.join('\n')}\n\`\`\``

/** Angle brackets, which mark what a reader replaces, stay readable. */
const encodeForm = (fields: object) =>
  new URLSearchParams(fields as Record<string, string>)
    .toString()
    .replaceAll('%3C', '<')
    .replaceAll('%3E', '>')

const oneLine = (value: object) =>
  JSON.stringify(value, null, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/([{[]) | ([}\]])/g, '$1$2')

/** Writes JSON with a member a line, and lists of plain values on one line. */
export const pretty = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(
    /\[\n\s+([^[\]{}]*?)\n\s+\]/g,
    (_, items: string) => `[${items.replaceAll(/\n\s+/g, ' ')}]`,
  )
