import { randomUUID } from 'node:crypto'
import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { contentPlace, type Mail, MailContent } from './mail.ts'
import { ADD_MAIL_JOB } from './mail-job.ts'
import { LEASE_MS } from './stored-mail.ts'

export interface MailQueue {
  /**
   * Keeps a mail and the job that sends it, in the caller's transaction: neither exists unless it commits.
   *
   * @returns the mail's id, a UUID.
   * @throws {z.ZodError} for an addressee that is not one address, a line end or control character in a header, a text
   *   over 20 000 characters; its messages quote nothing.
   */
  add(tx: Database, mail: Mail, now: Date): Promise<string>
}

export function mailQueue(sealingKeys: SealingKeys): MailQueue {
  return {
    async add(tx, { kind, about, ...content }, now) {
      const id = randomUUID()
      const sealed = sealingKeys.seal(JSON.stringify(MailContent.parse(content)), contentPlace(id))
      await tx.query(
        `with mail as (
           insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at)
           values ($1, $2, $3, $4, $5, $6, $7) returning id)
         ${ADD_MAIL_JOB}`,
        [id, kind, about, sealed, randomUUID(), now, new Date(now.getTime() + LEASE_MS)],
      )
      return id
    },
  }
}
