import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import compose from 'koa-compose'
import type { z } from 'zod'
import { listClientLimits } from '../limits/client-limits.ts'
import { enforceLimits } from '../limits/enforce-limits.ts'
import type { LimitPolicy, LimitState } from '../limits/limit-store.ts'
import type { Limiter } from '../limits/limiter.ts'
import { type InputMistake, Problem } from '../problems/problem.ts'
import type { ProblemCode } from '../problems/problems.ts'
import { listNetworks } from '../request/client-address.ts'
import { requireSameOrigin } from '../request/cross-origin.ts'
import { readForm, readJson } from '../request/read-body.ts'
import {
  allowPublicCaching,
  allowPublicCachingWithTag,
  type PreparedResponse,
  setPreparedBody,
} from './prepared-response.ts'
import {
  type Access,
  type AuthenticatedClient,
  type Caller,
  listEndpoints,
  listMethods,
  type RawRoute,
  type RequestFacts,
  type Route,
  type RouteInput,
  type RouteReply,
} from './route.ts'

/* Serves declared routes (`route.ts`): enforces limits, authenticates, validates, and calls the handler. */

export interface Authenticators {
  /** Verifies an access token. @throws {Problem} 400, 401, 403, 429 or 503 */
  bearer?(ctx: Context, scopes: readonly string[]): Promise<Caller>
  /** Marks a caller's proof as used. @throws {Problem} 401 or 503 */
  useProof?(ctx: Context, scopes: readonly string[], proof: NonNullable<Caller['proof']>): Promise<void>
  /** Verifies client credentials. @throws {Problem} 400, 401, 429 or 503 */
  client?(ctx: Context): Promise<AuthenticatedClient>
}

interface MountDependencies {
  readonly limiter: Limiter
  readonly authenticators: Authenticators
  /** Policies that count the address of a request for which there is no route (404, 405). */
  readonly unmatchedLimits?: readonly LimitPolicy[]
}

/**
 * Creates the middleware that serves the routes. It responds with 405 and `Allow` to other methods on their paths, so
 * all routes of a path must be in the same call.
 */
export function mountRoutes(routes: readonly (Route | RawRoute)[], deps: MountDependencies): Middleware {
  const router = new Router({ sensitive: true, strict: true })
  /** The routes without parameters whose path no earlier route matches. A lookup is faster than the router's scan. */
  const exactRoutes = new Map<string, Route | RawRoute>()
  for (const route of routes) {
    router.register(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), [...listMethods(route)], (ctx) =>
      serve(ctx, route, deps),
    )
    for (const { method, path } of listEndpoints([route]))
      if (isLastRouteReachable(router, method, path)) exactRoutes.set(`${method} ${path}`, route)
  }
  const serveExact: Middleware = (ctx, next) => {
    const route = exactRoutes.get(`${ctx.method} ${ctx.path}`)
    return route ? serve(ctx, route, deps) : next()
  }
  const refuseOtherMethods: Middleware = async (ctx, next) => {
    const { path: layers } = router.match(ctx.path, ctx.method)
    const [firstLayer] = layers
    // The router has one layer for each route, in the same order.
    if (firstLayer) ctx.state['route'] = routes[router.stack.indexOf(firstLayer)]?.path
    await applyAddressLimits(ctx, deps.limiter, deps.unmatchedLimits ?? [])
    if (!firstLayer) return void (await next())
    const methods = [...new Set(layers.flatMap((layer) => layer.methods))].sort().join(', ')
    throw new Problem('method-not-allowed', { detail: `Use ${methods} here.`, headers: { allow: methods } })
  }
  return compose([serveExact, router.routes() as Middleware, refuseOtherMethods])
}

/** Returns whether the route just registered has no parameters, and no earlier route matches its path. */
const isLastRouteReachable = (router: Router, method: string, path: string): boolean =>
  !path.includes('{') && router.match(path, method).pathAndMethod[0] === router.stack.at(-1)

function serve(ctx: Context, route: Route | RawRoute, deps: MountDependencies): Promise<void> {
  ctx.state['route'] = route.path
  return 'methods' in route ? serveRaw(ctx, route, deps) : serveRoute(ctx, route, deps)
}

async function serveRaw(ctx: Context, route: RawRoute, { limiter }: MountDependencies): Promise<void> {
  await applyAddressLimits(ctx, limiter, route.limits)
  await route.serve(ctx)
}

