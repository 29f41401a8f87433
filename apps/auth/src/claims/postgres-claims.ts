import { err, ok, type Result } from '@plainpath/domain'
import { type Database, rowReader } from '@plainpath/postgres'
import type { Revoker } from '../revocation/revoker.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import { ERASED, emailContext, findAttempt, isBlocked } from './attempt-row.ts'
import { Claim } from './claim.ts'
import { redeem, type TryRefusal } from './claim-attempt.ts'
import type { ClaimMail, PostgresClaimDeps } from './postgres-claim-attempts.ts'

const ClaimRow = rowReader(Claim)

export interface NewClaim {
  readonly attemptId: string
  /** Of the code that was entered. */
  readonly codeHash: Buffer
  /** SHA-256 of the secret in the link that ends it. */
  readonly endLinkHash: Buffer
  readonly now: Date
  readonly expiresAt: Date
  mail(claim: Claim, to: string): ClaimMail
}

export interface PostgresClaimsDeps extends PostgresClaimDeps {
  readonly tokens: Pick<TokenStore, 'endTokensOf'>
  readonly revoker: Pick<Revoker, 'announceEnd'>
}

export type ClaimStore = ReturnType<typeof postgresClaims>

type Redeemed = Result<Claim, TryRefusal | 'unknown'>
type EndedClaim = Pick<Claim, 'id' | 'agentId'>

/**
 * Claims in Postgres. An address is sealed for its claim, and gone when the claim ends. The tokens of a claim are ended
 * before its end is committed and again after it, as `endAgent` does and for its reasons; if the first fails, the claim
 * stands. APIs are told last.
 */
export function postgresClaims(deps: PostgresClaimsDeps) {
  const { db, sealingKeys, tokens, revoker, events } = deps
  const endTokens = (id: string) => tokens.endTokensOf({ kind: 'claim', id })
  /** `work` returns what it made and which claims it ended; `emit` runs once that is kept. */
  const ending = async <T>(
    work: (tx: Database) => Promise<{ made: T; ended: readonly EndedClaim[] }>,
    emit: (made: T) => void,
  ): Promise<T> => {
    const { made, ended } = await db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const done = await work(tx)
      for (const { id } of done.ended) await endTokens(id)
      return done
    })
    emit(made)
    await announce(ended)
    return made
  }
  const announce = async (ended: readonly EndedClaim[]) => {
    for (const { id, agentId } of ended) {
      await endTokens(id)
      await revoker.announceEnd({ kind: 'client', id: agentId })
    }
  }
  const find = async (where: string, values: readonly unknown[]) => {
    const { rows } = await db.query(`select ${ClaimRow.columns} from claims where ${where}`, values)
    return rows[0] && ClaimRow.parse(rows[0])
  }
  return {
    /**
     * Makes the claim of an attempt, ends the agent's earlier one, and keeps the mail that says so: all or nothing.
     *
     * @returns `unknown` when the attempt or its agent is gone
     */
    redeem: (claim: NewClaim): Promise<Redeemed> =>
      ending(
        (tx) => redeemIn(tx, deps, claim),
        (made) => {
          if (!made.ok) return
          events.emit('claim-made', { client_id: made.value.agentId, registration_id: made.value.id })
        },
      ),
    /** Also one that has ended. */
    find: (id: string) => find('id = $1', [id]),
    findByEndLink: (linkHash: Buffer) => find('end_link_hash = $1', [linkHash]),
    /** The live claim that the agent of an open attempt has for the same address. */
    findOfAttempt: (attemptId: string, now: Date) =>
      find(
        `(agent_id, email_hash, email_hash_key) =
           (select agent_id, email_hash, hash_key_id from claim_attempts where id = $1)
         and ended_at is null and expires_at > $2`,
        [attemptId, now],
      ),
    /** The last claim of an agent, also one that has ended. */
    newest: (agentId: string) => find('agent_id = $1 order by verified_at desc, id limit 1', [agentId]),
    /** The claim an agent has now. Tokens and assertions of a claim are good only while it lives. */
    live: (agentId: string, now: Date) =>
      find('agent_id = $1 and ended_at is null and expires_at > $2', [agentId, now]),
    /** The address of a live claim, as typed. */
    async emailOf(id: string, now: Date): Promise<string | undefined> {
      const { rows } = await db.query<{ email_sealed: Buffer }>(
        'select email_sealed from claims where id = $1 and ended_at is null and expires_at > $2',
        [id, now],
      )
      return rows[0] && sealingKeys.open(rows[0].email_sealed, emailContext(id)).toString('utf8')
    },
    /**
     * Ends a live claim and erases its address; durable when it returns, and nothing of the claim is good anywhere. Of one
     * that had ended, which is false, everybody is told again: that may be what failed the first time.
     */
    async end(id: string, by: 'person' | 'agent' | 'operator', now: Date): Promise<boolean> {
      const isEnded = await ending(
        async (tx) => {
          const ended = await endWhere(tx, 'id = $1 and expires_at > $2', [id, now], by)
          return { made: ended.length === 1, ended }
        },
        (made) => {
          if (made) events.emit('claim-ended', { registration_id: id, by })
        },
      )
      const before = isEnded ? undefined : await find('id = $1', [id])
      if (before) await announce([before])
      return isEnded
    },
    /** Newest first. @param limit 1 to 1000 */
    async list(limit: number, { liveAt }: { liveAt?: Date } = {}): Promise<readonly Claim[]> {
      const { rows } = await db.query(
        `select ${ClaimRow.columns} from claims where $2::timestamptz is null or (ended_at is null and expires_at > $2)
         order by verified_at desc, id limit $1`,
        [limit, liveAt ?? null],
      )
      return rows.map(ClaimRow.parse)
    },
  }
}

