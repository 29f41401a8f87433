import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import compose from 'koa-compose'
import type { z } from 'zod'
import { clientLimits } from '../limits/client-limits.ts'
import type { LimitPolicy, LimitState } from '../limits/limit-store.ts'
import type { Limiter } from '../limits/limiter.ts'
import { spendLimits } from '../limits/spend-limits.ts'
import { type InputMistake, Problem } from '../problems/problem.ts'
import type { ProblemCode } from '../problems/problems.ts'
import { addressNetworks } from '../request/client-address.ts'
import { requireSameOrigin } from '../request/cross-origin.ts'
import { readForm, readJson } from '../request/read-body.ts'
import { cachePublicly, type PreparedResponse, publicCaching, setPreparedBody } from './prepared-response.ts'
import {
  type Access,
  type Caller,
  listEndpoints,
  listMethods,
  type RawRoute,
  type RequestFacts,
  type Route,
  type RouteInput,
  type RouteReply,
} from './route.ts'

export interface Authenticators {
  /** Checks an access token, or throws the 401, 403 or 503 problem. */
  bearer?(ctx: Context, scopes: readonly string[]): Promise<Caller>
  /** Marks the proof of a caller as used, or throws the 401 or 503 problem. */
  useProof?(ctx: Context, scopes: readonly string[], proof: NonNullable<Caller['proof']>): Promise<void>
  /** Checks client credentials, or throws the 401, 429 or 503 problem. */
  client?(ctx: Context): Promise<Caller>
}

interface MountDependencies {
  readonly limiter: Limiter
  readonly authenticators: Authenticators
}

/*
 * Serves declared routes (`route.ts`): limits, authentication, validation, the handler, and the response by its schema.
 */

/**
 * Creates the middleware that serves the routes, and responds with 405 and `Allow` to other methods on their paths. All
 * routes of one path must therefore be in one call.
 */
export function mountRoutes(routes: readonly (Route | RawRoute)[], deps: MountDependencies): Middleware {
  const router = new Router({ sensitive: true, strict: true })
  /** Routes without parameters, by method and path. */
  const exact = new Map<string, Route | RawRoute>()
  for (const route of routes) {
    router.register(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), [...listMethods(route)], (ctx) =>
      serve(ctx, route, deps),
    )
    for (const { method, path } of listEndpoints([route]))
      if (isFirstMatch(router, method, path)) exact.set(`${method} ${path}`, route)
  }
  const serveExact: Middleware = (ctx, next) => {
    const route = exact.get(`${ctx.method} ${ctx.path}`)
    return route ? serve(ctx, route, deps) : next()
  }
  const refuseOtherMethods: Middleware = async (ctx, next) => {
    const { path: layers } = router.match(ctx.path, ctx.method)
    const [first] = layers
    if (!first) {
      await next()
      return
    }
    ctx.state['route'] = routes[router.stack.indexOf(first)]?.path
    const allow = [...new Set(layers.flatMap((layer) => layer.methods))].sort().join(', ')
    throw new Problem('method-not-allowed', { detail: `Use ${allow} here.`, headers: { allow } })
  }
  return compose([serveExact, router.routes() as Middleware, refuseOtherMethods])
}

/** True if the router would choose its last route for this path; a route with parameters may precede it. */
const isFirstMatch = (router: Router, method: string, path: string): boolean =>
  !path.includes('{') && router.match(path, method).pathAndMethod[0] === router.stack.at(-1)

function serve(ctx: Context, route: Route | RawRoute, deps: MountDependencies): Promise<void> {
  ctx.state['route'] = route.path
  return 'methods' in route ? serveRaw(ctx, route, deps) : serveRoute(ctx, route, deps)
}

async function serveRaw(ctx: Context, route: RawRoute, { limiter }: MountDependencies): Promise<void> {
  await limitAddress(ctx, limiter, route.limits)
  await route.serve(ctx)
}

