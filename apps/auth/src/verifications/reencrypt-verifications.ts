import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { toEmailEncryptionContext, toMatchPhraseEncryptionContext } from './attempt-row.ts'

const ENCRYPTED_COLUMNS = [
  {
    table: 'claim_attempts',
    column: 'email_sealed',
    key: 'registration_id',
    context: toEmailEncryptionContext,
  },
  {
    table: 'claim_attempts',
    column: 'match_phrase_sealed',
    key: 'id',
    context: toMatchPhraseEncryptionContext,
  },
  // This column is last, because an attempt may become a verification while the columns of attempts are re-encrypted.
  { table: 'claims', column: 'email_sealed', key: 'id', context: toEmailEncryptionContext },
]

/**
 * Re-encrypts the values of verifications and attempts under the newest key-encryption key.
 *
 * @param options.dryRun true to count the values and change nothing
 * @returns the number of values that were under an older key
 * @throws {SealError} if a value cannot be decrypted
 */
export async function reencryptVerifications(
  db: Database,
  keys: SealingKeys,
  options: { dryRun: boolean },
): Promise<number> {
  let reencryptedCount = 0
  for (const { context, ...column } of ENCRYPTED_COLUMNS) {
    const rewrite = (sealed: Buffer, id: string) => keys.reseal(sealed, context(id))
    reencryptedCount += await rewriteColumn(db, { ...column, rewrite }, options)
  }
  return reencryptedCount
}
