import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '@plainpath/http'
import type { Database } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { contentEncryptionContext, type Mail, MailContent } from './mail.ts'
import { scaledWaitingBounds, usableShare, WAITING, type WaitingBounds } from './mail-caps.ts'

/** The PostgreSQL channel on which mailers learn that a mail was stored. They poll the table, too. */
export const MAILS_CHANNEL = 'mails'
const NOTIFY_MAILERS = `select pg_notify('${MAILS_CHANNEL}', '')`

export interface MailQueue {
  /**
   * Stores a mail in the caller's transaction. PostgreSQL notifies the mailers when the transaction commits.
   *
   * @param dueAt when the mail is to be sent, at the earliest; its age and its `Date` count from then. `now` when absent
   * @returns the mail's id, a UUID.
   * @throws {Problem} 429 when too many mails wait for room: of this kind and sender, or in all
   * @throws {z.ZodError} for an addressee that is not one address, a line end or control character in a header, a text
   *   over 20 000 characters; its messages quote nothing.
   */
  add(tx: Database, mail: Mail, now: Date, dueAt?: Date): Promise<string>
  /**
   * Seals a mail for a statement of the caller's own that contains `insertMail`. The mail is due once that statement commits;
   * the caller then notifies the mailers with `createMailNotifier`.
   *
   * @throws {z.ZodError} as `add` does
   */
  seal(mail: Mail, now: Date): SealedMail
}

/** A mail that is ready to be stored. */
interface SealedMail {
  /** A UUID. */
  readonly id: string
  /** The parameters of `insertMail`, followed by the bounds that `mayWait` compares with. */
  readonly values: readonly unknown[]
}

const COLUMNS = {
  id: 'uuid',
  kind: 'text',
  about: 'text',
  mail_sealed: 'bytea',
  message_id: 'text',
  created_at: 'timestamptz',
  overdue_at: 'timestamptz',
  sender_hash: 'bytea',
  asked_for: 'boolean',
}
const NAMES = Object.keys(COLUMNS)

/**
 * Returns SQL that stores a mail: a statement of its own, or a part of one.
 *
 * @param options.first the number of its first parameter; the others follow
 * @param options.from a table of the statement: the mail is stored once for each of its rows; once when absent
 */
export function insertMail({ first, from }: { first: number; from?: string }): string {
  const values = Object.values(COLUMNS).map((type, index) => `$${first + index}::${type}`)
  return `insert into mails (${NAMES.join(', ')})
    select ${values.join(', ')}${from ? ` from ${from}` : ''}`
}

/**
 * Returns the SQL condition under which a statement may store a mail: the number of waiting mails is below its bounds. The
 * bounds are approximate: simultaneous statements do not see each other's mails, and a mail counts as waiting only after a
 * worker found no room for it.
 *
 * @param options.first as for `insertMail`
 */
export function mayWait({ first }: { first: number }): string {
  const parameter = (name: keyof typeof COLUMNS) => `$${first + NAMES.indexOf(name)}`
  const bound = first + NAMES.length
  return `(${parameter('sender_hash')}::bytea is null or (
    (select count(*) from mails where ${WAITING} and kind = ${parameter('kind')}
     and sender_hash = ${parameter('sender_hash')}) < $${bound}::bigint
    and (select count(*) from mails where ${WAITING}) < $${bound + 1}::bigint))`
}

const RETRY_SECONDS = 600

/** Creates the problem to throw when no mail was stored because of `mayWait`. */
export const tooManyMailsWaiting = (): Problem =>
  new Problem('rate-limited', {
    detail: `Too many mails are waiting to be sent. Nothing was stored. Try again in ${RETRY_SECONDS} seconds.`,
    headers: { 'retry-after': String(RETRY_SECONDS) },
    extensions: { policy: 'mails-waiting' },
  })

const ADD = `with mail as (${insertMail({ first: 1 })} where ${mayWait({ first: 1 })} returning id)
  ${NOTIFY_MAILERS} from mail`

/** Creates the queue through which an app stores mails. `openMailer` sends them. */
export function mailQueue(deps: {
  sealingKeys: SealingKeys
  /** For the hashes of senders. */
  hashKey: HashKey
  /** The production bounds when absent. */
  waiting?: WaitingBounds
}): MailQueue {
  const { sealingKeys, hashKey, waiting = scaledWaitingBounds(1) } = deps
  function seal({ kind, about, sender, askedFor = false, ...content }: Mail, dueAt: Date): SealedMail {
    const id = randomUUID()
    const sealed = sealingKeys.seal(JSON.stringify(MailContent.parse(content)), contentEncryptionContext(id))
    const senderHash = sender === undefined ? null : hashKey.hash('mail/sender', sender)
    const bounds = [waiting.sender, usableShare(waiting.all, askedFor)]
    const values = [id, kind, about, sealed, randomUUID(), dueAt, dueAt, senderHash, askedFor, ...bounds]
    return { id, values }
  }
  return {
    seal,
    async add(tx, mail, now, dueAt = now) {
      const { id, values } = seal(mail, dueAt)
      const { rowCount } = await tx.query(ADD, values)
      if (rowCount === 0) throw tooManyMailsWaiting()
      return id
    },
  }
}

export interface MailNotifier extends AsyncDisposable {
  /** Notifies the mailers within 25 ms. Call it after the transaction that stored the mail has committed. */
  notifyMailers(): void
}

/** The shortest time between two notifications. */
const BATCH_MS = 25

/**
 * Notifies mailers of mails that are already committed, once for all mails of the last 25 ms. PostgreSQL serialises commits
 * of transactions that notify, and each waits for its own write to disk: a notification in every transaction would limit
 * the rate of all of them.
 *
 * A notification that fails only delays mails, since mailers also poll. Disposing sends the pending notification.
 */
export function createMailNotifier({
  db,
  log,
}: {
  db: Database
  log: { warn(message: string, fields?: Record<string, unknown>): void }
}): MailNotifier {
  let isPending = false
  let lastNotification: Promise<void> = Promise.resolve()

  async function notifyAfter(previous: Promise<void>): Promise<void> {
    await previous
    await sleep(BATCH_MS)
    isPending = false
    try {
      await db.query(NOTIFY_MAILERS)
    } catch (error) {
      log.warn('the mail workers could not be notified, and will find new mails when they poll', { error })
    }
  }

  return {
    notifyMailers() {
      if (isPending) return
      isPending = true
      lastNotification = notifyAfter(lastNotification)
    },
    [Symbol.asyncDispose]: () => lastNotification,
  }
}
