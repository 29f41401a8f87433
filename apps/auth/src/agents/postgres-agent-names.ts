import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { nameContext } from './postgres-agent-store.ts'

/** Seals the names of agents under the newest key-encryption key, as `rewriteColumn` says. @returns how many moved @throws {SealError} */
export const rewrapNames = (db: Database, keys: SealingKeys, options: { trial: boolean }): Promise<number> =>
  rewriteColumn(
    db,
    {
      table: 'agents',
      column: 'name_sealed',
      key: 'id',
      rewrite: (sealed, id) => keys.reseal(sealed, nameContext(id)),
    },
    options,
  )
