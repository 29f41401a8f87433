import { canonicalizeEmail, err, ok, type Result, RULES } from '@plainpath/domain'
import { createRowReader, type Database } from '@plainpath/postgres'
import { z } from 'zod'
import { lockActiveAgent } from '../clients/credential-version.ts'
import type { RevocationPublisher } from '../revocation/revocation-publisher.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import { ERASE_PERSONAL_DATA_SQL, findAttempt, isMailboxBlocked, supersedeAttempts } from './attempt-row.ts'
import { decryptEmail, findPerson } from './confirmed-person.ts'
import { deriveStoredRevocationSecret } from './revocation-link.ts'
import {
  addRevocationMails,
  revokeVerifications,
  revokeVerificationsByAddress,
} from './revoke-verifications.ts'
import { Verification } from './verification.ts'
import { decideRedemption, type TryRefusal } from './verification-attempt.ts'
import type { VerificationStoreBaseDeps } from './verification-attempt-store.ts'
import type { AppGrant, NewVerification, VerificationStore } from './verification-store.ts'

const VerificationRow = createRowReader(Verification)
const LinkedRow = createRowReader(Verification.extend({ endLinkHash: z.instanceof(Buffer) }))

/** The verification of a connection, with its app. */
const GrantRow = createRowReader(Verification.extend({ appHost: z.string(), appClientId: z.string() }))

/** The maximum number of verifications that a page lists. */
const MAX_LISTED = 100

export interface VerificationStoreDeps extends VerificationStoreBaseDeps {
  readonly tokens: Pick<TokenStore, 'revokeTokensOf'>
  readonly revocationPublisher: Pick<RevocationPublisher, 'publish'>
}

type Redemption = Result<Verification, TryRefusal | 'unknown'>
type RevokedVerification = Pick<Verification, 'id' | 'agentId'>
/** The result of a change, and the verifications that it revoked. */
type ChangeResult<T> = { readonly result: T; readonly revoked: readonly RevokedVerification[] }

