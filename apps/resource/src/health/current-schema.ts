import type { Finding } from '@plainpath/http'
import { type Database, isUnavailable, listMissingMigrations } from '@plainpath/postgres'

/**
 * Creates the readiness check that passes if every migration was applied. Once it has passed, it always passes. Migrations are
 * never undone, and when the database fails later, the gateway must not drop this process, which still serves guides.
 */
export function createSchemaCheck(db: Database, folder: string): () => Promise<Finding> {
  let isCurrent = false
  return async () => {
    if (isCurrent) return true
    try {
      const missingMigrations = await listMissingMigrations(db, folder)
      isCurrent = missingMigrations.length === 0
      return isCurrent || { awaited: `migrations ${missingMigrations.join(', ')}: run "resource migrate"` }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return { awaited: 'PostgreSQL' }
    }
  }
}
