import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import Koa from 'koa'
import type { Registry } from 'prom-client'
import type { Log } from '../observability/log.ts'

/** The result of a readiness check: true if it passed. `awaited` is a failure that names the missing dependency for operators. */
export type Finding = boolean | { readonly awaited: string }
export type ReadinessChecks = Readonly<Record<string, () => Promise<Finding>>>

interface Findings {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>
  /** The missing dependencies, by check. Absent if no check names one. */
  readonly awaited?: Readonly<Record<string, string>>
}

export interface Readiness {
  /** Makes `/ready` respond with 503 from now on, so load balancers stop sending requests before the server stops. */
  drain(): void
  /** Reports the checks. Never rejects: a check that throws has failed. */
  check(): Promise<Findings>
}

const CHECK_TIMEOUT_MS = 2_000

/** Creates a readiness that runs all checks in parallel. A check that throws or takes longer than 2 s has failed. */
export function createReadiness(checks: ReadinessChecks): Readiness {
  let isDraining = false
  const runsInFlight = new Map<string, Promise<Finding>>()

  /** Runs a check, or shares its run in flight: a check that hangs must not be started again. */
  function runCheck(name: string, check: () => Promise<Finding>): Promise<Finding> {
    const runInFlight = runsInFlight.get(name)
    if (runInFlight) return runInFlight
    const run = runOrFail(check).finally(() => runsInFlight.delete(name))
    runsInFlight.set(name, run)
    return run
  }

  return {
    drain: () => {
      isDraining = true
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
        ready: !isDraining && results.every(([, finding]) => finding === true),
        checks: Object.fromEntries(
          results.map(([name, finding]) => [name, finding === true ? 'ok' : 'failed']),
        ),
        ...(awaited.length > 0 && { awaited: Object.fromEntries(awaited) }),
      }
    },
  }
}

async function runOrFail(check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check()
  } catch {
    return false
  }
}

const withTimeout = (finding: Promise<Finding>): Promise<Finding> =>
  Promise.race([finding, sleep(CHECK_TIMEOUT_MS, false, { ref: false })])

/** Creates the app for `/live`, `/ready`, `/metrics` and other pages, on a listener that only operators reach. */
export function createOperationsApp(deps: {
  readiness: Readiness
  registry: Registry
  /** Plain-text pages, by path. */
  pages?: Readonly<Record<string, () => string>>
  /** Returns further members of the `/ready` body. */
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
      const { ready, ...findings } = await deps.readiness.check()
      ctx.status = ready ? 200 : 503
      ctx.body = { status: ready ? 'ready' : 'not ready', ...findings, ...deps.details?.() }
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
const MAX_PAUSE_MS = 1_000

export interface WaitingAppOptions<Opened> {
  /** Checks that must pass before the app is opened. */
  readonly startupDependencies: ReadinessChecks
  readonly open: () => Promise<Opened>
  /** Returns true for an error of `open` after which a retry may succeed. */
  readonly isTransient: (error: unknown) => boolean
  readonly log: Log
}

interface WaitingApp<Opened> {
  /** Reports the startup dependencies. The app is never ready before it is open. */
  readonly readiness: Readiness
  /**
   * Opens the app once the startup dependencies are available. Checks them immediately, then after 100 ms, and then
   * after pauses that double up to 1 s.
   *
   * @returns the opened app; undefined if `stop` is aborted first
   * @throws an error of `open` that is not transient
   */
  open(stop: AbortSignal): Promise<Opened | undefined>
}

/** Creates an app that waits for its startup dependencies when it is opened, and logs which ones are missing. */
export function createWaitingApp<Opened>(options: WaitingAppOptions<Opened>): WaitingApp<Opened> {
  const { log } = options
  const dependencies = createReadiness(options.startupDependencies)
  let latestFindings: Findings = { ready: false, checks: {} }
  let loggedFindings: Findings | undefined

  function logChange(): void {
    if (isDeepStrictEqual(latestFindings, loggedFindings)) return
    const { checks, awaited } = latestFindings
    log.warn('the app waits for its startup dependencies', { checks, ...(awaited && { awaited }) })
    loggedFindings = latestFindings
  }

  async function tryToOpen(stop: AbortSignal): Promise<Opened | undefined> {
    const { ready, ...findings } = await dependencies.check()
    latestFindings = { ready: false, ...findings }
    if (ready && !stop.aborted) {
      try {
        return await options.open()
      } catch (error) {
        if (!options.isTransient(error)) throw error
        latestFindings = {
          ...latestFindings,
          awaited: { start: 'a dependency became unavailable while the app started' },
        }
      }
    }
    logChange()
    return undefined
  }

  async function open(stop: AbortSignal): Promise<Opened | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; !stop.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const app = await tryToOpen(stop)
      if (app !== undefined) return app
      await pause(pauseMs, stop)
    }
    return undefined
  }

  return { readiness: { drain: () => undefined, check: async () => latestFindings }, open }
}

/** Waits for `ms`, or until `stop` is aborted. */
async function pause(ms: number, stop: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const endPause = () => resolve()
  const timer = setTimeout(endPause, ms)
  stop.addEventListener('abort', endPause)
  await promise
  clearTimeout(timer)
  stop.removeEventListener('abort', endPause)
}
