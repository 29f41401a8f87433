import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { emailEncryptionContext, matchPhraseEncryptionContext } from './attempt-row.ts'

const COLUMNS = [
  {
    table: 'claim_attempts',
    column: 'email_sealed',
    key: 'registration_id',
    context: emailEncryptionContext,
  },
  {
    table: 'claim_attempts',
    column: 'match_phrase_sealed',
    key: 'id',
    context: matchPhraseEncryptionContext,
  },
  // Last, since an attempt may become a claim meanwhile.
  { table: 'claims', column: 'email_sealed', key: 'id', context: emailEncryptionContext },
]

/** Re-encrypts the values of claims and attempts under the newest key-encryption key. @returns how many were under an older one @throws {SealError} */
export async function rewrapClaims(
  db: Database,
  keys: SealingKeys,
  options: { trial: boolean },
): Promise<number> {
  let moved = 0
  for (const { context, ...column } of COLUMNS) {
    const rewrite = (sealed: Buffer, id: string) => keys.reseal(sealed, context(id))
    moved += await rewriteColumn(db, { ...column, rewrite }, options)
  }
  return moved
}
