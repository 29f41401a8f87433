import { err, ok, type Result } from '@plainpath/domain'
import { eraseMails, isMailBeingSent, type MailQueue } from '@plainpath/mail'
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

const HeldMessage = z.object({
  state: z.string(),
  replySealed: z.instanceof(Buffer).nullable(),
  agentDomainSealed: z.instanceof(Buffer).nullable(),
  createdAt: z.date(),
})

/**
 * Erases an undelivered message and its mails. If an agent withdraws the message, a mail informs the person. Locks the staff mail
 * before the message, in the same order as the mailer.
 *
 * @returns the message id, also for a message that was already erased
 */
export async function withdrawMessage(
  tx: Database,
  deps: { mails: MailQueue; sealer: Sealer; urls: ServiceUrls },
  target: WithdrawTarget,
  now: Date,
): Promise<Result<string, WithdrawRefusal>> {
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
  if (await isMailBeingSent(tx, { kind: CONTACT_MAIL.staff, about: id }, now)) return err('being-delivered')
  // The update erases the values that the mail needs, so `held` reads them first.
  const { rows: withdrawnRows } = await tx.query(
    `with held as (
       select id, state, reply_sealed, agent_domain_sealed, created_at from contact_messages
       where id = $1 and state <> 'delivered' for no key update)
     update contact_messages set ${ERASE_WITHDRAWN}, erased_at = coalesce(erased_at, $2)
     from held where contact_messages.id = held.id
     returning held.state, held.reply_sealed as "replySealed", held.created_at as "createdAt",
       held.agent_domain_sealed as "agentDomainSealed"`,
    [id, now],
  )
  if (!withdrawnRows[0]) return err('delivered')
  const heldMessage = HeldMessage.parse(withdrawnRows[0])
  if (heldMessage.state === 'erased') return ok(id)
  await eraseMails(tx, [id], now)
  if (isByLink) return ok(id)
  const replyTo = decryptAddress(deps.sealer, id, heldMessage.replySealed)
  if (replyTo !== undefined) {
    const agentDomain =
      unsealIfPossible(() => decryptAgentDomain(deps.sealer, id, heldMessage.agentDomainSealed)) ?? null
    const withdrawnMessage = {
      id,
      replyTo,
      createdAt: heldMessage.createdAt,
      agent: target.agent,
      agentDomain,
    }
    const mail = composeWithdrawnMail(deps.urls, withdrawnMessage)
    await deps.mails.add(tx, { kind: CONTACT_MAIL.withdrawn, about: id, ...mail }, now)
  }
  return ok(id)
}

/** Decrypts the person's address. Returns undefined if the key is lost. The message is then withdrawn without a mail. */
const decryptAddress = (sealer: Sealer, id: string, sealed: Buffer | null) =>
  unsealIfPossible(() =>
    sealed === null ? undefined : sealer.unseal(sealed, getMessageContext(id, 'reply')).toString('utf8'),
  )
