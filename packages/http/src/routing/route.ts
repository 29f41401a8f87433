import type { Context } from 'koa'
import type { z } from 'zod'
import type { LimitPolicy } from '../limits/limit-store.ts'
import type { ProblemCode } from '../problems/problems.ts'
import type { PreparedResponse } from './prepared-response.ts'

/*
 * The declaration of a route: access, limits, request and response schemas, and the handler. `mount-routes.ts` serves
 * routes, and `packages/metadata` describes them.
 */

/** The authenticated client of a request, identified by its credentials or token. */
export interface Caller {
  readonly clientId: string
  /** The host that the client has proven to control, by its Client ID Metadata Document; absent unless proven. */
  readonly verifiedDomain?: string
  /** The registration id of the person's e-mail verification, if introspection returned one. */
  readonly registrationId?: string
  readonly scopes: ReadonlySet<string>
  /** The verified DPoP proof of the request (RFC 9449), if the token is bound to a key; `iat` in seconds since 1970. */
  readonly proof?: { readonly jkt: string; readonly jti: string; readonly iat: number }
}

/** A caller that was authenticated by client credentials. */
export interface AuthenticatedClient extends Caller {
  /**
   * The credential version of the client when it was authenticated. The version rises when a credential is removed, which may
   * happen before the handler runs. So a handler that changes the client compares the versions.
   */
  readonly credentialVersion: number
}

/**
 * The callers that a route permits. `open`: anybody, and `Authorization` is ignored. `public`: anybody, but if a token is sent, it
 * must be valid. `scopes`: a bearer token with all of them. `client`: client credentials (RFC 6749 §2.3).
 */
export type Access = 'open' | 'public' | 'client' | { readonly scopes: readonly string[] }

/**
 * Limit policies by what they count. `address` counts the address of every request. `anonymous` counts the address of
 * requests without `Authorization`; on an `open` route, where that header proves nothing, of all requests. `client`
 * counts the client. For a client with a verified domain, `verified` replaces `client`, and `domain` counts all clients
 * of its registrable domain together, because a domain can have any number of clients.
 */
export interface RouteLimits {
  readonly address?: readonly LimitPolicy[]
  readonly anonymous?: readonly LimitPolicy[]
  readonly client?: readonly LimitPolicy[]
  readonly verified?: readonly LimitPolicy[]
  readonly domain?: readonly LimitPolicy[]
}

/** The request as a handler sees it, without Koa. */
export interface RequestFacts {
  readonly id: string
  /** The path as it was sent, without the query. */
  readonly path: string
  /** Returns the widest network that limits count: an IPv4 address, or an IPv6 /48. Do not store it in plaintext. */
  network(): string
  /** Returns the offered media type that `Accept` prefers, the first of equal ones; undefined if it accepts none. */
  accepts(...types: string[]): string | undefined
  /** Returns a request header; empty when it is absent. */
  header(name: string): string
  /**
   * Counts the request against a policy whose subject only the handler knows, such as an e-mail address.
   *
   * @throws {Problem} `rate-limited`; `unavailable` for a policy with `failsClosed`
   */
  take(policy: LimitPolicy, subject: string): Promise<void>
  /** Does the same for the client's address, against a policy that only the handler can choose. */
  takeForAddress(policy: LimitPolicy): Promise<void>
}

type Inputs = { body?: z.ZodType; query?: z.ZodType; params?: z.ZodType }
type Parsed<I extends Inputs> = { [K in keyof I]: I[K] extends z.ZodType ? z.output<I[K]> : never }
/** The body schema for each status; `null` for a response without a body. */
type Replies = Record<number, z.ZodType | null>
type ReplyBody<Schema> = Schema extends z.ZodType
  ? { body: z.input<Schema> } | { text: TextReply } | { prepared: PreparedResponse }
  : { body?: undefined }
