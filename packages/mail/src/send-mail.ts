import { setTimeout as sleep } from 'node:timers/promises'
import { RULES } from '@plainpath/domain'
import { type Database, isUnavailable, type Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { contentPlace, MailContent, type MailOutcome } from './mail.ts'
import { countMail, type MailCaps } from './mail-caps.ts'
import type { MailMetrics, SettledReason } from './mail-metrics.ts'
import { DeliveryError, type MailTransport } from './mail-transport.ts'
import { type LeasedMail, MAX_ATTEMPTS, returnMail, settleMail } from './stored-mail.ts'

/** What an app decides about the mails of one kind. `about` is what the mail was added with. */
export interface MailHandler {
  /** Asked before each delivery: a mail that nobody waits for any more is dropped. Without it: always. */
  wanted?(about: string): Promise<boolean>
  /** Told once, in the transaction that settles the mail; what it throws undoes that, and the mail is tried again. */
  settled?(tx: Database, about: string, outcome: MailOutcome, now: Date): Promise<void>
  /** False for mail to ourselves, which no cap holds back. */
  readonly capped?: boolean
  /** How long after it was added a mail may wait for room under a cap, in milliseconds; two days when absent. */
  readonly maxWaitMs?: number
  /**
   * Called before each attempt to send a mail that had to wait: its links then work from `now` for as long as the mail says.
   * They need no new secrets, because nobody has seen the mail.
   */
  renew?(about: string, now: Date): Promise<void>
}

export interface SendMailDeps {
  readonly db: Pool
  readonly sealingKeys: SealingKeys
  /** For the hashes of the caps. */
  readonly hashKey: HashKey
  /** Disposed with the mailer. */
  readonly transport: MailTransport
  /** The address that mails come from. */
  readonly from: string
  /** By kind. Mail of another kind waits for an instance that knows it. */
  readonly handlers: Readonly<Record<string, MailHandler>>
  readonly caps: MailCaps
  readonly metrics: MailMetrics
  readonly now: () => Date
}

/**
 * Delivers one mail, at least once and always under the same Message-ID, and settles it.
 *
 * @throws {DeliveryError} when it is to be tried again, and what the store throws
 */
export async function sendMail(deps: SendMailDeps, mail: LeasedMail): Promise<void> {
  try {
    await deliver(deps, mail)
  } catch (error) {
    if (error instanceof DeliveryError && error.refused) await settle(deps, mail.id, 'dead', 'refused')
    else if (mail.attempts >= MAX_ATTEMPTS) await settle(deps, mail.id, 'dead', 'spent')
    else {
      deps.metrics.failed(mail.kind)
      await returnMail(deps.db, mail, deps.now())
      throw error
    }
  }
}

async function deliver(deps: SendMailDeps, mail: LeasedMail): Promise<void> {
  const handler = deps.handlers[mail.kind]
  // A newer release may know the kind: the mail waits for it.
  if (handler === undefined) throw new DeliveryError({ code: 'EKIND' })
  const content = openContent(deps.sealingKeys, mail)
  if (handler.capped !== false && !mail.isCounted) {
    const { id, askedFor, createdAt } = mail
    const waitUntil = new Date(createdAt.getTime() + (handler.maxWaitMs ?? RULES.mailWaitsMs))
    const counting = { id, to: content.to, askedFor, waitUntil }
    const result = await deps.db.transaction((tx) => countMail(tx, deps, counting, deps.now()))
    if (result === 'deferred') return
    if (result === 'mailbox-full') {
      await settle(deps, id, 'dropped', 'cap-mailbox')
      return
    }
  }
  if (mail.releasedAt) await handler.renew?.(mail.about, deps.now())
  // After the caps, so that which mails wait does not reveal which of them are wanted.
  if (handler.wanted && !(await handler.wanted(mail.about))) {
    await settle(deps, mail.id, 'dropped', 'unwanted')
    return
  }
  await deps.transport.send({
    ...content,
    messageId: mail.messageId,
    from: deps.from,
    // A link that works for a day would look expired under the date of yesterday.
    date: mail.releasedAt ?? mail.createdAt,
  })
  await settleSent(deps, mail.id)
}

function openContent(sealingKeys: SealingKeys, { id, sealed }: LeasedMail): MailContent {
  return MailContent.parse(JSON.parse(sealingKeys.open(sealed, contentPlace(id)).toString('utf8')))
}

/** Much less than what is left of the lease. */
const SETTLED_WITHIN_MS = 8_000
const PAUSE_MS = 250

/** What went and is not settled goes again, so a store that is away for a moment is asked again. */
async function settleSent(deps: SendMailDeps, id: string): Promise<void> {
  const until = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    try {
      await settle(deps, id, 'sent', 'accepted')
      return
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > until) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/**
 * Settles a mail together with what its kind does then.
 *
 * @returns false when it was settled before
 */
export async function settle(
  deps: Pick<SendMailDeps, 'db' | 'handlers' | 'metrics' | 'now'>,
  id: string,
  outcome: MailOutcome,
  reason: SettledReason,
): Promise<boolean> {
  const settled = await deps.db.transaction(async (tx) => {
    const now = deps.now()
    const mail = await settleMail(tx, id, outcome, now)
    if (mail) await deps.handlers[mail.kind]?.settled?.(tx, mail.about, outcome, now)
    return mail
  })
  if (settled) deps.metrics.settled(settled.kind, outcome, reason)
  return settled !== undefined
}
