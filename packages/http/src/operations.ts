import Koa from 'koa'
import type { Registry } from 'prom-client'

/** Each check answers true when the app can do its work with that part. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean>>>

export interface Readiness {
  /** From now on `/ready` answers 503, so that balancers look away before the server stops. */
  drain(): void
  check(): Promise<{ ready: boolean; checks: Record<string, 'ok' | 'failed'> }>
}

const CHECK_TIMEOUT_MS = 2_000

export function createReadiness(checks: ReadinessChecks): Readiness {
  let draining = false
  const running = new Map<string, Promise<boolean>>()

  /** A check that hangs is not started again beside itself. */
  function passes(name: string, check: () => Promise<boolean>): Promise<boolean> {
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
          async ([name, check]) => [name, (await inTime(passes(name, check))) ? 'ok' : 'failed'] as const,
        ),
      )
      return {
        ready: !draining && results.every(([, result]) => result === 'ok'),
        checks: Object.fromEntries(results),
      }
    },
  }
}

async function outcome(check: () => Promise<boolean>): Promise<boolean> {
  try {
    return await check()
  } catch {
    return false
  }
}

async function inTime(answer: Promise<boolean>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
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
      const { ready, checks } = await deps.readiness.check()
      ctx.status = ready ? 200 : 503
      ctx.body = { status: ready ? 'ready' : 'not ready', checks, ...deps.details?.() }
    } else if (ctx.path === '/metrics') {
      ctx.type = deps.registry.contentType
      ctx.body = await deps.registry.metrics()
    }
  })
  return app
}
