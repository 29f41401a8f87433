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
 * Creates a check whose result is shared by all requests within a second, and which never runs twice at the same time. For
 * requests that have waited a second, it counts as failed.
 *
 * @param check resolves when the store or server is available
 */
export function sharedCheck(check: () => Promise<unknown>, now: () => Date): () => Promise<CheckResult> {
  let running: Promise<CheckResult> | undefined
  let latest: { result: CheckResult; at: number } | undefined

  async function run(): Promise<CheckResult> {
    const result = await check().then(
      () => 'ok' as const,
      () => 'failed' as const,
    )
    latest = { result, at: now().getTime() }
    running = undefined
    return result
  }

  return async () => {
    if (latest && Math.abs(now().getTime() - latest.at) < SHARED_MS) return latest.result
    running ??= run()
    return inTime(running)
  }
}

async function inTime(run: Promise<CheckResult>): Promise<CheckResult> {
  const { promise: late, resolve } = Promise.withResolvers<CheckResult>()
  const timer = setTimeout(resolve, TIMEOUT_MS, 'failed')
  return Promise.race([run, late]).finally(() => clearTimeout(timer))
}
