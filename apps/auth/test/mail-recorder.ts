import type { Database } from '@plainpath/postgres'
import type { VerificationMail } from '../src/verifications/verification-attempt-store.ts'

/** Records in memory the mails that a transaction adds. A rollback does not remove them. */
export function createMailRecorder() {
  const mails: VerificationMail[] = []
  return {
    mails,
    add: async (tx: Database, mail: VerificationMail) => {
      // Fails if the transaction has already failed, as storing the mail would.
      await tx.query('select 1')
      mails.push(mail)
    },
  }
}
