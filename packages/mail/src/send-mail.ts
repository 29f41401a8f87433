import { setTimeout as sleep } from 'node:timers/promises'
import { RULES } from '@plainpath/domain'
import { type Database, isUnavailable, type Pool } from '@plainpath/postgres'
import type { HashKey, Sealer } from '@plainpath/sealing'
import { MailContent, type MailOutcome, toContentEncryptionContext } from './mail.ts'
import { countMail, type MailCaps } from './mail-caps.ts'
import type { MailMetrics, SettledReason } from './mail-metrics.ts'
import { DeliveryError, type MailTransport } from './mail-transport.ts'
import { type LeasedMail, MAX_ATTEMPTS, type MailReference, returnMail, settleMail } from './stored-mail.ts'

/** An app's decisions and callbacks for mails of one kind. `about` is the value with which the mail was added. */
export interface MailHandler {
  /** Returns false if the mail must be dropped. Called before each delivery. By default, every mail is wanted. */
  isWanted?(about: string): Promise<boolean>
  /** Called in the transaction that settles the mail. If it throws, the transaction is rolled back, and the mail is tried again. */
  onSettled?(tx: Database, about: string, outcome: MailOutcome, now: Date): Promise<void>
  /** False for mails to which no cap applies, such as mails to our own staff. */
  readonly isCapped?: boolean
  /** How long after its due time a mail may wait for room under a cap, in milliseconds; by default two days. */
  readonly maxWaitMs?: number
  /**
   * Extends the lifetime of the mail's links, so that from `now` on they work for the time that the mail states. Called before each
   * attempt to send a mail that had to wait. The links keep their secrets, because nobody has seen the mail yet.
   */
  renew?(about: string, now: Date): Promise<void>
}

export interface SendMailDeps {
  readonly db: Pool
  readonly sealer: Sealer
  /** Hashes mailboxes and domains, for counting. */
  readonly hashKey: HashKey
  /** The transport. The mailer disposes of it. */
  readonly transport: MailTransport
  /** The sender address. */
  readonly from: string
  /** The handlers by kind. A mail of another kind is tried again, because an instance of a newer release may have its handler. */
  readonly handlers: Readonly<Record<string, MailHandler>>
  readonly caps: MailCaps
  readonly metrics: MailMetrics
  readonly now: () => Date
}

/**
 * Delivers a mail and settles it. A mail may be delivered more than once, always under the same Message-ID.
 *
 * @throws the error of the attempt, if the mail is tried again
 */
export async function sendMail(deps: SendMailDeps, mail: LeasedMail): Promise<void> {
  try {
    await deliver(deps, mail)
  } catch (error) {
    if (error instanceof DeliveryError && error.isRecipientRefused)
      await settle(deps, mail, 'dead', 'refused')
    else if (mail.attempts >= MAX_ATTEMPTS) await settle(deps, mail, 'dead', 'spent')
    else {
      deps.metrics.countFailure(mail.kind)
      await returnMail(deps.db, mail, deps.now())
      throw error
    }
  }
}

async function deliver(deps: SendMailDeps, mail: LeasedMail): Promise<void> {
  const handler = deps.handlers[mail.kind]
  // A newer release may have a handler for the kind. The mail is tried again, until an instance of that release leases it.
  if (handler === undefined) throw new DeliveryError({ code: 'EKIND' })
  const content = unsealContent(deps.sealer, mail)
  let { releasedAt } = mail
  if (handler.isCapped !== false && !mail.isCounted) {
    const { id, isRequestedByPerson, createdAt } = mail
    const giveUpAt = new Date(createdAt.getTime() + (handler.maxWaitMs ?? RULES.mailWaitsMs))
    const countedMail = { id, to: content.to, isRequestedByPerson, giveUpAt }
    const verdict = await deps.db.transaction((tx) => countMail(tx, deps, countedMail, deps.now()))
    if (verdict === 'mailbox-full') await settle(deps, mail, 'dropped', 'cap-mailbox')
    if (verdict !== 'counted') return
    // A released mail is counted again if it could not be sent for a day.
    if (releasedAt) releasedAt = deps.now()
  }
  if (releasedAt) await handler.renew?.(mail.about, deps.now())
  // Checked after the caps, so that unwanted mails wait like wanted mails. Waiting then does not reveal which mails are wanted.
  if (handler.isWanted && !(await handler.isWanted(mail.about))) {
    await settle(deps, mail, 'dropped', 'unwanted')
    return
  }
  await deps.transport.send({
    ...content,
    messageId: mail.messageId,
    from: deps.from,
    // A mail that had to wait is dated to its release: a link that works for a day would look expired in a mail from yesterday.
    date: releasedAt ?? mail.createdAt,
  })
  await settleSent(deps, mail)
}

function unsealContent(sealer: Sealer, { id, sealed }: LeasedMail): MailContent {
  return MailContent.parse(JSON.parse(sealer.unseal(sealed, toContentEncryptionContext(id)).toString('utf8')))
}

/** How long settling is retried. Even after the longest delivery, the retries end before the lease does. */
const SETTLE_RETRY_MS = 8_000
const SETTLE_PAUSE_MS = 250

/** Settles a sent mail. Retries while the database is unavailable, because a mail that was sent but not settled is sent again. */
async function settleSent(deps: SendMailDeps, mail: MailReference): Promise<void> {
  const deadline = performance.now() + SETTLE_RETRY_MS
  for (;;) {
    try {
      await settle(deps, mail, 'sent', 'accepted')
      return
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw error
      await sleep(SETTLE_PAUSE_MS)
    }
  }
}

/**
 * Settles a mail. If its handler has `onSettled`, calls that in the same transaction.
 *
 * @returns false if the mail was settled before
 */
export async function settle(
  deps: Pick<SendMailDeps, 'db' | 'handlers' | 'metrics' | 'now'>,
  { id, kind, about }: MailReference,
  outcome: MailOutcome,
  reason: SettledReason,
): Promise<boolean> {
  const onSettled = deps.handlers[kind]?.onSettled
  const isSettled = onSettled
    ? await deps.db.transaction(async (tx) => {
        const now = deps.now()
        if (!(await settleMail(tx, id, outcome, now))) return false
        await onSettled(tx, about, outcome, now)
        return true
      })
    : await settleMail(deps.db, id, outcome, deps.now())
  if (isSettled) deps.metrics.countSettled(kind, outcome, reason)
  return isSettled
}
