import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { toEmailEncryptionContext, toMatchPhraseEncryptionContext } from './attempt-row.ts'

const ENCRYPTED_COLUMNS = [
  {
    table: 'claim_attempts',
    column: 'email_sealed',
    keyColumn: 'registration_id',
    context: toEmailEncryptionContext,
  },
  {
    table: 'claim_attempts',
    column: 'match_phrase_sealed',
    keyColumn: 'id',
    context: toMatchPhraseEncryptionContext,
  },
  // Must be last: completing an attempt copies its encrypted address to this table, so an address that was copied before it was
  // re-encrypted is still found here.
  { table: 'claims', column: 'email_sealed', keyColumn: 'id', context: toEmailEncryptionContext },
]

/**
 * Re-encrypts the addresses of verifications and attempts, and the match phrases of attempts, under the newest key-encryption
 * key.
 *
 * @param options.dryRun true to count the values and change nothing
 * @returns the number of values that were under an older key
 * @throws {UnsealError} if a value cannot be decrypted; earlier values remain re-encrypted
 */
export async function reencryptVerifications(
  db: Database,
  sealer: Sealer,
  options: { dryRun: boolean },
): Promise<number> {
  let reencryptedCount = 0
  for (const { context, ...column } of ENCRYPTED_COLUMNS) {
    const rewrite = (sealed: Buffer, id: string) => sealer.reseal(sealed, context(id))
    reencryptedCount += await rewriteColumn(db, { ...column, rewrite }, options)
  }
  return reencryptedCount
}
