import { err, ok, type Result } from '@plainpath/domain'
import { eraseMails, isBeingSent, type MailQueue } from '@plainpath/mail'
import type { Database } from '@plainpath/postgres'
import { openIfPossible, type SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { CONTACT_MAIL, withdrawnMail } from './contact-mails.ts'
import { ERASE_WITHDRAWN, messageEncryptionContext, openAgentDomain } from './contact-message.ts'

/** The message to withdraw: one of a registration, or the one of a link. */
export type Withdrawn =
  | { readonly id: string; readonly registrationId: string }
  | { readonly linkHash: Buffer }

/** Why a message is not withdrawn. */
export type WithdrawRefusal = 'not-found' | 'being-delivered' | 'delivered'

const Held = z.object({
  state: z.string(),
  replySealed: z.instanceof(Buffer).nullable(),
  agentDomainSealed: z.instanceof(Buffer).nullable(),
  createdAt: z.date(),
})

/**
 * Erases a message that was not delivered, and its mails. If its agent withdrew it, the person gets a mail, once. Locks the
 * mails first: the mailer that delivers one locks them in that order, too.
 *
 * @returns the id of the message
 */
export async function withdrawMessage(
  tx: Database,
  deps: { mails: MailQueue; sealingKeys: SealingKeys },
  which: Withdrawn,
  now: Date,
): Promise<Result<string, WithdrawRefusal>> {
  const byLink = 'linkHash' in which
  const [condition, values] = byLink
    ? ['withdraw_hash = $1', [which.linkHash]]
    : ['id = $1 and registration_id = $2', [which.id, which.registrationId]]
  const { rows } = await tx.query<{ id: string }>(
    `select id from contact_messages where ${condition} and state <> 'unconfirmed'`,
    values,
  )
  if (!rows[0]) return err('not-found')
  const { id } = rows[0]
  if (await isBeingSent(tx, { kind: CONTACT_MAIL.staff, about: id }, now)) return err('being-delivered')
  const { rows: withdrawn } = await tx.query(
    `with held as (
       select id, state, reply_sealed, agent_domain_sealed, created_at from contact_messages
       where id = $1 and state <> 'delivered' for no key update)
     update contact_messages set ${ERASE_WITHDRAWN}, erased_at = coalesce(erased_at, $2)
     from held where contact_messages.id = held.id
     returning held.state, held.reply_sealed as "replySealed", held.created_at as "createdAt",
       held.agent_domain_sealed as "agentDomainSealed"`,
    [id, now],
  )
  if (!withdrawn[0]) return err('delivered')
  const held = Held.parse(withdrawn[0])
  if (held.state === 'erased') return ok(id)
  await eraseMails(tx, id, now)
  const replyTo = byLink ? undefined : openAddress(deps.sealingKeys, id, held.replySealed)
  if (replyTo !== undefined) {
    const agentDomain =
      openIfPossible(() => openAgentDomain(deps.sealingKeys, id, held.agentDomainSealed)) ?? null
    const mail = withdrawnMail({ id, replyTo, createdAt: held.createdAt, agentDomain })
    await deps.mails.add(tx, { kind: CONTACT_MAIL.withdrawn, about: id, ...mail }, now)
  }
  return ok(id)
}

/** Decrypts the address; undefined if its key is lost, and the message is then withdrawn without a mail. */
const openAddress = (keys: SealingKeys, id: string, sealed: Buffer | null) =>
  openIfPossible(() =>
    sealed === null ? undefined : keys.open(sealed, messageEncryptionContext(id, 'reply')).toString('utf8'),
  )
