import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '@plainpath/http'
import type { Database } from '@plainpath/postgres'
import type { HashKey, Sealer } from '@plainpath/sealing'
import { type Mail, MailContent, toContentEncryptionContext } from './mail.ts'
import { getUsableShare, IS_WAITING, scaleWaitingMailBounds, type WaitingMailBounds } from './mail-caps.ts'

/** The PostgreSQL channel that notifies mailers of new mails. They also poll the table. */
export const MAILS_CHANNEL = 'mails'
const NOTIFY_MAILERS = `select pg_notify('${MAILS_CHANNEL}', '')`

export interface MailQueue {
  /**
   * Stores a mail in the caller's transaction. PostgreSQL notifies the mailers when the transaction commits.
   *
   * @param dueAt the earliest time at which the mail is sent, from which its age is measured; by default `now`
   * @returns the mail's id, a UUID
   * @throws {Problem} 429 if too many mails wait for room, either of this kind from this network or in total
   * @throws {z.ZodError} if the content does not match `MailContent`. Its messages quote nothing
   */
  add(tx: Database, mail: Mail, now: Date, dueAt?: Date): Promise<string>
  /**
   * Seals a mail for a statement of the caller that contains `buildInsertMailSql`. The mail is due once that statement is committed.
   * The caller then notifies the mailers through `createMailNotifier`.
   *
   * @throws {z.ZodError} like `add`
   */
  seal(mail: Mail, now: Date): SealedMail
}

/** A mail that is ready to be stored. */
interface SealedMail {
  /** The mail's id, a UUID. */
  readonly id: string
  /** The parameters of `buildInsertMailSql`, followed by the bounds for `buildMayStoreMailSql`. */
  readonly values: readonly unknown[]
}

/** The columns that a new mail sets, with their types, in the order of the parameters. */
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
const COLUMN_NAMES = Object.keys(COLUMNS)

/**
 * Builds SQL that stores a mail, as a separate statement or as a part of another statement.
 *
 * @param options.first the number of the first parameter. The other parameters follow it
 * @param options.from a table of the surrounding statement. The mail is stored once for each row of the table
 */
export function buildInsertMailSql({ first, from }: { first: number; from?: string }): string {
  const values = Object.values(COLUMNS).map((type, index) => `$${first + index}::${type}`)
  return `insert into mails (${COLUMN_NAMES.join(', ')})
    select ${values.join(', ')}${from ? ` from ${from}` : ''}`
}

/**
 * Builds the SQL condition under which a statement may store another mail: the numbers of waiting mails are below their bounds. A mail
 * without a `requesterNetwork` may always be stored. The bounds are approximate, because concurrent statements do not see each other's
 * mails, and because a mail counts as waiting only after a mailer has found no room for it.
 *
 * @param options.first as for `buildInsertMailSql`
 */
export function buildMayStoreMailSql({ first }: { first: number }): string {
  const parameter = (name: keyof typeof COLUMNS) => `$${first + COLUMN_NAMES.indexOf(name)}`
  const networkBound = first + COLUMN_NAMES.length
  const totalBound = networkBound + 1
  return `(${parameter('sender_hash')}::bytea is null or (
    (select count(*) from mails where ${IS_WAITING} and kind = ${parameter('kind')}
     and sender_hash = ${parameter('sender_hash')}) < $${networkBound}::bigint
    and (select count(*) from mails where ${IS_WAITING}) < $${totalBound}::bigint))`
}

const RETRY_AFTER_SECONDS = 600

/** Creates the problem for a mail that was not stored because too many mails wait (`buildMayStoreMailSql`). */
export const createTooManyMailsProblem = (): Problem =>
  new Problem('rate-limited', {
    detail: `Too many mails are waiting to be sent. Nothing was stored. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    extensions: { policy: 'mails-waiting' },
  })

const ADD_MAIL = `with mail as (${buildInsertMailSql({ first: 1 })} where ${buildMayStoreMailSql({ first: 1 })} returning id)
  ${NOTIFY_MAILERS} from mail`

/** Creates the queue that stores an app's mails. `openMailer` sends them. */
export function createMailQueue(deps: {
  sealer: Sealer
  /** The key of the hashes of networks. */
  hashKey: HashKey
  /** The bounds on waiting mails; by default the bounds of production. */
  waiting?: WaitingMailBounds
}): MailQueue {
  const { sealer, hashKey, waiting = scaleWaitingMailBounds(1) } = deps
  function seal(
    { kind, about, requesterNetwork, isRequestedByPerson = false, ...content }: Mail,
    dueAt: Date,
  ): SealedMail {
    const id = randomUUID()
    const sealedContent = sealer.seal(
      JSON.stringify(MailContent.parse(content)),
      toContentEncryptionContext(id),
    )
    const networkHash = requesterNetwork === undefined ? null : hashKey.hash('mail/sender', requesterNetwork)
    const bounds = [waiting.network, getUsableShare(waiting.all, isRequestedByPerson)]
    const values = [
      id,
      kind,
      about,
      sealedContent,
      // The left part of the Message-ID. `leaseNextMail` adds the domain.
      randomUUID(),
      dueAt,
      dueAt,
      networkHash,
      isRequestedByPerson,
      ...bounds,
    ]
    return { id, values }
  }
  return {
    seal,
    async add(tx, mail, now, dueAt = now) {
      const { id, values } = seal(mail, dueAt)
      const { rowCount } = await tx.query(ADD_MAIL, values)
      if (rowCount === 0) throw createTooManyMailsProblem()
      return id
    },
  }
}

export interface MailNotifier extends AsyncDisposable {
  /** Notifies the mailers after about 25 ms. Call it after the transaction that stored the mail has been committed. */
  notifyMailers(): void
}

/** The minimum time between two notifications. */
const NOTIFY_INTERVAL_MS = 25

/**
 * Creates a notifier that notifies mailers of committed mails at most once every 25 ms. PostgreSQL serialises the commits of
 * transactions that notify, and each commit waits for its own write to disk. A notification in every transaction that stores a mail
 * would therefore limit the rate of these transactions.
 *
 * A failed notification only delays mails, because mailers also poll. Disposing sends the pending notification.
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
    await sleep(NOTIFY_INTERVAL_MS)
    isPending = false
    try {
      await db.query(NOTIFY_MAILERS)
    } catch (error) {
      log.warn('the mailers could not be notified, and will find new mails when they poll', { error })
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
