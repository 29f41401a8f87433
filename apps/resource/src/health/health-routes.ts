import type { AnswersState } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { API_VERSION, operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

interface HealthDeps {
  readonly countPublishedGuides: () => number
  readonly checks: Readonly<Record<'database' | 'auth', () => Promise<CheckResult>>>
  readonly answers: () => AnswersState
}

export function createHealthRoutes({ countPublishedGuides, checks, answers }: HealthDeps): Route[] {
  const healthRoute = defineRoute({
    ...operations.getHealth,
    limits: LIMITS.pages,
    async handle() {
      if (countPublishedGuides() === 0) throw new Problem('unhealthy')
      const [database, auth] = await Promise.all([checks.database(), checks.auth()])
      const answersState = answers()
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
 * Creates a check that runs at most once at a time. All requests share a result for a second. A request that has waited a second
 * for a result counts the check as failed.
 *
 * @param check resolves when the store or server is available
 */
export function createSharedCheck(
  check: () => Promise<unknown>,
  now: () => Date,
): () => Promise<CheckResult> {
  let currentRun: Promise<CheckResult> | undefined
  let latest: { result: CheckResult; finishedAt: number } | undefined

  async function run(): Promise<CheckResult> {
    const result = await check().then(
      () => 'ok' as const,
      () => 'failed' as const,
    )
    latest = { result, finishedAt: now().getTime() }
    currentRun = undefined
    return result
  }

  return async () => {
    if (latest && Math.abs(now().getTime() - latest.finishedAt) < RESULT_LIFETIME_MS) return latest.result
    currentRun ??= run()
    return withTimeout(currentRun)
  }
}

async function withTimeout(run: Promise<CheckResult>): Promise<CheckResult> {
  const { promise: timeout, resolve } = Promise.withResolvers<CheckResult>()
  const timer = setTimeout(resolve, TIMEOUT_MS, 'failed')
  return Promise.race([run, timeout]).finally(() => clearTimeout(timer))
}
