import type { z } from 'zod'
import type { ServiceUrls } from '../service-urls.ts'

/** The tags of the API description, in display order. */
export const TAGS = {
  Guides: 'Guides to U.S. immigration, each backed by official sources.',
  Answers: 'Answers from the guides, or a hand-off to an attorney.',
  Waitlist: 'The product waitlist.',
  Contact: 'Messages to our staff, for a person who confirmed the agent.',
  Agents: 'Registration of agents, their credentials and e-mail verification.',
  OAuth: 'Access tokens.',
  Health: 'The health of the service.',
} as const

type RequestSchemas = { body?: z.ZodType; query?: z.ZodType; params?: z.ZodType }
type ResponseSchemas = Record<number, z.ZodType | null>
type Access = 'open' | 'public' | 'client' | { readonly scopes: readonly string[] }

/** The documentation of a success response. */
interface ResponseDoc {
  /** The meaning of the status for this operation. Markdown text. */
  readonly description: string
  /** Creates an example body, which the schema accepts. Absent for a response without a body. */
  readonly example?: (urls: ServiceUrls) => unknown
}

/**
 * The declaration of a public operation. The API description is generated from it, and the route of the operation passes its
 * members on to `defineRoute`.
 */
interface OperationSpec<I extends RequestSchemas, R extends ResponseSchemas, A extends Access> {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** The absolute path, with parameters as `/{slug}`. */
  readonly path: `/${string}`
  /** The id of the operation. Client generators use it as the name of a method. */
  readonly operationId: string
  readonly summary: string
  /** Markdown text. */
  readonly description: string
  readonly tag: keyof typeof TAGS
  /** The callers that may use the operation. `Access` in `packages/http` explains the values. */
  readonly access: A
  readonly request?: I
  /** The schemas of the request headers that only this operation reads. */
  readonly requestHeaders?: z.ZodObject
  /** The media type of the request body, if it is not JSON. */
  readonly bodyMediaType?: 'application/x-www-form-urlencoded'
  /** True if a request may have no body. */
  readonly bodyOptional?: boolean
  /** Functions that create request bodies that the schema accepts, by example name. */
  readonly bodyExamples?: Readonly<Record<string, (urls: ServiceUrls) => unknown>>
  /** The schema for each success status; `null` for a response without a body. */
  readonly responses: R
  /** The documentation of each success status. */
  readonly responseDocs: { readonly [S in keyof R]: ResponseDoc }
  /** A media type that the response can have instead of JSON. The client selects it with `Accept`. */
  readonly alternativeMediaType?: string
  /** Descriptions, by status, of the errors that the API description lists separately. All others share one response. */
  readonly documentedErrors?: Readonly<Record<number, string>>
  /** `public`: shared caches may store the response for 300 s. If absent, the response has `no-store`. */
  readonly cache?: 'public'
}

/** Any operation, without the types of its schemas. */
export type Operation = OperationSpec<RequestSchemas, ResponseSchemas, Access>

/**
 * Formats a time for the examples.
 *
 * @param ms the milliseconds since the registration of the example agent
 */
export const formatExampleTime = (ms: number): string =>
  new Date(Date.parse('2026-11-20T14:00:00Z') + ms).toISOString()

/** A placeholder for a JWT in examples. A real one is much longer. */
export const EXAMPLE_ASSERTION = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'

/** The time from the example agent's registration to its first token, and also to its confirmation by e-mail. */
export const EXAMPLE_FIRST_USE_MS = 4 * 60_000

/** Declares an operation. Its type keeps the types of the schemas, so that the compiler checks the route handler against them. */
export const defineOperation = <
  const I extends RequestSchemas = Record<never, never>,
  const R extends ResponseSchemas = Record<never, never>,
  const A extends Access = Access,
>(
  operation: OperationSpec<I, R, A>,
): OperationSpec<I, R, A> => operation
