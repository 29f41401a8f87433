import { defineRoute, Problem, type Route } from '@plainpath/http'
import { API_VERSION, operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import type { CheckResult } from './shared-check.ts'

export interface HealthDeps {
  readonly publishedGuides: () => number
  readonly checks: Readonly<Record<'database' | 'auth', () => Promise<CheckResult>>>
}

export function healthRoutes({ publishedGuides, checks }: HealthDeps): Route[] {
  const getHealth = defineRoute({
    ...operations.getHealth,
    limits: LIMITS.pages,
    async handle() {
      if (publishedGuides() === 0) throw new Problem('unhealthy')
      const [database, auth] = await Promise.all([checks.database(), checks.auth()])
      const status = database === 'ok' && auth === 'ok' ? 'ok' : 'degraded'
      return { status: 200, body: { status, version: API_VERSION, checks: { database, auth } } }
    },
  })
  return [getHealth]
}
