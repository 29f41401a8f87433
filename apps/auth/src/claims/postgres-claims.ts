import { err, ok, type Result } from '@plainpath/domain'
import { type Database, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import type { Revoker } from '../revocation/revoker.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import { ERASED, findAttempt, isBlocked } from './attempt-row.ts'
import { Claim } from './claim.ts'
import { redeem, type TryRefusal } from './claim-attempt.ts'
import { findPerson, openEmail } from './confirmed-person.ts'
import { addEndedMails, endClaims } from './end-claims.ts'
import { storedEndLinkSecret } from './end-link.ts'
import type { ClaimMail, PostgresClaimDeps } from './postgres-claim-attempts.ts'

const ClaimRow = rowReader(Claim)
const LinkedRow = rowReader(Claim.extend({ endLinkHash: z.instanceof(Buffer) }))

const GrantRow = rowReader(Claim.extend({ appHost: z.string(), appClientId: z.string() }))

/** A claim of a connection, with its app. */
export interface AppGrant {
  readonly claim: Claim
  /** As `appHostOf` returned it. */
  readonly appHost: string
  readonly appClientId: string
}

/** The most claims of one address that a page lists. */
const MOST_LISTED = 100

/** A claim with the secret of the link that ends it; without for one of an earlier hash key. */
export interface LinkedClaim {
  readonly claim: Claim
  readonly endSecret: string | undefined
}

export interface NewClaim {
  readonly attemptId: string
  /** Hash of the code that was entered. */
  readonly codeHash: Buffer
  /** SHA-256 of the secret in the link that revokes the claim. */
  readonly endLinkHash: Buffer
  readonly now: Date
  readonly expiresAt: Date
  mail(claim: Claim, to: string): ClaimMail
}

export interface PostgresClaimsDeps extends PostgresClaimDeps {
  readonly tokens: Pick<TokenStore, 'revokeTokensOf'>
  readonly revoker: Pick<Revoker, 'publishRevocation'>
}

export type ClaimStore = ReturnType<typeof postgresClaims>

type Redeemed = Result<Claim, TryRefusal | 'unknown'>
type EndedClaim = Pick<Claim, 'id' | 'agentId'>

/**
 * Opens the store of claims in PostgreSQL. An address is encrypted, and erased when its claim ends. Ending a claim
 * revokes its tokens before the commit and again after it, then publishes to the APIs, for the reasons in `endAgent`; if
 * the first step fails, the claim stays live. The transaction that ends a claim queues the mail that tells the person,
 * so of any number of simultaneous ends one sends it.
 */
export function postgresClaims(deps: PostgresClaimsDeps) {
  const { db, tokens, revoker, events } = deps
  const revokeTokens = (id: string) => tokens.revokeTokensOf({ kind: 'claim', id })
  /** Runs a change that may end claims. `work` returns its result and the claims that it ended; `emit` runs after the commit. */
  const ending = async <T>(
    work: (tx: Database) => Promise<{ made: T; ended: readonly EndedClaim[] }>,
    emit: (made: T) => void,
  ): Promise<T> => {
    const { made, ended } = await db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const done = await work(tx)
      for (const { id } of done.ended) await revokeTokens(id)
      return done
    })
    emit(made)
    await publishEnds(ended)
    return made
  }
  const publishEnds = async (ended: readonly EndedClaim[]) => {
    for (const { id, agentId } of ended) {
      await revokeTokens(id)
      await revoker.publishRevocation({ kind: 'client', id: agentId })
    }
  }
  const find = async (where: string, values: readonly unknown[]) => {
    const { rows } = await db.query(`select ${ClaimRow.columns} from claims where ${where}`, values)
    return rows[0] && ClaimRow.parse(rows[0])
  }
  return {
    /**
     * Creates the claim of an attempt, ends the agent's earlier one, and queues the confirmation mail, in one transaction.
     *
     * @returns `unknown` when the attempt or its agent does not exist any more
     */
    redeem: (claim: NewClaim): Promise<Redeemed> =>
      ending(
        (tx) => redeemIn(tx, deps, claim),
        (made) => {
          if (!made.ok) return
          events.emit('claim-made', { client_id: made.value.agentId, registration_id: made.value.id })
        },
      ),
    /** Finds a claim, live or ended. */
    find: (id: string) => find('id = $1', [id]),
    findByEndLink: (linkHash: Buffer) => find('end_link_hash = $1', [linkHash]),
    /** Finds the live claim that the agent of an open attempt has for the same address. */
    findOfAttempt: (attemptId: string, now: Date) =>
      find(
        `(agent_id, email_hash, email_hash_key) =
           (select agent_id, email_hash, hash_key_id from claim_attempts where id = $1)
         and ended_at is null and expires_at > $2`,
        [attemptId, now],
      ),
    /** Lists the live claims for the address of a live claim, that claim first, then the newest: 100 at most. */
    async listOfAddress(id: string, now: Date): Promise<readonly LinkedClaim[]> {
      const { rows } = await db.query(
        `select ${LinkedRow.columns} from claims
         where (email_hash, email_hash_key) = (select email_hash, email_hash_key from claims where id = $1)
           and ended_at is null and expires_at > $2
         order by id = $1 desc, verified_at desc, id limit ${MOST_LISTED}`,
        [id, now],
      )
      return rows.map((row) => {
        const { endLinkHash, ...claim } = LinkedRow.parse(row)
        return { claim, endSecret: storedEndLinkSecret(deps.hashKey, claim.id, endLinkHash) }
      })
    },
    /** Finds the last claim of an agent, live or ended. */
    newest: (agentId: string) => find('agent_id = $1 order by verified_at desc, id limit 1', [agentId]),
    /** Finds the live claim of an agent. Tokens and assertions of a claim are valid only while it is live. */
    live: (agentId: string, now: Date) =>
      find('agent_id = $1 and ended_at is null and expires_at > $2', [agentId, now]),
    /** Finds which of these agents have a live claim. */
    async findConfirmed(agentIds: readonly string[], now: Date): Promise<ReadonlySet<string>> {
      const { rows } = await db.query<{ agent_id: string }>(
        'select agent_id from claims where agent_id = any($1) and ended_at is null and expires_at > $2',
        [agentIds, now],
      )
      return new Set(rows.map(({ agent_id: id }) => id))
    },
    /** Finds the person of a live claim. */
    findPerson: (id: string, now: Date) => findPerson(deps, id, now),
    /**
     * Ends a live claim and erases its address. When it returns, no token or assertion of the claim is accepted anywhere.
     * For a claim that ended before, the revocation is published again: an earlier call may have failed at that.
     *
     * @param options.mail false when the person got the mail about this end before, as when a restore repeats it
     * @returns false when there is no such claim, or it ended before
     */
    async end(
      id: string,
      by: 'person' | 'agent' | 'operator' | 'reused',
      now: Date,
      { mail = true }: { mail?: boolean } = {},
    ): Promise<boolean> {
      const isEnded = await ending(
        async (tx) => {
          const ended = await endClaims(tx, 'id = $1 and expires_at > $2', [id, now], by)
          if (mail) await addEndedMails(tx, deps, ended, { by, now })
          return { made: ended.length === 1, ended }
        },
        (made) => {
          if (made) events.emit('claim-ended', { registration_id: id, by })
        },
      )
      const before = isEnded ? undefined : await find('id = $1', [id])
      if (before) await publishEnds([before])
      return isEnded
    },
    /** Lists claims of connections, newest first. @param limit 1 to 1000 */
    async listGrants(
      limit: number,
      { liveAt, appHost }: { liveAt?: Date; appHost?: string } = {},
    ): Promise<readonly AppGrant[]> {
      const { rows } = await db.query(
        `select ${GrantRow.columns} from ${GRANTS}
         where ($2::timestamptz is null or (ended_at is null and expires_at > $2))
           and ($3::text is null or app_host = $3)
         order by verified_at desc, id limit $1`,
        [limit, liveAt ?? null, appHost ?? null],
      )
      return rows.map(toGrant)
    },
    /** Finds a claim of a connection, live or ended. */
    async findGrant(id: string): Promise<AppGrant | undefined> {
      const { rows } = await db.query(`select ${GrantRow.columns} from ${GRANTS} where id = $1`, [id])
      return rows[0] && toGrant(rows[0])
    },
    /** Counts the live claims of the connections with apps at a host. */
    async countGrants(appHost: string, now: Date): Promise<number> {
      const { rows } = await db.query<{ live: number }>(
        `select count(*)::int as live from ${GRANTS} where app_host = $1 and ended_at is null and expires_at > $2`,
        [appHost, now],
      )
      return rows[0]?.live ?? 0
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

/** Claims of connections as a table, in SQL. */
const GRANTS = `(select claims.*, app_host, app_client_id from claims join agents on agents.id = agent_id
  where app_client_id is not null) as grants`

function toGrant(row: Record<string, unknown>): AppGrant {
  const { appHost, appClientId, ...claim } = GrantRow.parse(row)
  return { claim, appHost, appClientId }
}

/** Creates the claim and ends the agent's earlier one. */
async function redeemIn(
  tx: Database,
  deps: PostgresClaimDeps,
  claim: NewClaim,
): Promise<{ made: Redeemed; ended: readonly EndedClaim[] }> {
  const refused = (made: Result<never, TryRefusal | 'unknown'>) => ({ made, ended: [] })
  const { addMail, sealingKeys } = deps
  const { attemptId, now } = claim
  // Locked before the attempt's row, as everywhere: an agent that is being deleted gets no claim.
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
  const { registrationId: id, agentId, emailSealed, emailHash } = attempt
  if (!emailSealed || !emailHash) throw new Error('an open attempt without an address')
  const to = openEmail(sealingKeys, { id, emailSealed })
  const ended = await endClaims(tx, 'agent_id = $1', [agentId, now], 'superseded')
  // The mail that confirms the new claim says enough to a person who confirmed the agent again.
  const others = ended.filter((other) => now < other.expiresAt && !other.emailHash.equals(emailHash))
  await addEndedMails(tx, deps, others, { by: 'superseded', now })
  await tx.query(
    `insert into claims (id, agent_id, email_sealed, email_hash, email_hash_key, end_link_hash, verified_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...[id, agentId, emailSealed, emailHash, attempt.hashKeyId, claim.endLinkHash],
      ...[now, claim.expiresAt],
    ],
  )
  await tx.query(`update claim_attempts set state = 'completed', ${ERASED} where id = $1`, [attemptId])
  // The successful try does not count as a failure. Other tries for this mailbox stay counted.
  await tx.query(
    `delete from claim_tries where id = (select max(id) from claim_tries where attempt_id = $1)`,
    [attemptId],
  )
  const made: Claim = { id, agentId, verifiedAt: now, expiresAt: claim.expiresAt }
  await addMail(tx, claim.mail(made, to), now)
  return { made: ok(made), ended }
}

/** Checks whether a claim is live. A function of its own, since the token stores need it before the claim store exists. */
export async function isLiveClaim(db: Database, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from claims where id = $1 and ended_at is null and expires_at > $2',
    [id, now],
  )
  return rowCount === 1
}

/** Deletes the claims and attempts of expired agents; their assertions are deleted by cascade. */
export async function removeClaimsOfAgents(tx: Database, agentIds: readonly string[]): Promise<void> {
  await tx.query('delete from claim_attempts where agent_id = any($1)', [agentIds])
  await tx.query('delete from claims where agent_id = any($1)', [agentIds])
}
