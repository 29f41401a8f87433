import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { nameContext } from './postgres-agent-store.ts'

const Row = z.object({ id: z.string(), sealed: z.instanceof(Buffer) })
const BATCH = 500

/**
 * Seals the names of agents under the newest key-encryption key; a name that changes meanwhile is under it already.
 *
 * @returns how many were under another one @throws {SealError} for a name that cannot be opened
 */
export async function rewrapNames(
  db: Database,
  keys: SealingKeys,
  { trial }: { trial: boolean },
): Promise<number> {
  let moved = 0
  for (let after = ''; ; ) {
    const { rows } = await db.query(
      `select id, name_sealed as sealed from agents where name_sealed is not null and id > $1 order by id limit ${BATCH}`,
      [after],
    )
    for (const row of rows) {
      const { id, sealed } = Row.parse(row)
      after = id
      const resealed = keys.reseal(sealed, nameContext(id))
      if (!resealed) continue
      moved += 1
      if (!trial)
        await db.query('update agents set name_sealed = $2 where id = $1 and name_sealed = $3', [
          id,
          resealed,
          sealed,
        ])
    }
    if (rows.length < BATCH) return moved
  }
}
