import { err, ok, type Result } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import { attemptOf, ERASED, emailContext, findAttempt } from './attempt-row.ts'
import { type Claim, ENDED_BY, type EndedBy } from './claim.ts'
import { redeem, type TryRefusal } from './claim-attempt.ts'
import type { ClaimStore, NewClaim } from './claim-store.ts'
import { isBlocked } from './mailbox-facts.ts'
import type { PostgresClaimDeps } from './postgres-claim-attempts.ts'

const Row = z.object({
  id: z.string(),
  agent_id: z.string(),
  verified_at: z.date(),
  expires_at: z.date(),
  ended_at: z.date().nullable(),
  ended_by: z.enum(ENDED_BY).nullable(),
})
const COLUMNS = Object.keys(Row.shape).join(', ')

const claimOf = (row: unknown): Claim => {
  const { id, agent_id: agentId, ended_at: at, ended_by: by, ...rest } = Row.parse(row)
  return {
    id,
    agentId,
    verifiedAt: rest.verified_at,
    expiresAt: rest.expires_at,
    ended: at && by ? { at, by } : undefined,
  }
}

export interface PostgresClaimsDeps extends PostgresClaimDeps {
  /**
   * Ends the tokens of a claim where they are kept. It runs before the end is committed and again after it, as
   * `endAgent` does and for its reasons; if the first throws, the claim stands.
   */
  endTokens(claimId: string): Promise<void>
  /** Returns when no API uses an answer about a token of the client any more. It runs last. */
  announceEnd(agentId: string): Promise<void>
  /** Told of an end that was asked for, once it is kept, whatever fails after it. */
  onEnded?: (id: string, by: EndedBy) => void
}

type EndedClaim = Pick<Claim, 'id' | 'agentId'>

/** Claims in Postgres. An address is sealed for its claim, and gone when the claim ends. */
export function postgresClaims(deps: PostgresClaimsDeps): ClaimStore {
  const { db, sealingKeys } = deps
  /** `work` returns what it made and which claims it ended. */
  const ending = async <T>(
    work: (tx: Database) => Promise<{ made: T; ended: readonly EndedClaim[] }>,
    onKept?: (made: T) => void,
  ): Promise<T> => {
    const { made, ended } = await db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const done = await work(tx)
      for (const { id } of done.ended) await deps.endTokens(id)
      return done
    })
    onKept?.(made)
    await tell(ended)
    return made
  }
  const tell = async (ended: readonly EndedClaim[]) => {
    for (const { id, agentId } of ended) {
      await deps.endTokens(id)
      await deps.announceEnd(agentId)
    }
  }
  const find = async (where: string, values: readonly unknown[]) => {
    const { rows } = await db.query(`select ${COLUMNS} from claims where ${where}`, values)
    return rows[0] && claimOf(rows[0])
  }
  return {
    redeem: (claim) => ending((tx) => redeemIn(tx, deps, claim)),
    find: (id) => find('id = $1', [id]),
    findByEndLink: (linkHash) => find('end_link_hash = $1', [linkHash]),
    findOfAttempt: (attemptId, now) =>
      find(
        `(agent_id, email_hash, email_hash_key) =
           (select agent_id, email_hash, hash_key_id from claim_attempts where id = $1)
         and ended_at is null and expires_at > $2`,
        [attemptId, now],
      ),
    newest: (agentId) => find('agent_id = $1 order by verified_at desc, id limit 1', [agentId]),
    live: (agentId, now) => find('agent_id = $1 and ended_at is null and expires_at > $2', [agentId, now]),
    async emailOf(id, now) {
      const { rows } = await db.query<{ email_sealed: Buffer }>(
        'select email_sealed from claims where id = $1 and ended_at is null and expires_at > $2',
        [id, now],
      )
      return rows[0] && sealingKeys.open(rows[0].email_sealed, emailContext(id)).toString('utf8')
    },
    async end(id, by, now) {
      const isEnded = await ending(
        async (tx) => {
          const ended = await endWhere(tx, 'id = $1 and expires_at > $2', [id, now], by)
          return { made: ended.length === 1, ended }
        },
        (made) => made && deps.onEnded?.(id, by),
      )
      const before = isEnded ? undefined : await find('id = $1', [id])
      if (before) await tell([before])
      return isEnded
    },
    async list(limit, { liveAt } = {}) {
      const { rows } = await db.query(
        `select ${COLUMNS} from claims where $2::timestamptz is null or (ended_at is null and expires_at > $2)
         order by verified_at desc, id limit $1`,
        [limit, liveAt ?? null],
      )
      return rows.map(claimOf)
    },
  }
}

