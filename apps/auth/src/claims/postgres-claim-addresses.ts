import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { rewrapColumn } from '../rewrap-column.ts'
import { emailContext, matchPhraseContext } from './attempt-row.ts'

const COLUMNS = [
  { table: 'claim_attempts', column: 'email_sealed', key: 'registration_id', context: emailContext },
  { table: 'claim_attempts', column: 'match_phrase_sealed', key: 'id', context: matchPhraseContext },
  // Last, since an attempt may become a claim meanwhile.
  { table: 'claims', column: 'email_sealed', key: 'id', context: emailContext },
]

/** Seals what claims and attempts hold under the newest key-encryption key. @returns how many values moved */
export async function rewrapClaims(
  db: Database,
  keys: SealingKeys,
  options: { trial: boolean },
): Promise<number> {
  let moved = 0
  for (const column of COLUMNS) moved += await rewrapColumn(db, keys, column, options)
  return moved
}
