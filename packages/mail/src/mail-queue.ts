import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '@plainpath/http'
import type { Database } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { contentPlace, type Mail, MailContent } from './mail.ts'
import { scaledWaitingBounds, usableShare, WAITING, type WaitingBounds } from './mail-caps.ts'

/** Mailers listen on it, and look for mails that are due when they are notified. */
export const MAILS_CHANNEL = 'mails'
const NOTIFY_MAILERS = `select pg_notify('${MAILS_CHANNEL}', '')`

export interface MailQueue {
  /**
   * Keeps a mail in the caller's transaction and notifies the mailers when that commits.
   *
   * @param dueAt when the mail is to be sent, at the earliest; its age and its `Date` count from then. `now` when absent
   * @returns the mail's id, a UUID.
   * @throws {Problem} 429 when too many mails wait for room: of this kind and sender, or in all
   * @throws {z.ZodError} for an addressee that is not one address, a line end or control character in a header, a text
   *   over 20 000 characters; its messages quote nothing.
   */
  add(tx: Database, mail: Mail, now: Date, dueAt?: Date): Promise<string>
  /**
   * A mail for a statement of the caller's own, of which `insertMail` is a part. It is due once that commits; `tellMails`
   * notifies the mailers.
   *
   * @throws {z.ZodError} as `add` does.
   */
  seal(mail: Mail, now: Date): SealedMail
}

/** A mail that is ready to be kept. */
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
 * SQL that keeps a mail: a statement, or a part of one.
 *
 * @param options.first the number of the first of its parameters, which follow each other
 * @param options.from a table of the statement: the mail is kept once for each of its rows; once when absent
 */
export function insertMail({ first, from }: { first: number; from?: string }): string {
  const values = Object.values(COLUMNS).map((type, index) => `$${first + index}::${type}`)
  return `insert into mails (${NAMES.join(', ')})
    select ${values.join(', ')}${from ? ` from ${from}` : ''}`
}

/**
 * SQL condition for the statement that keeps a mail: so few mails wait that this one may wait, too, if it has to. The bound
 * is approximate: simultaneous statements do not see each other's mails, and a mail counts as waiting only once a worker
 * found no room for it.
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

/** What to throw when `mayWait` kept a mail from being stored. */
export const tooManyMailsWaiting = (): Problem =>
  new Problem('rate-limited', {
    detail: `Too many mails are waiting to be sent. Nothing was stored. Try again in ${RETRY_SECONDS} seconds.`,
    headers: { 'retry-after': String(RETRY_SECONDS) },
    extensions: { policy: 'mails-waiting' },
  })

const ADD = `with mail as (${insertMail({ first: 1 })} where ${mayWait({ first: 1 })} returning id)
  ${NOTIFY_MAILERS} from mail`

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
    const sealed = sealingKeys.seal(JSON.stringify(MailContent.parse(content)), contentPlace(id))
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

export interface MailTeller extends AsyncDisposable {
  /** Notifies the mailers a moment later. To be called once a mail is committed. */
  tell(): void
}

/** Mailers are notified no more often than this. */
const TOGETHER_MS = 25

/**
 * Notifies mailers of mails that are committed already, once for all mails of a moment: PostgreSQL commits transactions
 * that notify one after the other, each waiting for the disk alone, so a notification in each transaction bounds them all.
 *
 * A failed notification only makes mails late: mailers poll, too. Disposing sends a notification that is pending.
 */
export function tellMails({
  db,
  log,
}: {
  db: Database
  log: { warn(message: string, fields?: Record<string, unknown>): void }
}): MailTeller {
  let isPending = false
  let last: Promise<void> = Promise.resolve()

  async function notifyAfter(before: Promise<void>): Promise<void> {
    await before
    await sleep(TOGETHER_MS)
    isPending = false
    try {
      await db.query(NOTIFY_MAILERS)
    } catch (error) {
      log.warn('mails were not told to the workers, and are found later', { error })
    }
  }

  return {
    tell() {
      if (isPending) return
      isPending = true
      last = notifyAfter(last)
    },
    [Symbol.asyncDispose]: () => last,
  }
}
