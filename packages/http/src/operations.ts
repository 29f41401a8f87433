import Koa from 'koa'
import type { Registry } from 'prom-client'

/** Whether the app can do its work with a part; where not, what is awaited, in words for operators. */
export type Finding = boolean | { readonly awaited: string }
export type ReadinessChecks = Readonly<Record<string, () => Promise<Finding>>>

export interface Findings {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>
  /** By check, where it said. */
  readonly awaited?: Readonly<Record<string, string>>
}

export interface Readiness {
  /** From now on `/ready` answers 503, so that balancers look away before the server stops. */
  drain(): void
  check(): Promise<Findings>
}

const CHECK_TIMEOUT_MS = 2_000

export function createReadiness(checks: ReadinessChecks): Readiness {
  let draining = false
  const running = new Map<string, Promise<Finding>>()

  /** A check that hangs is not started again beside itself. */
  function finds(name: string, check: () => Promise<Finding>): Promise<Finding> {
    const known = running.get(name)
    if (known) return known
    const made = outcome(check).finally(() => running.delete(name))
    running.set(name, made)
    return made
  }

  return {
    drain: () => {
      draining = true
    },
    async check() {
      const results = await Promise.all(
        Object.entries(checks).map(
          async ([name, check]) => [name, await inTime(finds(name, check))] as const,
        ),
      )
      const awaited = results.flatMap(([name, found]) =>
        typeof found === 'object' ? [[name, found.awaited] as const] : [],
      )
      return {
        ready: !draining && results.every(([, found]) => found === true),
        checks: Object.fromEntries(results.map(([name, found]) => [name, found === true ? 'ok' : 'failed'])),
        ...(awaited.length > 0 && { awaited: Object.fromEntries(awaited) }),
      }
    },
  }
}

async function outcome(check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check()
  } catch {
    return false
  }
}

async function inTime(answer: Promise<Finding>): Promise<Finding> {
  const { promise: late, resolve } = Promise.withResolvers<Finding>()
  const timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS)
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

/** `/live`, `/ready` and `/metrics`, for a listener that only operators reach. */
export function operationsApp(deps: {
  readiness: Readiness
  registry: Registry
  /** What `/ready` says beside its checks. */
  details?: () => Record<string, unknown>
}): Koa {
  const app = new Koa()
  app.use(async (ctx) => {
    ctx.set('cache-control', 'no-store')
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('allow', 'GET, HEAD')
      ctx.status = 405
    } else if (ctx.path === '/live') ctx.body = { status: 'ok' }
    else if (ctx.path === '/ready') {
      const { ready, ...found } = await deps.readiness.check()
      ctx.status = ready ? 200 : 503
      ctx.body = { status: ready ? 'ready' : 'not ready', ...found, ...deps.details?.() }
    } else if (ctx.path === '/metrics') {
      ctx.type = deps.registry.contentType
      ctx.body = await deps.registry.metrics()
    }
  })
  return app
}