/** Creates a store of e-mail verifications that is backed by PostgreSQL. */
export function createVerificationStore(deps: VerificationStoreDeps): VerificationStore {
  const { db, tokens, revocationPublisher, events } = deps
  const revokeTokens = (id: string) => tokens.revokeTokensOf({ kind: 'verification', id })
  /**
   * Runs a change that may revoke verifications. Revokes their tokens before the commit and again after it, because the token
   * store may have lost the first change in between. Then publishes the revocations. `emit` runs after the commit.
   */
  const changeVerificationsAndRevoke = async <T>(
    change: (tx: Database) => Promise<ChangeResult<T>>,
    emit: (result: T, revoked: readonly RevokedVerification[]) => void,
  ): Promise<T> => {
    const { result, revoked } = await db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const changeResult = await change(tx)
      for (const { id } of changeResult.revoked) await revokeTokens(id)
      return changeResult
    })
    emit(result, revoked)
    await revokeTokensAndPublish(revoked)
    return result
  }
  const revokeTokensAndPublish = async (verifications: readonly RevokedVerification[]) => {
    for (const { id } of verifications) await revokeTokens(id)
    // One after another. Only the first has to wait for an API that does not respond, since the wait removes its subscription.
    for (const id of new Set(verifications.map(({ agentId }) => agentId)))
      await revocationPublisher.publish({ kind: 'client', id })
  }
  /** Publishes again the revocations that match a condition, in SQL that is not escaped, with one value ($1). */
  const republishWhere = async (where: string, value: string, now: Date) => {
    // No token is valid for longer than `appTokenMs`.
    const { rows } = await db.query<RevokedVerification>(
      `select id, agent_id as "agentId" from claims where ${where} and ended_at > $2`,
      [value, new Date(now.getTime() - RULES.appTokenMs)],
    )
    await revokeTokensAndPublish(rows)
  }
  const republishRevocations = (agentId: string, now: Date) => republishWhere('agent_id = $1', agentId, now)
  const find = async (where: string, values: readonly unknown[]) => {
    const { rows } = await db.query(`select ${VerificationRow.columns} from claims where ${where}`, values)
    return rows[0] && VerificationRow.parse(rows[0])
  }
  return {
    redeem: (verification) =>
      changeVerificationsAndRevoke(
        (tx) => redeemLocked(tx, deps, verification),
        (result, revoked) => {
          if (!result.ok) return
          // A replay after a restore reads these events. Without them, the restored agent could act for its earlier person again.
          for (const { id } of revoked) events.emit('claim-ended', { registration_id: id, by: 'superseded' })
          events.emit('claim-made', { client_id: result.value.agentId, registration_id: result.value.id })
        },
      ),
    find: (id) => find('id = $1', [id]),
    findByRevocationLink: (linkHash) => find('end_link_hash = $1', [linkHash]),
    findByAttempt: (attemptId, now) =>
      find(
        `(agent_id, email_hash, email_hash_key) =
           (select agent_id, email_hash, hash_key_id from claim_attempts where id = $1)
         and ended_at is null and expires_at > $2`,
        [attemptId, now],
      ),
    async listByAddress(id, now) {
      const { rows } = await db.query(
        `select ${LinkedRow.columns} from claims
         where (email_hash, email_hash_key) = (select email_hash, email_hash_key from claims where id = $1)
           and ended_at is null and expires_at > $2
         order by id = $1 desc, verified_at desc, id limit ${MAX_LISTED}`,
        [id, now],
      )
      return rows.map((row) => {
        const { endLinkHash, ...verification } = LinkedRow.parse(row)
        return {
          verification,
          revocationSecret: deriveStoredRevocationSecret(deps.hashKey, verification.id, endLinkHash),
        }
      })
    },
    findNewest: (agentId) => find('agent_id = $1 order by verified_at desc, id limit 1', [agentId]),
    findLive: (agentId, now) =>
      find('agent_id = $1 and ended_at is null and expires_at > $2', [agentId, now]),
    async isConfirmedBy(agentId, email, now) {
      const canonicalEmail = canonicalizeEmail(email)
      if (canonicalEmail === undefined) return false
      const emailHash = deps.hashKey.hash('email-index/claims', canonicalEmail)
      const verification = await find(
        'agent_id = $1 and email_hash = $2 and email_hash_key = $3 and ended_at is null and expires_at > $4',
        [agentId, emailHash, deps.hashKey.id, now],
      )
      return verification !== undefined
    },
    async findConfirmed(agentIds, now) {
      const { rows } = await db.query<{ agent_id: string }>(
        'select agent_id from claims where agent_id = any($1) and ended_at is null and expires_at > $2',
        [agentIds, now],
      )
      return new Set(rows.map(({ agent_id: id }) => id))
    },
    findPerson: (id, now) => findPerson(deps, id, now),
    async revoke(id, by, now, { mail = true } = {}) {
      const isRevoked = await changeVerificationsAndRevoke(
        async (tx) => {
          const revoked = await revokeVerifications(tx, 'id = $1 and expires_at > $2', [id, now], by)
          if (mail) await addRevocationMails(tx, deps, revoked, { by, now })
          return { result: revoked.length === 1, revoked }
        },
        (result) => {
          if (result) events.emit('claim-ended', { registration_id: id, by })
        },
      )
      // If the verification had already been revoked, that revocation is published again, because publishing it may have failed.
      const earlierRevocation = isRevoked ? undefined : await find('id = $1', [id])
      if (earlierRevocation) await revokeTokensAndPublish([earlierRevocation])
      return isRevoked
    },
    async revokeAllByAddress(id, now) {
      const revoked = await changeVerificationsAndRevoke(
        async (tx) => {
          const rows = await revokeVerificationsByAddress(tx, id, now)
          await addRevocationMails(tx, deps, rows, { by: 'person', now })
          return { result: rows, revoked: rows }
        },
        (rows) => {
          for (const row of rows) events.emit('claim-ended', { registration_id: row.id, by: 'person' })
        },
      )
      if (revoked.length > 0) return true
      // All that one call revoked have the same time.
      await republishWhere('ended_at = (select ended_at from claims where id = $1)', id, now)
      return false
    },
    async revokeByAgent(agent, now) {
      const outcome = await changeVerificationsAndRevoke<'inactive' | 'revoked' | 'unchanged'>(
        async (tx) => {
          if (!(await lockActiveAgent(tx, agent))) return { result: 'inactive', revoked: [] }
          await supersedeAttempts(tx, [agent.id])
          const condition = 'agent_id = $1 and expires_at > $2'
          const revoked = await revokeVerifications(tx, condition, [agent.id, now], 'agent')
          await addRevocationMails(tx, deps, revoked, { by: 'agent', now })
          return { result: revoked.length > 0 ? 'revoked' : 'unchanged', revoked }
        },
        (_outcome, revoked) => {
          for (const { id } of revoked) events.emit('claim-ended', { registration_id: id, by: 'agent' })
        },
      )
      if (outcome === 'unchanged') await republishRevocations(agent.id, now)
      return outcome !== 'inactive'
    },
    republishRevocations,
    async listGrants(limit, { liveAt, appHost } = {}) {
      const { rows } = await db.query(
        `select ${GrantRow.columns} from ${GRANTS_SQL}
         where ($2::timestamptz is null or (ended_at is null and expires_at > $2))
           and ($3::text is null or app_host = $3)
         order by verified_at desc, id limit $1`,
        [limit, liveAt ?? null, appHost ?? null],
      )
      return rows.map(toGrant)
    },
    async findGrant(id) {
      const { rows } = await db.query(`select ${GrantRow.columns} from ${GRANTS_SQL} where id = $1`, [id])
      return rows[0] && toGrant(rows[0])
    },
    async countGrants(appHost, now) {
      const { rows } = await db.query<{ live: number }>(
        `select count(*)::int as live from ${GRANTS_SQL} where app_host = $1 and ended_at is null and expires_at > $2`,
        [appHost, now],
      )
      return rows[0]?.live ?? 0
    },
    async list(limit, { liveAt } = {}) {
      const { rows } = await db.query(
        `select ${VerificationRow.columns} from claims where $2::timestamptz is null or (ended_at is null and expires_at > $2)
         order by verified_at desc, id limit $1`,
        [limit, liveAt ?? null],
      )
      return rows.map(VerificationRow.parse)
    },
  }
}