/** Runs, in this order: limits by address, authentication, limits by client, use of the proof, validation, the handler. */
async function serveRoute(ctx: Context, route: Route, deps: MountDependencies): Promise<void> {
  if (route.form) requireSameOrigin(ctx, route.form === 'unguessable')
  const credentials = route.access !== 'open' && ctx.get('authorization') !== ''
  await limitAddress(ctx, deps.limiter, [
    ...(route.limits.address ?? []),
    ...(credentials ? [] : (route.limits.anonymous ?? [])),
  ])
  const take = async (policy: LimitPolicy, subject: string) =>
    spendLimits(ctx, await deps.limiter.take(policy, subject))
  const request: RequestFacts = {
    id: String(ctx.state['requestId']),
    path: ctx.path,
    network: () => addressNetworks(String(ctx.state['address'])).at(-1)?.network ?? '',
    accepts: (...types) => ctx.accepts(types) || undefined,
    header: (name) => ctx.get(name),
    take,
    takeForAddress: (policy) => limitAddress(ctx, deps.limiter, [policy]),
  }
  let caller: Caller | undefined
  try {
    caller = await authenticate(ctx, route.access, credentials, deps.authenticators)
  } catch (refusal) {
    const readRouteBody = () => readBody(ctx, route)
    const reply = await route.onRefusedCaller?.(refusal, { request, readBody: readRouteBody })
    if (!reply) throw refusal
    return send(ctx, route, reply)
  }
  if (caller) {
    ctx.state['caller'] = caller
    for (const { policy, subject } of clientLimits(route.limits, caller)) await take(policy, subject)
    if (caller.proof) await useProof(ctx, route.access, caller.proof, deps.authenticators)
  }
  const input: RouteInput = { ...(caller && { caller }), ...(await parseParts(ctx, route)), request }
  send(ctx, route, await route.handle(input))
}

async function limitAddress(ctx: Context, limiter: Limiter, policies: readonly LimitPolicy[]): Promise<void> {
  const address = String(ctx.state['address'])
  const states: LimitState[] = []
  for (const policy of policies) {
    const state = await limiter.takeForAddress(policy, address)
    states.push(state)
    if (!state.allowed) break
  }
  spendLimits(ctx, ...states)
}

async function authenticate(
  ctx: Context,
  access: Access,
  credentials: boolean,
  by: Authenticators,
): Promise<Caller | undefined> {
  if (access === 'open' || (access === 'public' && !credentials)) return undefined
  const check =
    access === 'client' ? by.client?.(ctx) : by.bearer?.(ctx, access === 'public' ? [] : access.scopes)
  if (!check) throw new Error('the app mounts a route without the authenticator that it needs')
  return check
}

async function useProof(
  ctx: Context,
  access: Access,
  proof: NonNullable<Caller['proof']>,
  by: Authenticators,
): Promise<void> {
  if (!by.useProof) throw new Error('the app accepts proofs that it cannot mark as used')
  await by.useProof(ctx, typeof access === 'object' ? access.scopes : [], proof)
}

async function parseParts(
  ctx: Context,
  route: Route,
): Promise<Pick<RouteInput, 'body' | 'query' | 'params'>> {
  const { body, query, params } = route.request ?? {}
  return {
    ...(params && { params: parseInput(params, 'params', ctx['params']) }),
    ...(query && { query: parseInput(query, 'query', collectMembers(new URLSearchParams(ctx.querystring))) }),
    ...(body && { body: parseInput(body, 'body', await readBody(ctx, route), route.bodyProblem) }),
  }
}

/** Collects parameters by name. Koa's own `ctx.query` takes quadratic time: a second for 8 000 parameters. */
function collectMembers(parameters: URLSearchParams): Record<string, string | string[]> {
  if (parameters.size === 0) return {}
  const members = new Map<string, string | string[]>()
  for (const [name, value] of parameters) {
    const earlier = members.get(name)
    if (earlier === undefined) members.set(name, value)
    else if (Array.isArray(earlier)) earlier.push(value)
    else members.set(name, [earlier, value])
  }
  return Object.fromEntries(members)
}

