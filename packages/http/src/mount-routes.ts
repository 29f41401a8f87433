import { createHash } from 'node:crypto'
import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import compose from 'koa-compose'
import type { LimitPolicy } from './limit-store.ts'
import type { Limiter } from './limiter.ts'
import { parseInput } from './parse-input.ts'
import { Problem } from './problem.ts'
import { readJson } from './read-body.ts'
import type { Access, Caller, Route, RouteReply } from './route.ts'
import { spendLimits } from './spend-limits.ts'

export interface Authenticators {
  /** Checks a bearer token, or throws the 401, 403 or 503 problem. */
  bearer?(ctx: Context, scopes: readonly string[]): Promise<Caller>
  /** Checks client credentials, or throws the 401, 429 or 503 problem. */
  client?(ctx: Context): Promise<Caller>
}

/** Serves the routes, and answers 405 with `Allow` for other methods on their paths. */
export function mountRoutes(
  routes: readonly Route[],
  deps: { limiter: Limiter; authenticators: Authenticators },
): Middleware {
  const router = new Router({ sensitive: true, strict: true })
  for (const route of routes) {
    router[route.method](route.path.replaceAll(/\{(\w+)\}/g, ':$1'), (ctx) =>
      serve(ctx as Context, route, deps),
    )
  }
  const refuseOtherMethods: Middleware = async (ctx, next) => {
    const { path: layers } = router.match(ctx.path, ctx.method)
    if (layers.length === 0) return next()
    const allow = [...new Set(layers.flatMap((layer) => layer.methods))].sort().join(', ')
    throw new Problem('method-not-allowed', { detail: `Use ${allow} here.`, headers: { allow } })
  }
  return compose([router.routes() as Middleware, refuseOtherMethods])
}

async function serve(
  ctx: Context,
  route: Route,
  deps: { limiter: Limiter; authenticators: Authenticators },
): Promise<void> {
  ctx.state['route'] = route.path
  const address = String(ctx.state['address'])
  const perAddress = async (policies: readonly LimitPolicy[] = []) => {
    for (const policy of policies) spendLimits(ctx, await deps.limiter.takeForAddress(policy, address))
  }
  const credentials = ctx.get('authorization') !== ''
  await perAddress(route.limits.address)
  if (!credentials) await perAddress(route.limits.anonymous)
  const caller = await authenticate(ctx, route.access, credentials, deps.authenticators)
  if (caller) {
    ctx.state['caller'] = caller
    for (const policy of route.limits.client ?? [])
      spendLimits(ctx, await deps.limiter.take(policy, caller.clientId))
  }
  const input = {
    ...(caller && { caller }),
    ...(await parsedParts(ctx, route)),
    request: {
      id: String(ctx.state['requestId']),
      accept: ctx.get('accept'),
      take: async (policy: LimitPolicy, subject: string) =>
        spendLimits(ctx, await deps.limiter.take(policy, subject)),
    },
  }
  send(ctx, route, (await route.handle(input as never)) as RouteReply)
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
  if (!check) throw new Error('the app mounts a route whose authenticator it does not give')
  return check
}

async function parsedParts(ctx: Context, route: Route): Promise<object> {
  const { body, query, params } = route.request ?? {}
  const parts: { body?: unknown; query?: unknown; params?: unknown } = {}
  if (params) parts.params = parseInput(params, 'params', ctx['params'])
  if (query) parts.query = parseInput(query, 'query', { ...ctx.query })
  if (body) {
    const sent = await readJson(ctx)
    if (sent === undefined && !route.bodyOptional) {
      throw new Problem('invalid-request', {
        detail: 'Send a JSON object as the body, with Content-Type: application/json.',
      })
    }
    parts.body = parseInput(body, 'body', sent ?? {}, route.bodyProblem)
  }
  return parts
}

/** Writes the reply. Public answers get a strong ETag and 304; what was asked for with credentials is nobody else's. */
function send(ctx: Context, route: Route, reply: RouteReply): void {
  ctx.set(reply.headers ?? {})
  ctx.status = reply.status
  const schema = route.responses[reply.status]
  if (!schema) {
    ctx.body = null
    ctx.status = reply.status
    return
  }
  const content = reply.text?.content ?? JSON.stringify(schema.parse(reply.body))
  ctx.type = reply.text?.type ?? 'application/json'
  ctx.body = content
  if (route.cache === 'public' && reply.status === 200) publicCaching(ctx, content)
}

export function publicCaching(ctx: Context, content: string | Buffer): void {
  ctx.set({ vary: 'Accept, Accept-Encoding, Authorization' })
  ctx.set('cache-control', ctx.get('authorization') ? 'private, no-store' : 'public, max-age=300')
  ctx.etag = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  if (ctx.fresh) {
    ctx.status = 304
    ctx.body = null
  }
}