/**
 * Serves a route in this order: same-origin check (forms only), address limits, authentication, client limits, marking
 * the proof as used, validation, the handler. A client that exceeds its limits therefore cannot fill the store of used proofs.
 */
async function serveRoute(ctx: Context, route: Route, deps: MountDependencies): Promise<void> {
  if (route.form) requireSameOrigin(ctx, { acceptNullOrigin: route.form === 'unguessable' })
  const hasCredentials = route.access !== 'open' && ctx.get('authorization') !== ''
  await applyAddressLimits(ctx, deps.limiter, [
    ...(route.limits.address ?? []),
    ...(hasCredentials ? [] : (route.limits.anonymous ?? [])),
  ])
  const take = async (policy: LimitPolicy, subject: string) =>
    enforceLimits(ctx, await deps.limiter.take(policy, subject))
  const request: RequestFacts = {
    id: String(ctx.state['requestId']),
    path: ctx.path,
    network: () => listNetworks(String(ctx.state['address'])).at(-1)?.network ?? '',
    accepts: (...types) => ctx.accepts(types) || undefined,
    header: (name) => ctx.get(name),
    take,
    takeForAddress: (policy) => applyAddressLimits(ctx, deps.limiter, [policy]),
  }
  let caller: Caller | undefined
  try {
    caller = await authenticate(ctx, route.access, hasCredentials, deps.authenticators)
  } catch (error) {
    const readRouteBody = () => readBody(ctx, route)
    const reply = await route.onRefusedCaller?.(error, { request, readBody: readRouteBody })
    if (!reply) throw error
    return sendReply(ctx, route, reply)
  }
  if (caller) {
    ctx.state['caller'] = caller
    for (const { policy, subject } of listClientLimits(route.limits, caller)) await take(policy, subject)
    if (caller.proof) await useProof(ctx, route.access, caller.proof, deps.authenticators)
  }
  const input: RouteInput = { ...(caller && { caller }), ...(await parseParts(ctx, route)), request }
  sendReply(ctx, route, await route.handle(input))
}

async function applyAddressLimits(
  ctx: Context,
  limiter: Limiter,
  policies: readonly LimitPolicy[],
): Promise<void> {
  const address = String(ctx.state['address'])
  const states: LimitState[] = []
  for (const policy of policies) {
    const state = await limiter.takeForAddress(policy, address)
    states.push(state)
    if (!state.allowed) break
  }
  enforceLimits(ctx, ...states)
}

async function authenticate(
  ctx: Context,
  access: Access,
  hasCredentials: boolean,
  authenticators: Authenticators,
): Promise<Caller | undefined> {
  if (access === 'open' || (access === 'public' && !hasCredentials)) return undefined
  const caller =
    access === 'client'
      ? authenticators.client?.(ctx)
      : authenticators.bearer?.(ctx, access === 'public' ? [] : access.scopes)
  if (!caller) throw new Error('the app mounts a route without the authenticator that the route needs')
  return caller
}

async function useProof(
  ctx: Context,
  access: Access,
  proof: NonNullable<Caller['proof']>,
  authenticators: Authenticators,
): Promise<void> {
  if (!authenticators.useProof) throw new Error('the app accepts proofs that it cannot mark as used')
  await authenticators.useProof(ctx, typeof access === 'object' ? access.scopes : [], proof)
}

async function parseParts(
  ctx: Context,
  route: Route,
): Promise<Pick<RouteInput, 'body' | 'query' | 'params'>> {
  const { body, query, params } = route.request ?? {}
  return {
    ...(params && { params: parseInput(params, 'params', ctx['params']) }),
    ...(query && { query: parseInput(query, 'query', groupByName(new URLSearchParams(ctx.querystring))) }),
    ...(body && { body: parseInput(body, 'body', await readBody(ctx, route), route.bodyProblem) }),
  }
}

/** Groups parameters by name; a repeated name has an array. Koa's `ctx.query` takes a second for 8,000 parameters. */
function groupByName(parameters: URLSearchParams): Record<string, string | string[]> {
  if (parameters.size === 0) return {}
  const values = new Map<string, string | string[]>()
  for (const [name, value] of parameters) {
    const earlierValue = values.get(name)
    if (earlierValue === undefined) values.set(name, value)
    else if (Array.isArray(earlierValue)) earlierValue.push(value)
    else values.set(name, [earlierValue, value])
  }
  return Object.fromEntries(values)
}

