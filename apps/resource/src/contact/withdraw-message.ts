import { err, ok, type Result } from '@plainpath/domain'
import { eraseMails, type MailQueue, readDeliveryState } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Database } from '@plainpath/postgres'
import { type Sealer, unsealIfPossible } from '@plainpath/sealing'
import { z } from 'zod'
import type { ConfirmedAgent } from '../auth/introspection.ts'
import { CONTACT_MAIL, composeWithdrawnMail } from './contact-mails.ts'
import { decryptAgentDomain, ERASE_WITHDRAWN, getMessageContext } from './contact-message.ts'

/** Identifies the message to withdraw: by its id and registration (with the agent, if known), or by the hash of a mailed link. */
export type WithdrawTarget =
  | { readonly id: string; readonly registrationId: string; readonly agent: ConfirmedAgent | undefined }
  | { readonly linkHash: Buffer }

/** The reason why a message cannot be withdrawn. */
export type WithdrawRefusal = 'not-found' | 'being-delivered' | 'delivered'

/** A withdrawn message. Its content and its mails are erased. */
export interface Withdrawal {
  readonly id: string
  /**
   * True if staff may have the message: an attempt to mail it to them was made before it was erased, or it was erased after its
   * delivery.
   */
  readonly mayBeDelivered: boolean
}

const HeldMessage = z.object({
  state: z.string(),
  replySealed: z.instanceof(Buffer).nullable(),
  agentDomainSealed: z.instanceof(Buffer).nullable(),
  createdAt: z.date(),
  mayBeDelivered: z.boolean(),
})

/**
 * Erases an undelivered message and its mails. If an agent withdraws the message, a mail informs the person. Locks the staff mail
 * before the message, in the same order as the mailer.
 *
 * If an attempt to mail the message to staff has failed, they may have it nevertheless. `delivered_at` then becomes the time of the
 * withdrawal, so that a repeated withdrawal and the page of the link do not promise anything else.
 *
 * @returns the withdrawal, also for a message that was already erased
 */
export async function withdrawMessage(
  tx: Database,
  deps: { mails: MailQueue; sealer: Sealer; urls: ServiceUrls },
  target: WithdrawTarget,
  now: Date,
): Promise<Result<Withdrawal, WithdrawRefusal>> {
  const isByLink = 'linkHash' in target
  const [condition, values] = isByLink
    ? ['withdraw_hash = $1', [target.linkHash]]
    : ['id = $1 and registration_id = $2', [target.id, target.registrationId]]
  const { rows } = await tx.query<{ id: string }>(
    `select id from contact_messages where ${condition} and state <> 'unconfirmed'`,
    values,
  )
  if (!rows[0]) return err('not-found')
  const { id } = rows[0]
  const deliveryState = await readDeliveryState(tx, { kind: CONTACT_MAIL.staff, about: id }, now)
  if (deliveryState === 'in-progress') return err('being-delivered')
  // The update erases the values that the mail needs, so `held` reads them first.
  const { rows: withdrawnRows } = await tx.query(
    `with held as (
       select id, state, reply_sealed, agent_domain_sealed, created_at from contact_messages
       where id = $1 and state <> 'delivered' for no key update)
     update contact_messages set ${ERASE_WITHDRAWN}, erased_at = coalesce(erased_at, $2),
       delivered_at = case when held.state = 'received' and $3 then $2 else delivered_at end
     from held where contact_messages.id = held.id
     returning held.state, held.reply_sealed as "replySealed", held.created_at as "createdAt",
       held.agent_domain_sealed as "agentDomainSealed", delivered_at is not null as "mayBeDelivered"`,
    [id, now, deliveryState === 'attempted'],
  )
  if (!withdrawnRows[0]) return err('delivered')
  const heldMessage = HeldMessage.parse(withdrawnRows[0])
  const { mayBeDelivered } = heldMessage
  const withdrawal = { id, mayBeDelivered }
  if (heldMessage.state === 'erased') return ok(withdrawal)
  await eraseMails(tx, [id], now)
  if (isByLink) return ok(withdrawal)
  const replyTo = decryptAddress(deps.sealer, id, heldMessage.replySealed)
  if (replyTo !== undefined) {
    const agentDomain =
      unsealIfPossible(() => decryptAgentDomain(deps.sealer, id, heldMessage.agentDomainSealed)) ?? null
    const withdrawnMessage = {
      id,
      replyTo,
      createdAt: heldMessage.createdAt,
      mayBeDelivered,
      agent: target.agent,
      agentDomain,
    }
    const mail = composeWithdrawnMail(deps.urls, withdrawnMessage)
    await deps.mails.add(tx, { kind: CONTACT_MAIL.withdrawn, about: id, ...mail }, now)
  }
  return ok(withdrawal)
}

/** Decrypts the person's address. Returns undefined if the key is lost. The message is then withdrawn without a mail. */
const decryptAddress = (sealer: Sealer, id: string, sealed: Buffer | null) =>
  unsealIfPossible(() =>
    sealed === null ? undefined : sealer.unseal(sealed, getMessageContext(id, 'reply')).toString('utf8'),
  )
