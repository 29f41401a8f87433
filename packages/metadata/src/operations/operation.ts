import type { z } from 'zod'
import type { ServiceUrls } from '../service-urls.ts'

/** The tags of the API description, in the order in which a reader meets them. */
export const TAGS = {
  Guides: 'Guides to U.S. immigration, each backed by official sources.',
  Answers: 'Answers from the guides, or a hand-off to an attorney.',
  Waitlist: 'The product waitlist.',
  Contact: 'Messages to our staff, for a person who confirmed the agent.',
  Agents: 'Registration of agents, their credentials and e-mail verification.',
  OAuth: 'Access tokens.',
  Health: 'The health of the service.',
} as const

type Inputs = { body?: z.ZodType; query?: z.ZodType; params?: z.ZodType }
type Replies = Record<number, z.ZodType | null>
type Access = 'open' | 'public' | 'client' | { readonly scopes: readonly string[] }

interface Outcome {
  /** What the status means here. */
  readonly description: string
  /** A body that the schema accepts. */
  readonly example?: (urls: ServiceUrls) => unknown
}

/**
 * The declaration of a public operation. Its route spreads it into `defineRoute`, and the API description is generated
 * from it.
 */
interface OperationSpec<I extends Inputs, R extends Replies, A extends Access> {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** Absolute, parameters as `/{slug}`. */
  readonly path: `/${string}`
  /** Also the name of the method in a generated client. */
  readonly operationId: string
  readonly summary: string
  /** Markdown. */
  readonly description: string
  readonly tag: keyof typeof TAGS
  /** As in `packages/http`: who may call. */
  readonly access: A
  readonly request?: I
  /** Headers of its own that the route reads itself, by the names that are shown. */
  readonly requestHeaders?: z.ZodObject
  /** Of the request body; JSON unless given. */
  readonly bodyType?: 'application/x-www-form-urlencoded'
  /** True when a request may come without a body. */
  readonly bodyOptional?: boolean
  /** Bodies that the schema accepts, by name. */
  readonly bodyExamples?: Readonly<Record<string, (urls: ServiceUrls) => unknown>>
  /** A schema for each status of success; `null` for a response without a body. */
  readonly responses: R
  readonly outcomes: { readonly [S in keyof R]: Outcome }
  /** Another media type of a success, chosen by `Accept`. */
  readonly alsoAs?: string
  /** Failures that the service's specification names by number; all others are one problem. */
  readonly numberedErrors?: Readonly<Record<number, string>>
  /** `public`: caches may store the response for 300 s. Absent: `no-store`. */
  readonly cache?: 'public'
}

/** An operation with its types forgotten. */
export type Operation = OperationSpec<Inputs, Replies, Access>

/** A time in examples, counted from the registration of the agent that they show. */
export const exampleTime = (ms: number): string =>
  new Date(Date.parse('2026-11-20T14:00:00Z') + ms).toISOString()

/** Stands for a JWT in examples, where a true one would be ten times as long. */
export const EXAMPLE_ASSERTION = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'

/** When that agent got its token, or was confirmed. */
export const EXAMPLE_USE_MS = 4 * 60_000

/** Keeps the types of the schemas, which the route's handler is checked against. */
export const defineOperation = <
  const I extends Inputs = Record<never, never>,
  const R extends Replies = Record<never, never>,
  const A extends Access = Access,
>(
  operation: OperationSpec<I, R, A>,
): OperationSpec<I, R, A> => operation
