import { z } from 'zod'
import type { ZodOpenApiHeadersObject, ZodOpenApiResponseObject } from 'zod-openapi'
import type { Operation } from '../operations/operation.ts'
import type { ServiceUrls } from '../service-urls.ts'

/** The `code` of an error. It is more specific than `error`, the error code of OAuth. */
const ProblemCode = z
  .string()
  .regex(/^[a-z]+(-[a-z]+)*$/)
  .meta({ description: 'The kind of error. Decide by it.' })

/** An RFC 9457 problem with our extension members. */
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

/** A problem with the two members that OAuth clients read. */
export const AgentProblem = Problem.extend(OAuthMembers)

/** An error as in RFC 6749 §5.2, with our member `code`. */
export const OAuthError = z.object({
  ...OAuthMembers,
  error_uri: z.url().meta({ description: 'A page that says what to do next.' }),
  code: ProblemCode,
})

const PROBLEM_TYPE = 'application/problem+json'

/** Returns the name of the response component for the errors of an operation. The tag decides which one it is. */
export function getErrorComponentName({ tag }: Operation) {
  if (tag === 'OAuth') return 'OAuthError'
  return tag === 'Agents' ? 'AgentProblem' : 'Problem'
}

const describeTextHeader = (description: string) => ({ description, schema: { type: 'string' as const } })

/** The header components. Most other headers are explained in the introduction of the API description. */
export const HEADERS = {
  ETag: describeTextHeader('Send it as `If-None-Match`: 304 means that nothing changed.'),
  'Retry-After': {
    description: 'With 429 and 503: seconds to wait.',
    schema: { type: 'integer' as const, minimum: 0 },
  },
  'WWW-Authenticate': describeTextHeader(
    'With 401 and 403: the scheme, and for tokens `scope` and `resource_metadata`.',
  ),
  Allow: describeTextHeader('With 405: the supported methods.'),
}

/** Creates references to header components, by header name. */
export const referToHeaders = (...names: (keyof typeof HEADERS)[]): ZodOpenApiHeadersObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const errorHeaders = referToHeaders('Retry-After', 'WWW-Authenticate', 'Allow')

const createProblemExample = (urls: ServiceUrls) => ({
  type: urls.problem('invalid-request'),
  title: 'The request is not valid',
  status: 400,
  detail: '#/email: is missing.',
  instance: '/api/waitlist',
  code: 'invalid-request',
  request_id: '0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11',
  errors: [{ pointer: '#/email', detail: 'is missing' }],
})

/** Creates the error response components, one for each error format. The operations refer to these components. */
export function createErrorResponses(urls: ServiceUrls): Record<string, ZodOpenApiResponseObject> {
  const oauthExample = {
    error: 'invalid_scope',
    error_description: 'This client cannot have any of the requested scopes.',
    error_uri: urls.problem('invalid-scope'),
    code: 'invalid-scope',
  }
  return {
    Problem: {
      description: 'A failure (RFC 9457): `code` identifies it, `detail` says what to do next.',
      headers: errorHeaders,
      content: { [PROBLEM_TYPE]: { schema: Problem, example: createProblemExample(urls) } },
    },
    AgentProblem: {
      description: 'A failure (RFC 9457), with `error` and `error_description` for OAuth clients.',
      headers: errorHeaders,
      content: { [PROBLEM_TYPE]: { schema: AgentProblem } },
    },
    OAuthError: {
      description: 'A failure (RFC 6749, section 5.2).',
      headers: errorHeaders,
      content: { 'application/json': { schema: OAuthError, example: oauthExample } },
    },
  }
}

/** Describes an error that an operation documents separately. Its body is a `Problem`. */
export const describeDocumentedError = (description: string): ZodOpenApiResponseObject => ({
  description,
  content: { [PROBLEM_TYPE]: { schema: Problem } },
})
