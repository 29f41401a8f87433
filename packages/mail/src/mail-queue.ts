import { randomUUID } from 'node:crypto'
import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { contentPlace, type Mail, MailContent } from './mail.ts'
import { ADD_MAIL_JOB } from './mail-job.ts'
import { insertMail, type SealedMail } from './sealed-mail.ts'
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
  /**
   * A mail for a statement of the caller's own, of which `insertMail` is a part. Its job is made when it is told to
   * `tellMails` after the commit, and at the latest 90 s after `now`.
   *
   * @throws {z.ZodError} as `add` does.
   */
  seal(mail: Mail, now: Date): SealedMail
}

const ADD = `with mail as (${insertMail({ first: 1, returning: 'id' })}) ${ADD_MAIL_JOB}`

export function mailQueue(sealingKeys: SealingKeys): MailQueue {
  function seal({ kind, about, ...content }: Mail, now: Date): SealedMail {
    const id = randomUUID()
    const sealed = sealingKeys.seal(JSON.stringify(MailContent.parse(content)), contentPlace(id))
    return {
      id,
      values: [id, kind, about, sealed, randomUUID(), now, new Date(now.getTime() + LEASE_MS)],
    }
  }
  return {
    seal,
    async add(tx, mail, now) {
      const { id, values } = seal(mail, now)
      await tx.query(ADD, values)
      return id
    },
  }
}
