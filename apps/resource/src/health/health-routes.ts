import type { AnswersState } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { API_VERSION, operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'

interface HealthDeps {
  readonly publishedGuides: () => number
  readonly checks: Readonly<Record<'database' | 'auth', () => Promise<CheckResult>>>
  readonly answers: () => AnswersState
}

export function healthRoutes({ publishedGuides, checks, answers }: HealthDeps): Route[] {
  const getHealth = defineRoute({
    ...operations.getHealth,
    limits: LIMITS.pages,
    async handle() {
      if (publishedGuides() === 0) throw new Problem('unhealthy')
      const [database, auth] = await Promise.all([checks.database(), checks.auth()])
      const answering = answers()
      const status = [database, auth, answering.status].every((state) => state === 'ok') ? 'ok' : 'degraded'
      const body = { status, version: API_VERSION, checks: { database, auth }, answers: answering } as const
      return { status: 200, body }
    },
  })
  return [getHealth]
}

type CheckResult = 'ok' | 'failed'

const SHARED_MS = 1_000
const TIMEOUT_MS = 1_000

/**
 * Shares one run of `works` among all who ask within a second, and never runs it twice at once. A run that takes
 * longer than a second counts as failed for those who wait.
 *
 * @param works resolves when the part can be used
 */
export function sharedCheck(works: () => Promise<unknown>, now: () => Date): () => Promise<CheckResult> {
  let running: Promise<CheckResult> | undefined
  let known: { result: CheckResult; at: number } | undefined

  async function run(): Promise<CheckResult> {
    const result = await works().then(
      () => 'ok' as const,
      () => 'failed' as const,
    )
    known = { result, at: now().getTime() }
    running = undefined
    return result
  }

  return async () => {
    if (known && Math.abs(now().getTime() - known.at) < SHARED_MS) return known.result
    running ??= run()
    return inTime(running)
  }
}

async function inTime(run: Promise<CheckResult>): Promise<CheckResult> {
  const { promise: late, resolve } = Promise.withResolvers<CheckResult>()
  const timer = setTimeout(resolve, TIMEOUT_MS, 'failed')
  return Promise.race([run, late]).finally(() => clearTimeout(timer))
}
