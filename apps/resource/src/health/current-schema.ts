import type { Finding } from '@plainpath/http'
import { type Database, isUnavailable, missingMigrations } from '@plainpath/postgres'

/**
 * Tells whether every migration was applied. What is true once stays true, since migrations only go forward: a
 * database that is down later must not take this process, which still serves guides, out of the gateway.
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
