import { type Database, schemaIsCurrent } from '@plainpath/postgres'

/**
 * Tells whether every migration was applied. What is true once stays true, since migrations only go forward: a
 * database that is down later must not take this process, which still serves guides, out of the gateway.
 */
export function currentSchema(db: Database, folder: string): () => Promise<boolean> {
  let current = false
  return async () => {
    current ||= await schemaIsCurrent(db, folder)
    return current
  }
}
