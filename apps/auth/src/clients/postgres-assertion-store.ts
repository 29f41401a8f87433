import type { Database } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { AssertionStore } from './assertion-store.ts'

/**
 * Spent assertions in Postgres, since a Redis that is flushed would forget them. The agent's row is asked in the same
 * statement: a key that was replaced is refused also by a process that has not heard of it.
 */
export function postgresAssertionStore(db: Database): AssertionStore {
  return {
    async spend({ clientId, jti, key, expiresAt }) {
      const { rowCount } = await db.query(
        `insert into client_assertions (assertion_hash, expires_at)
         select $1, $2 from agents
         where id = $3 and status = 'active' and jwks @> $4::jsonb
           and set_config('synchronous_commit', 'on', true) = 'on'
         on conflict do nothing`,
        [sha256(`${clientId}\n${jti}`), expiresAt, clientId, JSON.stringify([key])],
      )
      return rowCount === 1
    },
  }
}

const BATCH = 1_000
/** Clocks of instances differ; a mark that goes too early lets an assertion in twice. */
const MARGIN_MS = 60_000

/** Deletes at most 1 000 marks of assertions that are over for a minute. @returns how many went */
export async function sweepAssertions(db: Database, now: Date): Promise<number> {
  const { rowCount } = await db.query(
    `delete from client_assertions where assertion_hash in
       (select assertion_hash from client_assertions where expires_at <= $1
        order by expires_at limit ${BATCH} for update skip locked)`,
    [new Date(now.getTime() - MARGIN_MS)],
  )
  return rowCount
}