/** SQL that selects the verifications of connections. */
const GRANTS_SQL = `(select claims.*, app_host, app_client_id from claims join agents on agents.id = agent_id
  where app_client_id is not null) as grants`

function toGrant(row: Record<string, unknown>): AppGrant {
  const { appHost, appClientId, ...verification } = GrantRow.parse(row)
  return { verification, appHost, appClientId }
}

/** Turns the attempt into a verification and revokes the agent's earlier one. */
async function redeemLocked(
  tx: Database,
  deps: VerificationStoreBaseDeps,
  verification: NewVerification,
): Promise<ChangeResult<Redemption>> {
  const refuse = (result: Result<never, TryRefusal | 'unknown'>) => ({ result, revoked: [] })
  const { addMail, sealer } = deps
  const { agentId, attemptId, credentialVersion, now } = verification
  // The agent is locked before the attempt, as in `addAttempt`. An agent that is being deleted gets no verification.
  const agent = await lockActiveAgent(tx, { id: agentId, credentialVersion })
  const attempt =
    agent && (await findAttempt(tx, 'id = $1 and agent_id = $2', [attemptId, agentId], 'for update'))
  if (!attempt) return refuse(err('unknown'))
  const enteredCode = { hash: verification.codeHash, isBlocked: await isMailboxBlocked(tx, attempt, now) }
  const redemption = decideRedemption(attempt, enteredCode, now)
  if (!redemption.ok) return refuse(redemption)
  const { registrationId: id, emailSealed, emailHash } = attempt
  if (!emailSealed || !emailHash) throw new Error('an open attempt without an address')
  const email = decryptEmail(sealer, { id, emailSealed })
  const revoked = await revokeVerifications(tx, 'agent_id = $1', [agentId, now], 'superseded')
  // A person who confirmed the agent again needs only the mail that confirms the new verification.
  const revokedForOtherAddresses = revoked.filter(
    (earlier) => now < earlier.expiresAt && !earlier.emailHash.equals(emailHash),
  )
  await addRevocationMails(tx, deps, revokedForOtherAddresses, { by: 'superseded', now })
  await tx.query(
    `insert into claims (id, agent_id, email_sealed, email_hash, email_hash_key, end_link_hash, verified_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      id,
      agentId,
      emailSealed,
      emailHash,
      attempt.hashKeyId,
      verification.revocationLinkHash,
      now,
      verification.expiresAt,
    ],
  )
  await tx.query(`update claim_attempts set state = 'completed', ${ERASE_PERSONAL_DATA_SQL} where id = $1`, [
    attemptId,
  ])
  // The row of the successful try is deleted, because only wrong codes count against the mailbox. Earlier tries still count.
  await tx.query(
    `delete from claim_tries where id = (select max(id) from claim_tries where attempt_id = $1)`,
    [attemptId],
  )
  const newVerification: Verification = { id, agentId, verifiedAt: now, expiresAt: verification.expiresAt }
  await addMail(tx, verification.composeMail(newVerification, email), now)
  return { result: ok(newVerification), revoked }
}

/**
 * Returns whether a verification is live. This is not a method of the store, because the token store needs it and is created
 * first.
 */
export async function isStoredVerificationLive(db: Database, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from claims where id = $1 and ended_at is null and expires_at > $2',
    [id, now],
  )
  return rowCount === 1
}
