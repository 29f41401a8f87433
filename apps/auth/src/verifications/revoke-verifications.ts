/*
 * Revokes or deletes verifications in the caller's transaction, and queues mails to the people whose verifications were revoked.
 * The tokens are revoked elsewhere: `postgres-verification-store.ts` and `agents/change-and-revoke.ts` do that.
 */
import type { Database } from '@plainpath/postgres'
import { unsealIfPossible } from '@plainpath/sealing'
import { z } from 'zod'
import { deleteAttempts } from './attempt-row.ts'
import { type DescribedAgent, decryptEmail, toConfirmedAgent } from './confirmed-person.ts'
import type { Verification } from './verification.ts'
import type { VerificationStoreBaseDeps } from './verification-attempt-store.ts'
import { composeRevokedMail, type RevocationCause } from './verification-mails.ts'

/** The columns of a verification that `revokeVerifications` reads before it erases the address. */
const RevokedRow = z.object({
  id: z.string(),
  agentId: z.string(),
  verifiedAt: z.date(),
  expiresAt: z.date(),
  emailSealed: z.instanceof(Buffer),
  emailHash: z.instanceof(Buffer),
})
type RevokedRow = z.infer<typeof RevokedRow>

/**
 * Revokes the verifications that match a condition and have not ended. Their addresses are erased. Concurrent calls lock
 * the verifications in the same order.
 *
 * @param where the condition, in SQL that is not escaped
 * @param values the first value in the condition ($1), the current time ($2), and the other values in the condition
 * @returns the revoked verifications with their addresses
 */
export async function revokeVerifications(
  tx: Database,
  where: string,
  values: readonly [string | Buffer, Date, ...string[]],
  by: NonNullable<Verification['endedBy']>,
): Promise<RevokedRow[]> {
  const { rows } = await tx.query(
    `with live as (
       select id, email_sealed, email_hash from claims where ${where} and ended_at is null
       order by id for no key update)
     update claims set ended_at = $2, ended_by = $${values.length + 1}, email_sealed = null, email_hash = null, email_hash_key = null
     from live where claims.id = live.id
     returning claims.id, agent_id as "agentId", verified_at as "verifiedAt", expires_at as "expiresAt",
       live.email_sealed as "emailSealed", live.email_hash as "emailHash"`,
    [...values, by],
  )
  return rows.map((row) => RevokedRow.parse(row))
}

/**
 * Revokes the live verifications for the address of a live verification, that one included, for the person.
 *
 * The agents are locked first, as in `redeem`. Without this, a renewal that commits meanwhile would replace a verification by one
 * that this function does not find.
 *
 * @returns none if the given verification is not live
 */
export async function revokeVerificationsByAddress(
  tx: Database,
  id: string,
  now: Date,
): Promise<RevokedRow[]> {
  const isLive = 'ended_at is null and expires_at > $2'
  const { rows } = await tx.query<{ hash: Buffer; keyId: string }>(
    `select email_hash as hash, email_hash_key as "keyId" from claims where id = $1 and ${isLive}`,
    [id, now],
  )
  if (!rows[0]) return []
  const values = [rows[0].hash, now, rows[0].keyId] as const
  const isForAddress = 'email_hash = $1 and expires_at > $2 and email_hash_key = $3'
  await tx.query(
    `select from agents where id in (select agent_id from claims where ${isForAddress}) order by id for no key update`,
    values,
  )
  return await revokeVerifications(tx, isForAddress, values, 'person')
}

type RevocationMailDeps = Pick<VerificationStoreBaseDeps, 'addMail' | 'sealer'>

/**
 * Queues a mail to each person whose verification was revoked, unless their address cannot be decrypted.
 *
 * @param options.agent the agent; by default, it is read from the database
 */
export async function addRevocationMails(
  tx: Database,
  { addMail, sealer }: RevocationMailDeps,
  verifications: readonly RevokedRow[],
  options: { by: RevocationCause; now: Date; agent?: DescribedAgent },
): Promise<void> {
  for (const verification of verifications) {
    const to = unsealIfPossible(() => decryptEmail(sealer, verification))
    const describedAgent = options.agent ?? (await findDescribedAgent(tx, verification.agentId))
    if (to === undefined || !describedAgent) continue
    const agent = toConfirmedAgent(sealer, describedAgent, verification)
    const facts = { verificationId: verification.id, to, agent, cause: options.by, revokedAt: options.now }
    await addMail(tx, composeRevokedMail(facts), options.now)
  }
}

async function findDescribedAgent(tx: Database, id: string): Promise<DescribedAgent | undefined> {
  const { rows } = await tx.query<DescribedAgent>(
    'select id, name_sealed as "nameSealed", registered_at as "registeredAt", app_host as "appHost" from agents where id = $1',
    [id],
  )
  return rows[0]
}

/**
 * Revokes the verifications of an agent and deletes its attempts, except those that a person can still decline, in the
 * transaction that deletes the agent.
 *
 * @param agent the agent before its deletion
 */
export async function revokeVerificationsOfAgent(
  tx: Database,
  deps: RevocationMailDeps,
  agent: DescribedAgent,
  now: Date,
): Promise<void> {
  const revokedRows = await revokeVerifications(tx, 'agent_id = $1', [agent.id, now], 'agent-deleted')
  const unexpired = revokedRows.filter(({ expiresAt }) => now < expiresAt)
  await addRevocationMails(tx, deps, unexpired, { by: 'agent-deleted', now, agent })
  await deleteAttempts(tx, [agent.id])
}

/**
 * Deletes the verifications and attempts of expired agents, except the attempts that a person can still decline. Foreign keys
 * cascade the deletion to the identity assertions, and to the tokens that are in PostgreSQL.
 */
export async function deleteVerificationsOfAgents(tx: Database, agentIds: readonly string[]): Promise<void> {
  await deleteAttempts(tx, agentIds)
  await tx.query('delete from claims where agent_id = any($1)', [agentIds])
}