async function readBody(ctx: Context, route: Route): Promise<unknown> {
  if (route.form) return groupByName(await readForm(ctx, 'Submit the form on the page.'))
  const body = await readJson(ctx)
  if (body !== undefined) return body
  if (route.bodyOptional) return {}
  throw new Problem('invalid-request', {
    detail: 'Send a JSON object as the body, with Content-Type: application/json.',
  })
}

function sendReply(ctx: Context, route: Route, reply: RouteReply): void {
  const schema = route.responses[reply.status]
  if (schema === undefined)
    throw new Error(`${route.operationId} declares no response with status ${reply.status}`)
  if (reply.prepared) return sendPrepared(ctx, route, reply, reply.prepared)
  // Parse before setting anything, because a body that the schema rejects becomes an error response.
  const content = schema && (reply.text?.content ?? JSON.stringify(schema.parse(reply.body)))
  ctx.set(reply.headers ?? {})
  // Set before the body, because Koa otherwise derives a type from the text.
  if (content !== null) ctx.set('content-type', reply.text?.type ?? 'application/json; charset=utf-8')
  ctx.body = content
  // Set after the body, because Koa sets 204 for a null body.
  ctx.status = reply.status
  if (content === null) return
  if (isCacheable(route, reply) && reply.status === 200) allowPublicCaching(ctx, content)
}

function sendPrepared(ctx: Context, route: Route, reply: RouteReply, response: PreparedResponse): void {
  ctx.set(reply.headers ?? {})
  const tag = setPreparedBody(ctx, response)
  ctx.status = reply.status
  ctx.set('content-type', response.type)
  if (isCacheable(route, reply)) allowPublicCachingWithTag(ctx, tag)
}

const isCacheable = (route: Route, reply: RouteReply) =>
  route.cache === 'public' && reply.headers?.['cache-control'] === undefined

type RequestPart = 'body' | 'query' | 'params'

/** Further mistakes are only counted, because a small body must not cause a large response. */
const MAX_LISTED_MISTAKES = 50

/**
 * Parses a part of a request, and reports its mistakes together, the first 50 in detail.
 *
 * @throws {Problem} with `errors`; an invalid path parameter is `not-found`, because no such path exists
 */
export function parseInput(
  schema: z.ZodType,
  part: RequestPart,
  input: unknown,
  code: ProblemCode = 'invalid-request',
): unknown {
  const parsed = schema.safeParse(input, { reportInput: true })
  if (parsed.success) return parsed.data
  if (part === 'params') throw new Problem('not-found')
  throw createInputProblem(
    code,
    parsed.error.issues.flatMap((issue) => toInputMistakes(part, issue)),
  )
}

function createInputProblem(code: ProblemCode, allMistakes: readonly InputMistake[]): Problem {
  const errors = allMistakes.slice(0, MAX_LISTED_MISTAKES)
  const [firstMistake] = errors
  if (!firstMistake) return new Problem(code)
  const otherCount = allMistakes.length - 1
  const countedMistakes = otherCount === 1 ? 'is 1 more mistake' : `are ${otherCount} more mistakes`
  const otherMistakes = otherCount === 0 ? '' : ` There ${countedMistakes}.`
  return new Problem(code, {
    detail: `${firstMistake.pointer}: ${firstMistake.detail}.${otherMistakes}`,
    errors,
  })
}

function toInputMistakes(part: RequestPart, issue: z.core.$ZodIssue): InputMistake[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: formatPointer(part, [...issue.path, key]),
      detail: 'is unknown; leave it out',
    }))
  }
  return [{ pointer: formatPointer(part, issue.path), detail: describeIssue(issue) }]
}

/** Formats a JSON Pointer as a fragment (RFC 6901 §6), or a query parameter's name. Cuts names to 60 characters. */
function formatPointer(part: RequestPart, path: readonly PropertyKey[]): string {
  const steps = path.map((step) => String(step).slice(0, 60).toWellFormed())
  if (part === 'query') return `?${steps.map(encodeURIComponent).join('.')}`
  return `#${steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message
  const requirement = `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  return issue.input === undefined ? `is missing; it ${requirement}` : requirement
}
