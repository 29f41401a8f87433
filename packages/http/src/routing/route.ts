import type { Context } from 'koa'
import type { z } from 'zod'
import type { LimitPolicy } from '../limits/limit-store.ts'
import type { ProblemCode } from '../problems/problems.ts'
import type { PreparedResponse } from './prepared-response.ts'

/** Who calls: a client whose credentials or whose token were checked. */
export interface Caller {
  readonly clientId: string
  /** Of the person's claim, where the authorization server names it. */
  readonly registrationId?: string
  readonly scopes: ReadonlySet<string>
}

/**
 * Who may call. `open`: anybody, `Authorization` is not looked at. `public`: anybody, but a token that is sent
 * must be valid. Scopes: a bearer token that holds all of them. `client`: client credentials (RFC 6749 §2.3).
 */
export type Access = 'open' | 'public' | 'client' | { readonly scopes: readonly string[] }

/**
 * Policies by whom they count. `anonymous` counts the address of requests without `Authorization`; on an `open`
 * route, where that header proves nothing, of all requests.
 */
export interface RouteLimits {
  readonly address?: readonly LimitPolicy[]
  readonly anonymous?: readonly LimitPolicy[]
  readonly client?: readonly LimitPolicy[]
}

/** Facts about the request that a handler may use; it never sees Koa. */
export interface RequestFacts {
  readonly id: string
  /** The widest network that limits count the caller under: an IPv4 address, or an IPv6 /48. Never to be stored in clear. */
  network(): string
  /** The media type among those offered that `Accept` asks for; the first of equals, undefined for none. */
  accepts(...types: string[]): string | undefined
  /** A header of the request; empty when there is none. */
  header(name: string): string
  /** Takes one from a policy that only the handler can name the subject of, such as an e-mail address. */
  take(policy: LimitPolicy, subject: string): Promise<void>
  /** Takes one for the address that asks, where only the handler knows which policy applies. */
  takeForAddress(policy: LimitPolicy): Promise<void>
}

type Inputs = { body?: z.ZodType; query?: z.ZodType; params?: z.ZodType }
type Parsed<I extends Inputs> = { [K in keyof I]: I[K] extends z.ZodType ? z.output<I[K]> : never }
/** A schema for each status; `null` for an answer without a body. */
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
    : { caller: Caller }

/** An answer in another form than JSON, such as Markdown. */
interface TextReply {
  /** `Content-Type`, sent exactly so. */
  readonly type: string
  readonly content: string
}

interface RouteSpec<I extends Inputs, R extends Replies, A extends Access> {
  method: 'get' | 'post' | 'put' | 'delete'
  /** Absolute, parameters as `/{slug}`. */
  path: `/${string}`
  operationId: string
  summary: string
  access: A
  limits: RouteLimits
  request?: I
  /** True when a request may come without a body; `body` is then parsed from `{}`. */
  bodyOptional?: boolean
  /**
   * When the body is the form of a page of ours: form-encoded, and refused (403) from anywhere else. `unguessable` when
   * it holds a secret and its page sends no referrer: browsers that do not say `Sec-Fetch-Site` then hide the origin.
   */
  form?: true | 'unguessable'
  /** The body is invalid: answered with this code instead of `invalid-request`. */
  bodyProblem?: ProblemCode
  /**
   * What may leave the process. A body is parsed by its schema, so an unlisted member cannot leak; a body that the
   * schema refuses, or a status that is not listed, is answered 500.
   */
  responses: R
  /** `public`: anybody may keep the answer for 300 s. Absent: `no-store`. */
  cache?: 'public'
  handle(input: Parsed<I> & WithCaller<A> & { request: RequestFacts }): Promise<Reply<R>> | Reply<R>
}

/** What a handler is given, with the types of its schemas forgotten. */
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

/** A route with its types forgotten: what mounting and documenting need. */
export interface Route extends Omit<RouteSpec<Inputs, Replies, Access>, 'handle'> {
  handle(input: RouteInput): Promise<RouteReply> | RouteReply
}

/** An endpoint that reads its request and writes its response itself, since OAuth or a library says how. */
export interface RawRoute {
  readonly methods: readonly string[]
  /** Exact and absolute. */
  readonly path: string
  /** Count the address, before anything is read. */
  readonly limits: readonly LimitPolicy[]
  serve(ctx: Context): Promise<void>
}

/** Every method and path that the routes answer. */
export const listEndpoints = (routes: readonly (Route | RawRoute)[]): { method: string; path: string }[] =>
  routes.flatMap((route) => listMethods(route).map((method) => ({ method, path: route.path })))

export const listMethods = (route: Route | RawRoute): readonly string[] =>
  'methods' in route ? route.methods : [route.method.toUpperCase()]

/** Ties the schemas of a route to its handler. It only carries types; mounting does the work. */
export function defineRoute<
  const I extends Inputs = Record<never, never>,
  const R extends Replies = Record<never, never>,
  const A extends Access = Access,
>(spec: RouteSpec<I, R, A>): Route {
  return spec as unknown as Route
}
