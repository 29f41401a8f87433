import type { AnswersState } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { API_VERSION, operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

interface HealthDeps {
  readonly countPublishedGuides: () => number
  readonly checks: Readonly<Record<'database' | 'auth', () => Promise<CheckResult>>>
  readonly getAnswersState: () => AnswersState
}

export function createHealthRoutes({ countPublishedGuides, checks, getAnswersState }: HealthDeps): Route[] {
  const healthRoute = defineRoute({
    ...operations.getHealth,
    limits: LIMITS.pages,
    async handle() {
      // Without a published guide, the service has nothing to serve. A failed check only degrades it, with status 200.
      if (countPublishedGuides() === 0) throw new Problem('unhealthy')
      const [database, auth] = await Promise.all([checks.database(), checks.auth()])
      const answersState = getAnswersState()
      const status = [database, auth, answersState.status].every((state) => state === 'ok')
        ? 'ok'
        : 'degraded'
      const body = {
        status,
        version: API_VERSION,
        checks: { database, auth },
        answers: answersState,
      } as const
      return { status: 200, body }
    },
  })
  return [healthRoute]
}

type CheckResult = 'ok' | 'failed'

const RESULT_LIFETIME_MS = 1_000
const TIMEOUT_MS = 1_000

/**
 * Wraps a check so that it never runs twice at the same time. All requests share a result for a second. A request that has waited
 * a second for a result counts the check as failed.
 *
 * @param check resolves if the store or server is available, and rejects if it is not
 */
export function createSharedCheck(
  check: () => Promise<unknown>,
  now: () => Date,
): () => Promise<CheckResult> {
  let currentRun: Promise<CheckResult> | undefined
  let latestRun: { result: CheckResult; finishedAt: number } | undefined

  async function run(): Promise<CheckResult> {
    const result = await check().then(
      () => 'ok' as const,
      () => 'failed' as const,
    )
    latestRun = { result, finishedAt: now().getTime() }
    currentRun = undefined
    return result
  }

  return async () => {
    // The age is negative if the clock was set back.
    if (latestRun && Math.abs(now().getTime() - latestRun.finishedAt) < RESULT_LIFETIME_MS)
      return latestRun.result
    currentRun ??= run()
    return withTimeout(currentRun)
  }
}

async function withTimeout(run: Promise<CheckResult>): Promise<CheckResult> {
  const { promise: timeout, resolve } = Promise.withResolvers<CheckResult>()
  const timer = setTimeout(resolve, TIMEOUT_MS, 'failed')
  return Promise.race([run, timeout]).finally(() => clearTimeout(timer))
}
