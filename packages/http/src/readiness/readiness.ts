import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import Koa from 'koa'
import type { Registry } from 'prom-client'
import type { Log } from '../observability/log.ts'

/** The result of one readiness check. `awaited` says, for operators, what the app is waiting for. */
export type Finding = boolean | { readonly awaited: string }
export type ReadinessChecks = Readonly<Record<string, () => Promise<Finding>>>

interface Findings {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>
  /** By check, where the check named it. */
  readonly awaited?: Readonly<Record<string, string>>
}

export interface Readiness {
  /** Makes `/ready` respond with 503 from now on, so that load balancers stop sending requests before the server stops. */
  drain(): void
  check(): Promise<Findings>
}

const CHECK_TIMEOUT_MS = 2_000

/** Runs all checks at once, each for at most 2 s. A check that throws or takes longer counts as failed. */
export function createReadiness(checks: ReadinessChecks): Readiness {
  let draining = false
  const running = new Map<string, Promise<Finding>>()

  /** Shares the run of a check that is still in flight, so that a check that hangs is not started a second time. */
  function runCheck(name: string, check: () => Promise<Finding>): Promise<Finding> {
    const inFlight = running.get(name)
    if (inFlight) return inFlight
    const run = failedIfThrown(check).finally(() => running.delete(name))
    running.set(name, run)
    return run
  }

  return {
    drain: () => {
      draining = true
    },
    async check() {
      const results = await Promise.all(
        Object.entries(checks).map(
          async ([name, check]) => [name, await withTimeout(runCheck(name, check))] as const,
        ),
      )
      const awaited = results.flatMap(([name, finding]) =>
        typeof finding === 'object' ? [[name, finding.awaited] as const] : [],
      )
      return {
        ready: !draining && results.every(([, finding]) => finding === true),
        checks: Object.fromEntries(
          results.map(([name, finding]) => [name, finding === true ? 'ok' : 'failed']),
        ),
        ...(awaited.length > 0 && { awaited: Object.fromEntries(awaited) }),
      }
    },
  }
}

async function failedIfThrown(check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check()
  } catch {
    return false
  }
}

const withTimeout = (finding: Promise<Finding>): Promise<Finding> =>
  Promise.race([finding, sleep(CHECK_TIMEOUT_MS, false, { ref: false })])

/** Serves `/live`, `/ready`, `/metrics` and the app's own pages, on a listener that only operators can reach. */
export function operationsApp(deps: {
  readiness: Readiness
  registry: Registry
  /** Pages of plain text, by path. */
  pages?: Readonly<Record<string, () => string>>
  /** Further members of the body of `/ready`. */
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
  /** Checks that must pass before the app is opened. */
  readonly startupDependencies: ReadinessChecks
  readonly open: () => Promise<Opened>
  /** True for an error of `open` that may go away by itself. */
  readonly isTransient: (error: unknown) => boolean
  readonly log: Log
}

interface WaitingApp<Opened> {
  /** Reports the startup dependencies; never ready. */
  readonly readiness: Readiness
  /**
   * Checks the startup dependencies at once, then after 100 ms, doubling to 1 s, without end.
   *
   * @returns the opened app; undefined when stopped before that
   * @throws an error of `open` that is not transient
   */
  open(stop: AbortSignal): Promise<Opened | undefined>
}

/** Opens an app as soon as its startup dependencies are available. */
export function openWhenReady<Opened>(options: OpenWhenReadyOptions<Opened>): WaitingApp<Opened> {
  const { log } = options
  const dependencies = createReadiness(options.startupDependencies)
  let found: Findings = { ready: false, checks: {} }
  let logged: Findings | undefined

  function logChange(): void {
    if (isDeepStrictEqual(found, logged)) return
    const { checks, awaited } = found
    log.warn('the app waits for its startup dependencies', { checks, ...(awaited && { awaited }) })
    logged = found
  }

  async function openOnce(stop: AbortSignal): Promise<Opened | undefined> {
    const { ready, ...rest } = await dependencies.check()
    found = { ready: false, ...rest }
    if (ready && !stop.aborted) {
      try {
        return await options.open()
      } catch (error) {
        if (!options.isTransient(error)) throw error
        found = { ...found, awaited: { start: 'a dependency went away while the app started' } }
      }
    }
    logChange()
    return undefined
  }

  async function open(stop: AbortSignal): Promise<Opened | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; !stop.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const opened = await openOnce(stop)
      if (opened !== undefined) return opened
      await pause(pauseMs, stop)
    }
    return undefined
  }

  return { readiness: { drain: () => undefined, check: async () => found }, open }
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = () => resolve()
  const timer = setTimeout(end, ms)
  stop.addEventListener('abort', end)
  await promise
  clearTimeout(timer)
  stop.removeEventListener('abort', end)
}