type Reply<R extends Replies> = {
  [S in keyof R]: { status: S; headers?: Record<string, string> } & ReplyBody<R[S]>
}[keyof R]
type WithCaller<A> = A extends 'open'
  ? unknown
  : A extends 'public'
    ? { caller?: Caller }
    : A extends 'client'
      ? { caller: AuthenticatedClient }
      : { caller: Caller }

/** A response that is not JSON, such as Markdown. */
interface TextReply {
  /** `Content-Type`, sent unchanged. */
  readonly type: string
  readonly content: string
}

interface RouteSpec<I extends Inputs, R extends Replies, A extends Access> {
  method: 'get' | 'post' | 'put' | 'delete'
  /** An absolute path, with parameters as `/{slug}`. */
  path: `/${string}`
  operationId: string
  summary: string
  access: A
  limits: RouteLimits
  request?: I
  /** True if the body may be absent. `body` is then parsed from `{}`. */
  bodyOptional?: boolean
  /**
   * Set if the body is a form of one of our pages: form-encoded, and refused (403) from a page of another origin.
   * `unguessable` if the form has a secret and its page sends no referrer. Browsers without `Sec-Fetch-Site` then send
   * `Origin: null`.
   */
  form?: true | 'unguessable'
  /** The problem code for a body that its schema rejects, instead of `invalid-request`. */
  bodyProblem?: ProblemCode
  /**
   * The responses that the handler may return. JSON bodies are parsed by their schema, so members that it does not list
   * cannot leak. An unlisted status, or a body that the schema rejects, becomes 500.
   */
  responses: R
  /**
   * `public` lets shared caches store a 200 response for 300 s, unless the request has credentials or the reply sets
   * its own `cache-control`. The default is `no-store`.
   */
  cache?: 'public'
  handle(input: Parsed<I> & WithCaller<A> & { request: RequestFacts }): Promise<Reply<R>> | Reply<R>
  /** Called with the error of the credentials check. May return a response to send instead. */
  onRefusedCaller?(refusal: unknown, input: RefusedInput): Promise<RouteReply | undefined>
}

interface RefusedInput {
  readonly request: RequestFacts
  /**
   * Reads the body.
   *
   * @throws {Problem} 400, 413, 415 or 429
   */
  readBody(): Promise<unknown>
}

/** A handler's input, with its schemas' types erased. */
export interface RouteInput {
  readonly body?: unknown
  readonly query?: unknown
  readonly params?: unknown
  readonly caller?: Caller
  readonly request: RequestFacts
}

export interface RouteReply {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly text?: TextReply
  readonly prepared?: PreparedResponse
}

/** A route with its schemas' types erased, for mounting and documenting. */
export interface Route extends Omit<RouteSpec<Inputs, Replies, Access>, 'handle'> {
  handle(input: RouteInput): Promise<RouteReply> | RouteReply
}

/** An endpoint that reads its request and writes its response itself, because OAuth or a library prescribes them. */
export interface RawRoute {
  readonly methods: readonly string[]
  /** An absolute path, with parameters as `/{uid}`. */
  readonly path: string
  /** Policies that count the address before `serve` is called. */
  readonly limits: readonly LimitPolicy[]
  serve(ctx: Context): Promise<void>
}

/** Lists every method and path that the routes declare. */
export const listEndpoints = (routes: readonly (Route | RawRoute)[]): { method: string; path: string }[] =>
  routes.flatMap((route) => listMethods(route).map((method) => ({ method, path: route.path })))

export const listMethods = (route: Route | RawRoute): readonly string[] =>
  'methods' in route ? route.methods : [route.method.toUpperCase()]

/** Checks at compile time that a handler matches its route's schemas. Does nothing at run time. */
export function defineRoute<
  const I extends Inputs = Record<never, never>,
  const R extends Replies = Record<never, never>,
  const A extends Access = Access,
>(spec: RouteSpec<I, R, A>): Route {
  return spec as unknown as Route
}
