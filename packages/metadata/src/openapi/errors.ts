import { z } from 'zod'
import type { ZodOpenApiHeadersObject, ZodOpenApiResponseObject } from 'zod-openapi'
import type { Operation } from '../operations/operation.ts'
import type { ServiceUrls } from '../service-urls.ts'

/** In every error body, and more specific than `error`. */
const ProblemCode = z
  .string()
  .regex(/^[a-z]+(-[a-z]+)*$/)
  .meta({ description: 'The kind of error. Decide by it.' })

/** RFC 9457 with our extension members. */
const Problem = z.looseObject({
  type: z.url().meta({ description: 'The page that says what the error means and what to do next.' }),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string().meta({ description: 'What is wrong in this request, and what to do next.' }),
  instance: z.string().meta({ description: 'The path of the request.' }),
  code: ProblemCode,
  request_id: z.string().meta({ description: 'Name it when you report a fault.' }),
  errors: z
    .array(
      z.object({
        pointer: z.string().meta({ description: 'A JSON pointer into the body (`#/email`), or `?limit`.' }),
        detail: z.string(),
      }),
    )
    .optional()
    .meta({ description: 'For invalid input: all its mistakes.' }),
})

const OAuthMembers = {
  error: z
    .string()
    .meta({ description: 'The error code of OAuth 2.0. Each `code` has one; several may share it.' }),
  error_description: z.string(),
}

/** The same with the two members that OAuth clients read. */
const AgentProblem = Problem.extend(OAuthMembers)

/** RFC 6749 §5.2, with `code`. */
const OAuthError = z.object({
  ...OAuthMembers,
  error_uri: z.url().meta({ description: 'The page that says what the error means and what to do next.' }),
  code: ProblemCode,
})

const PROBLEM_TYPE = 'application/problem+json'

/** The component that describes every failure of an operation: what OAuth clients call fails in the words of OAuth. */
export const errorComponent = ({ tag }: Operation) =>
  tag === 'OAuth' ? 'OAuthError' : tag === 'Agents' ? 'AgentProblem' : 'Problem'

export const ERROR_SCHEMAS = { Problem, AgentProblem, OAuthError }

const text = (description: string) => ({ description, schema: { type: 'string' as const } })

/** Headers of the answers, by their names. */
export const HEADERS = {
  'X-Request-Id': text('The `X-Request-Id` of the request, or one made for it.'),
  RateLimit: text('What is left of each limit (draft-ietf-httpapi-ratelimit-headers).'),
  'RateLimit-Policy': text('The limits that were counted (draft-ietf-httpapi-ratelimit-headers).'),
  ETag: text('Send it as `If-None-Match`: 304 says that nothing changed.'),
  'Retry-After': {
    description: 'With 429 and 503: seconds to wait.',
    schema: { type: 'integer' as const, minimum: 0 },
  },
  'WWW-Authenticate': text('With 401 and 403: the scheme, and for tokens the scope and `resource_metadata`.'),
  Allow: text('With 405: the methods of this address.'),
}

const headers = (...names: (keyof typeof HEADERS)[]): ZodOpenApiHeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

export const headersOfAnswer = (cached: boolean) =>
  headers('X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...(cached ? (['ETag'] as const) : []))

const headersOfError = headers(
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'Allow',
)

const problemExample = (urls: ServiceUrls) => ({
  type: urls.problem('invalid-request'),
  title: 'The request is not valid',
  status: 400,
  detail: '#/email: must be an e-mail address such as ana@example.org.',
  instance: '/api/waitlist',
  code: 'invalid-request',
  request_id: '0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11',
  errors: [{ pointer: '#/email', detail: 'must be an e-mail address such as ana@example.org' }],
})

/** What each shape of failure looks like, as components that operations point at. */
export function errorResponses(urls: ServiceUrls): Record<string, ZodOpenApiResponseObject> {
  const agent = {
    type: urls.problem('invalid-client'),
    title: 'Client authentication failed',
    status: 401,
    detail: 'The client is unknown, or its credentials are not accepted.',
    instance: '/api/agent',
    code: 'invalid-client',
    request_id: '0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11',
    error: 'invalid_client',
    error_description: 'The client is unknown, or its credentials are not accepted.',
  }
  const oauth = {
    error: 'invalid_scope',
    error_description: 'This client cannot have any of the requested scopes.',
    error_uri: urls.problem('invalid-scope'),
    code: 'invalid-scope',
  }
  return {
    Problem: {
      description: 'A failure (RFC 9457): `code` says which, `detail` what to do next.',
      headers: headersOfError,
      content: { [PROBLEM_TYPE]: { schema: Problem, example: problemExample(urls) } },
    },
    AgentProblem: {
      description: 'A failure (RFC 9457), with `error` and `error_description` for OAuth clients.',
      headers: headersOfError,
      content: { [PROBLEM_TYPE]: { schema: AgentProblem, example: agent } },
    },
    OAuthError: {
      description: 'A failure (RFC 6749, section 5.2), always JSON.',
      headers: headersOfError,
      content: { 'application/json': { schema: OAuthError, example: oauth } },
    },
  }
}

/** A failure that has its own number, in the words of the operation. */
export const numberedError = (description: string, urls: ServiceUrls): ZodOpenApiResponseObject => ({
  description,
  headers: headersOfAnswer(false),
  content: { [PROBLEM_TYPE]: { schema: Problem, example: problemExample(urls) } },
})
