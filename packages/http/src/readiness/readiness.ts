import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import Koa from 'koa'
import type { Registry } from 'prom-client'
import type { Log } from '../observability/log.ts'

/** Whether the app can do its work with a part; where not, what is awaited, in words for operators. */
export type Finding = boolean | { readonly awaited: string }
export type ReadinessChecks = Readonly<Record<string, () => Promise<Finding>>>

interface Findings {
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

const inTime = (finding: Promise<Finding>): Promise<Finding> =>
  Promise.race([finding, sleep(CHECK_TIMEOUT_MS, false, { ref: false })])

/** `/live`, `/ready`, `/metrics` and the app's own pages, for a listener that only operators reach. */
export function operationsApp(deps: {
  readiness: Readiness
  registry: Registry
  /** Pages of plain text, by path. */
  pages?: Readonly<Record<string, () => string>>
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
    } else if (deps.pages && Object.hasOwn(deps.pages, ctx.path)) {
      ctx.type = 'text/plain'
      ctx.body = deps.pages[ctx.path]?.()
    }
  })
  return app
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000

export interface OpenWhenReadyOptions<Opened> {
  /** What it cannot be opened without. */
  readonly startupDependencies: ReadinessChecks
  readonly open: () => Promise<Opened>
  /** Whether what `open` threw says "not now". */
  readonly isTransient: (error: unknown) => boolean
  readonly log: Log
}

interface Waiting<Opened> {
  /** Never ready; says what is waited for. */
  readonly readiness: Readiness
  /**
   * Looks for what is needed at once, then after 100 ms, doubling to 1 s, for as long as it takes.
   *
   * @returns undefined when stopped before @throws what no waiting mends
   */
  openAtLast(stop: AbortSignal): Promise<Opened | undefined>
}

/** Opens an app once everything that it needs is there. */
export function openWhenReady<Opened>(options: OpenWhenReadyOptions<Opened>): Waiting<Opened> {
  const { log } = options
  const dependencies = createReadiness(options.startupDependencies)
  let found: Findings = { ready: false, checks: {} }
  let told: Findings | undefined

  function tell(): void {
    if (isDeepStrictEqual(found, told)) return
    const { checks, awaited } = found
    log.warn('waits for what it cannot start without', { checks, ...(awaited && { awaited }) })
    told = found
  }

  async function openOnce(stop: AbortSignal): Promise<Opened | undefined> {
    const { ready, ...rest } = await dependencies.check()
    found = { ready: false, ...rest }
    if (ready && !stop.aborted) {
      try {
        return await options.open()
      } catch (error) {
        if (!options.isTransient(error)) throw error
        found = { ...found, awaited: { start: 'a part went away while the app started' } }
      }
    }
    tell()
    return undefined
  }

  async function openAtLast(stop: AbortSignal): Promise<Opened | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; !stop.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const opened = await openOnce(stop)
      if (opened !== undefined) return opened
      await pause(pauseMs, stop)
    }
    return undefined
  }

  return { readiness: { drain: () => undefined, check: async () => found }, openAtLast }
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const over = () => resolve()
  const timer = setTimeout(over, ms)
  stop.addEventListener('abort', over)
  await promise
  clearTimeout(timer)
  stop.removeEventListener('abort', over)
}
