import { createReadiness, type Readiness, type WatchedClock } from '@plainpath/http'
import type { Pool } from '@plainpath/postgres'
import type { AskAuthorizationServer } from '../auth/ask-authorization-server.ts'
import { requireAuthorizationServer } from '../auth/authorization-server-keys.ts'
import type { FollowedGuides } from '../guides/follow-guides.ts'
import { currentSchema } from '../health/current-schema.ts'
import { healthRoutes } from '../health/health-routes.ts'
import { sharedCheck } from '../health/shared-check.ts'
import { MIGRATIONS } from '../migrations.ts'

/** What the public and what operators are told of how the API does. */
export function wireHealth(deps: {
  db: Pool
  askServer: AskAuthorizationServer
  guides: Pick<FollowedGuides, 'current'>
  clock: Pick<WatchedClock, 'isSound'>
  now: () => Date
}): { routes: ReturnType<typeof healthRoutes>; readiness: Readiness } {
  const { db, guides, clock, now } = deps
  const publishedGuides = () => guides.current().size
  const checks = {
    database: sharedCheck(() => db.query('select 1'), now),
    auth: sharedCheck(requireAuthorizationServer(deps.askServer), now),
  }
  return {
    routes: healthRoutes({ publishedGuides, checks }),
    readiness: createReadiness({
      schema: currentSchema(db, MIGRATIONS),
      guides: async () => publishedGuides() > 0,
      clock: async () => clock.isSound(),
    }),
  }
}
