import type { Database } from '@plainpath/postgres'
import { sha256Base64url } from '@plainpath/sealing'

/**
 * Stores copies of a refresh token, with other ids, for the same grant. No app knows the copies. They only count.
 *
 * @returns the id of the token in `oauth_records`
 */
export async function copyRefreshToken(
  db: Pick<Database, 'query'>,
  token: string,
  count: number,
): Promise<string> {
  const storedId = `RefreshToken:${sha256Base64url(token)}`
  await db.query(
    `insert into oauth_records (id, grant_id, payload_sealed, epoch, created_at, expires_at)
     select 'RefreshToken:' || lpad(number::text, 43, '0'), grant_id, payload_sealed, epoch, created_at, expires_at
     from oauth_records cross join generate_series(1, $2) as number where id = $1`,
    [storedId, count],
  )
  return storedId
}
