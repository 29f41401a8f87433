/*
 * Ends claims in the caller's transaction, and queues the mails that tell the people. Revoking the tokens is up to the
 * caller (`postgres-claims.ts`, `end-agent.ts`).
 */
import type { Database } from '@plainpath/postgres'
import { openIfPossible } from '@plainpath/sealing'
import { z } from 'zod'
import type { Claim } from './claim.ts'
import { claimEndedMail, type EndCause } from './claim-mails.ts'
import { type DescribedAgent, openEmail, toConfirmedAgent } from './confirmed-person.ts'
import type { PostgresClaimDeps } from './postgres-claim-attempts.ts'

/** What `endClaims` reads of a claim before it erases the address. */
const EndedRow = z.object({
  id: z.string(),
  agentId: z.string(),
  verifiedAt: z.date(),
  expiresAt: z.date(),
  emailSealed: z.instanceof(Buffer),
  emailHash: z.instanceof(Buffer),
})
type EndedRow = z.infer<typeof EndedRow>

/** Ends the claims that match. @param values the value in the condition, then the time. @returns the claims that it ended, with their addresses */
export async function endClaims(
  tx: Database,
  where: string,
  values: readonly [string, Date],
  by: NonNullable<Claim['endedBy']>,
): Promise<EndedRow[]> {
  const { rows } = await tx.query(
    `with live as (
       select id, email_sealed, email_hash from claims where ${where} and ended_at is null for no key update)
     update claims set ended_at = $2, ended_by = $3, email_sealed = null, email_hash = null, email_hash_key = null
     from live where claims.id = live.id
     returning claims.id, agent_id as "agentId", verified_at as "verifiedAt", expires_at as "expiresAt",
       live.email_sealed as "emailSealed", live.email_hash as "emailHash"`,
    [...values, by],
  )
  return rows.map((row) => EndedRow.parse(row))
}

type EndMailDeps = Pick<PostgresClaimDeps, 'addMail' | 'sealingKeys'>

/**
 * Queues the mail that tells each person that a claim has ended. An address that cannot be decrypted gets none.
 *
 * @param end.agent read from its row when absent
 */
export async function addEndedMails(
  tx: Database,
  { addMail, sealingKeys }: EndMailDeps,
  claims: readonly EndedRow[],
  end: { by: EndCause; now: Date; agent?: DescribedAgent },
): Promise<void> {
  for (const claim of claims) {
    const to = openIfPossible(() => openEmail(sealingKeys, claim))
    const described = end.agent ?? (await findDescribedAgent(tx, claim.agentId))
    if (to === undefined || !described) continue
    const agent = toConfirmedAgent(sealingKeys, described, claim)
    await addMail(tx, claimEndedMail({ claimId: claim.id, to, agent, by: end.by, endedAt: end.now }), end.now)
  }
}

async function findDescribedAgent(tx: Database, id: string): Promise<DescribedAgent | undefined> {
  const { rows } = await tx.query<DescribedAgent>(
    'select id, name_sealed as "nameSealed", registered_at as "registeredAt", app_host as "appHost" from agents where id = $1',
    [id],
  )
  return rows[0]
}

/** Ends the claims of an agent and deletes its attempts, in the transaction that deletes the agent. @param agent as it was before */
export async function endClaimsOfAgent(
  tx: Database,
  deps: EndMailDeps,
  agent: DescribedAgent,
  now: Date,
): Promise<void> {
  const ended = await endClaims(tx, 'agent_id = $1', [agent.id, now], 'agent-deleted')
  const live = ended.filter(({ expiresAt }) => now < expiresAt)
  await addEndedMails(tx, deps, live, { by: 'agent-deleted', now, agent })
  await tx.query('delete from claim_attempts where agent_id = $1', [agent.id])
}
