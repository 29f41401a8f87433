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
export const Problem = z.looseObject({
  type: z.url().meta({ description: 'A page that says what to do next.' }),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string().meta({ description: 'What is wrong, and what to do next.' }),
  instance: z.string(),
  code: ProblemCode,
  request_id: z.string().meta({ description: 'Quote it when you report a fault.' }),
  errors: z
    .array(
      z.object({
        pointer: z.string().meta({ description: 'A JSON pointer (`#/email`) or a parameter (`?limit`).' }),
        detail: z.string(),
      }),
    )
    .optional()
    .meta({ description: 'Every mistake in the input.' }),
})

const OAuthMembers = {
  error: z
    .string()
    .meta({ description: 'The error code of OAuth 2.0. Each `code` has one; several may share it.' }),
  error_description: z.string(),
}

/** The same with the two members that OAuth clients read. */
export const AgentProblem = Problem.extend(OAuthMembers)

/** RFC 6749 §5.2, with `code`. */
export const OAuthError = z.object({
  ...OAuthMembers,
  error_uri: z.url().meta({ description: 'A page that says what to do next.' }),
  code: ProblemCode,
})

const PROBLEM_TYPE = 'application/problem+json'

/** The component that describes every failure of an operation; operations that OAuth clients call fail in the form of OAuth. */
export const errorComponent = ({ tag }: Operation) =>
  tag === 'OAuth' ? 'OAuthError' : tag === 'Agents' ? 'AgentProblem' : 'Problem'

const text = (description: string) => ({ description, schema: { type: 'string' as const } })

/** The headers of some responses, by name. The description of the API says which headers most responses have. */
export const HEADERS = {
  ETag: text('Send it as `If-None-Match`: 304 means that nothing changed.'),
  'Retry-After': {
    description: 'With 429 and 503: seconds to wait.',
    schema: { type: 'integer' as const, minimum: 0 },
  },
  'WWW-Authenticate': text('With 401 and 403: the scheme, and for tokens `scope` and `resource_metadata`.'),
  Allow: text('With 405: the supported methods.'),
}

export const responseHeaders = (...names: (keyof typeof HEADERS)[]): ZodOpenApiHeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const errorHeaders = responseHeaders('Retry-After', 'WWW-Authenticate', 'Allow')

const problemExample = (urls: ServiceUrls) => ({
  type: urls.problem('invalid-request'),
  title: 'The request is not valid',
  status: 400,
  detail: '#/email: is missing.',
  instance: '/api/waitlist',
  code: 'invalid-request',
  request_id: '0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11',
  errors: [{ pointer: '#/email', detail: 'is missing' }],
})

/** The components that operations refer to, one for each form of failure. */
export function errorResponses(urls: ServiceUrls): Record<string, ZodOpenApiResponseObject> {
  const oauth = {
    error: 'invalid_scope',
    error_description: 'This client cannot have any of the requested scopes.',
    error_uri: urls.problem('invalid-scope'),
    code: 'invalid-scope',
  }
  return {
    Problem: {
      description: 'A failure (RFC 9457): `code` identifies it, `detail` says what to do next.',
      headers: errorHeaders,
      content: { [PROBLEM_TYPE]: { schema: Problem, example: problemExample(urls) } },
    },
    AgentProblem: {
      description: 'A failure (RFC 9457), with `error` and `error_description` for OAuth clients.',
      headers: errorHeaders,
      content: { [PROBLEM_TYPE]: { schema: AgentProblem } },
    },
    OAuthError: {
      description: 'A failure (RFC 6749, section 5.2).',
      headers: errorHeaders,
      content: { 'application/json': { schema: OAuthError, example: oauth } },
    },
  }
}

/** A failure whose status the operation names. */
export const numberedError = (description: string): ZodOpenApiResponseObject => ({
  description,
  content: { [PROBLEM_TYPE]: { schema: Problem } },
})