/** Ends the agent's earlier claim, too. */
async function redeemIn(
  tx: Database,
  { addMail, sealingKeys }: PostgresClaimDeps,
  claim: NewClaim,
): Promise<{ made: Redeemed; ended: readonly EndedClaim[] }> {
  const refused = (made: Result<never, TryRefusal | 'unknown'>) => ({ made, ended: [] })
  const { attemptId, now } = claim
  // Before the attempt's row, as everybody locks them: an agent that is being deleted gets no claim.
  const agent = await tx.query(
    `select id from agents where id = (select agent_id from claim_attempts where id = $1) and status = 'active'
     for no key update`,
    [attemptId],
  )
  const attempt =
    agent.rowCount === 0 ? undefined : await findAttempt(tx, 'id = $1', [attemptId], 'for update')
  if (!attempt) return refused(err('unknown'))
  const entered = { hash: claim.codeHash, blocked: await isBlocked(tx, attempt, now) }
  const redeemed = redeem(attempt, entered, now)
  if (!redeemed.ok) return refused(redeemed)
  const { registrationId: id, agentId, emailSealed } = attempt
  if (!emailSealed) throw new Error('an open attempt without an address')
  const to = sealingKeys.open(emailSealed, emailContext(id)).toString('utf8')
  const ended = await endWhere(tx, 'agent_id = $1', [agentId, now], 'superseded')
  await tx.query(
    `insert into claims (id, agent_id, email_sealed, email_hash, email_hash_key, end_link_hash, verified_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...[id, agentId, emailSealed, attempt.emailHash, attempt.hashKeyId, claim.endLinkHash],
      ...[now, claim.expiresAt],
    ],
  )
  await tx.query(`update claim_attempts set state = 'completed', ${ERASED} where id = $1`, [attemptId])
  // The try that was right is no failure. The others of this mailbox stay counted.
  await tx.query(
    `delete from claim_tries where id = (select max(id) from claim_tries where attempt_id = $1)`,
    [attemptId],
  )
  const made: Claim = { id, agentId, verifiedAt: now, expiresAt: claim.expiresAt }
  await addMail(tx, claim.mail(made, to), now)
  return { made: ok(made), ended }
}

/** @param values the first is the condition's own, the second the time. @returns which ended */
async function endWhere(
  tx: Database,
  where: string,
  values: readonly [string, Date],
  by: NonNullable<Claim['endedBy']>,
): Promise<EndedClaim[]> {
  const { rows } = await tx.query<{ id: string; agent_id: string }>(
    `update claims set ended_at = $2, ended_by = $3, email_sealed = null, email_hash = null, email_hash_key = null
     where ${where} and ended_at is null returning id, agent_id`,
    [...values, by],
  )
  return rows.map(({ id, agent_id: agentId }) => ({ id, agentId }))
}

/** For whoever must know it before there are token stores. */
export async function isLiveClaim(db: Database, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from claims where id = $1 and ended_at is null and expires_at > $2',
    [id, now],
  )
  return rowCount === 1
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