async function readBody(ctx: Context, route: Route): Promise<unknown> {
  if (route.form) return collectMembers(await readForm(ctx, 'Send the form of the page.'))
  const sent = await readJson(ctx)
  if (sent !== undefined) return sent
  if (route.bodyOptional) return {}
  throw new Problem('invalid-request', {
    detail: 'Send a JSON object as the body, with Content-Type: application/json.',
  })
}

function send(ctx: Context, route: Route, reply: RouteReply): void {
  const schema = route.responses[reply.status]
  if (schema === undefined) throw new Error(`${route.operationId} may not answer ${reply.status}`)
  if (reply.prepared) return sendPrepared(ctx, route, reply, reply.prepared)
  // Parsed before anything is set, since a body that the schema refuses becomes an error response.
  const content = schema && (reply.text?.content ?? JSON.stringify(schema.parse(reply.body)))
  ctx.set(reply.headers ?? {})
  ctx.body = content
  // After the body, since Koa sets 204 for a null body.
  ctx.status = reply.status
  if (content === null) return
  if (reply.text) ctx.set('content-type', reply.text.type)
  else ctx.type = 'application/json'
  if (isStorable(route, reply) && reply.status === 200) publicCaching(ctx, content)
}

function sendPrepared(ctx: Context, route: Route, reply: RouteReply, response: PreparedResponse): void {
  ctx.set(reply.headers ?? {})
  const tag = setPreparedBody(ctx, response)
  ctx.status = reply.status
  ctx.set('content-type', response.type)
  if (isStorable(route, reply)) cachePublicly(ctx, tag)
}

const isStorable = (route: Route, reply: RouteReply) =>
  route.cache === 'public' && reply.headers?.['cache-control'] === undefined

type InputPlace = 'body' | 'query' | 'params'

/** Further mistakes are counted but not listed, so that a small body cannot cause a large response. */
const MAX_LISTED = 50

/**
 * Parses one part of a request, reporting all its mistakes at once.
 *
 * @throws {Problem} with `errors`; an invalid path parameter is `not-found`, since no such path exists
 */
function parseInput(
  schema: z.ZodType,
  place: InputPlace,
  data: unknown,
  code: ProblemCode = 'invalid-request',
): unknown {
  const parsed = schema.safeParse(data, { reportInput: true })
  if (parsed.success) return parsed.data
  if (place === 'params') throw new Problem('not-found')
  throw inputProblem(
    code,
    parsed.error.issues.flatMap((issue) => mistakes(place, issue)),
  )
}

function inputProblem(code: ProblemCode, all: readonly InputMistake[]): Problem {
  const errors = all.slice(0, MAX_LISTED)
  const [first] = errors
  if (!first) return new Problem(code)
  const others = all.length - 1
  const more =
    others === 0 ? '' : others === 1 ? ' There is 1 more mistake.' : ` There are ${others} more mistakes.`
  return new Problem(code, { detail: `${first.pointer}: ${first.detail}.${more}`, errors })
}

function mistakes(place: InputPlace, issue: z.core.$ZodIssue): InputMistake[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: pointer(place, [...issue.path, key]),
      detail: 'is not a member we know; leave it out',
    }))
  }
  return [{ pointer: pointer(place, issue.path), detail: describeIssue(issue) }]
}

/** Formats a JSON pointer as a fragment (RFC 6901 §6), or the name of a query parameter. Names are cut at 60 characters. */
function pointer(place: InputPlace, path: readonly PropertyKey[]): string {
  const steps = path.map((step) => String(step).slice(0, 60).toWellFormed())
  if (place === 'query') return `?${steps.map(encodeURIComponent).join('.')}`
  return `#${steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message
  const expected = `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  return issue.input === undefined ? `is missing; it ${expected}` : expected
}
