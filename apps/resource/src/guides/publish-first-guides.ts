import { loadGuides } from '@plainpath/guides'
import { openPool } from '@plainpath/postgres'
import { publishGuides } from './publish-guides.ts'

/**
 * Publishes the guides of this release if none was ever published.
 *
 * @returns how many were published now
 */
export async function publishFirstGuides(databaseUrl: string, now: Date): Promise<number> {
  await using pool = openPool(databaseUrl, { max: 1, applicationName: 'plainpath first guides' })
  const { rowCount } = await pool.query('select from guides limit 1')
  if (rowCount > 0) return 0
  const published = await publishGuides(pool, loadGuides(), now)
  return published.ok ? published.value.filter(({ step }) => step === 'add').length : 0
}