/** Ends the agent's earlier claim, too. */
async function redeemIn(
  tx: Database,
  { addMail, sealingKeys }: PostgresClaimDeps,
  claim: NewClaim,
): Promise<{ made: Awaited<ReturnType<ClaimStore['redeem']>>; ended: readonly EndedClaim[] }> {
  const refused = (made: Result<never, TryRefusal | 'unknown'>) => ({ made, ended: [] })
  const { attemptId, now } = claim
  // Before the attempt's row, as everybody locks them: an agent that is being deleted gets no claim.
  const agent = await tx.query(
    `select id from agents where id = (select agent_id from claim_attempts where id = $1) and status = 'active'
     for no key update`,
    [attemptId],
  )
  const row = agent.rowCount === 0 ? undefined : await findAttempt(tx, 'id = $1', [attemptId], 'for update')
  if (!row) return refused(err('unknown'))
  const attempt = attemptOf(row)
  const entered = { hash: claim.codeHash, blocked: await isBlocked(tx, row, now) }
  const redeemed = redeem(attempt, entered, now)
  if (!redeemed.ok) return refused(redeemed)
  if (!row.email_sealed) throw new Error('an open attempt without an address')
  const { registrationId: id, agentId } = attempt
  const to = sealingKeys.open(row.email_sealed, emailContext(id)).toString('utf8')
  const ended = await endWhere(tx, 'agent_id = $1', [agentId, now], 'superseded')
  await tx.query(
    `insert into claims (id, agent_id, email_sealed, email_hash, email_hash_key, end_link_hash, verified_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...[id, agentId, row.email_sealed, row.email_hash, row.hash_key_id, claim.endLinkHash],
      ...[now, claim.expiresAt],
    ],
  )
  await tx.query(`update claim_attempts set state = 'completed', ${ERASED} where id = $1`, [attemptId])
  // The try that was right is no failure. The others of this mailbox stay counted.
  await tx.query(
    `delete from claim_tries where id = (select max(id) from claim_tries where attempt_id = $1)`,
    [attemptId],
  )
  const made: Claim = { id, agentId, verifiedAt: now, expiresAt: claim.expiresAt, ended: undefined }
  await addMail(tx, claim.mail(made, to), now)
  return { made: ok(made), ended }
}

/** @param values the first is the condition's own, the second the time. @returns which ended */
async function endWhere(
  tx: Database,
  where: string,
  values: readonly [string, Date],
  by: EndedBy,
): Promise<EndedClaim[]> {
  const { rows } = await tx.query<{ id: string; agent_id: string }>(
    `update claims set ended_at = $2, ended_by = $3, email_sealed = null, email_hash = null, email_hash_key = null
     where ${where} and ended_at is null returning id, agent_id`,
    [...values, by],
  )
  return rows.map(({ id, agent_id: agentId }) => ({ id, agentId }))
}

/** What the deletion of an agent does to its claims, in the transaction that deletes it. */
export async function endClaimsOfAgent(tx: Database, agentId: string, now: Date): Promise<void> {
  await endWhere(tx, 'agent_id = $1', [agentId, now], 'agent-deleted')
  await tx.query('delete from claim_attempts where agent_id = $1', [agentId])
}

/** What the expiry of agents does to their claims; assertions go with them. */
export async function removeClaimsOfAgents(tx: Database, agentIds: readonly string[]): Promise<void> {
  await tx.query('delete from claim_attempts where agent_id = any($1)', [agentIds])
  await tx.query('delete from claims where agent_id = any($1)', [agentIds])
}
