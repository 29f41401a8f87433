import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { rewrapColumn } from '../rewrap-column.ts'
import { nameContext } from './postgres-agent-store.ts'

const NAMES = { table: 'agents', column: 'name_sealed', key: 'id', context: nameContext }

/** Seals the names of agents under the newest key-encryption key, as `rewrapColumn` says. @returns how many moved */
export const rewrapNames = (db: Database, keys: SealingKeys, options: { trial: boolean }): Promise<number> =>
  rewrapColumn(db, keys, NAMES, options)
