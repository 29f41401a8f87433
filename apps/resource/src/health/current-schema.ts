import type { Finding } from '@plainpath/http'
import { type Database, isUnavailable, missingMigrations } from '@plainpath/postgres'

/**
 * Creates the readiness check that every migration was applied. Once it has passed it stays passed, because migrations only go
 * forward. A later outage of the database must not take this process out of the gateway, because it still serves guides.
 */
export function currentSchema(db: Database, folder: string): () => Promise<Finding> {
  let current = false
  return async () => {
    if (current) return true
    try {
      const missing = await missingMigrations(db, folder)
      current = missing.length === 0
      return current || { awaited: `migrations ${missing.join(', ')}: run "resource migrate"` }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return { awaited: 'PostgreSQL' }
    }
  }
}
