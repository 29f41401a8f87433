import { err, ok, type Result, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { lockActiveAgent } from '../clients/credential-version.ts'
import {
  ERASE_BUT_ALLOW_DECLINING_SQL,
  ERASE_PERSONAL_DATA_SQL,
  findAttempt,
  isMailboxBlocked,
  lockAndCountTries,
  OPEN_STATES_SQL,
  OPEN_TO_AGENTS_SQL,
  type StoredAttempt,
  supersedeAttempts,
  toEmailEncryptionContext,
  toMatchPhraseEncryptionContext,
} from './attempt-row.ts'
import {
  computeState,
  computeStateAfterMail,
  decideDeclining,
  decideShowingCode,
  decideTry,
} from './verification-attempt.ts'
import type {
  NewAttempt,
  NewSignInAttempt,
  TriedAttempt,
  TryTarget,
  VerificationAttemptStore,
  VerificationMail,
  VerificationStoreBaseDeps,
} from './verification-attempt-store.ts'
import type { CodePurpose } from './verification-code.ts'

/** Creates the PostgreSQL store for verification attempts. */
export function createVerificationAttemptStore(deps: VerificationStoreBaseDeps): VerificationAttemptStore {
  const { db, sealer, events } = deps

  /** Locks the row of an attempt, then runs `change` in the same transaction. */
  const withLockedAttempt = <T, E>(
    id: string,
    change: (tx: Database, attempt: StoredAttempt) => Promise<Result<T, E>>,
  ): Promise<Result<T, E | 'expired'>> =>
    db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const attempt = await findAttempt(tx, 'id = $1', [id], 'for update')
      // An attempt is deleted some time after it has expired, or together with its agent if nobody can decline it any more.
      return attempt ? change(tx, attempt) : err('expired')
    })

  return {
    begin: (attempt, mail) => db.transaction((tx) => addAttempt(tx, deps, attempt, mail)),

    async findByLink(linkHash, now) {
      const attempt = await findAttempt(db, 'link_hash = $1', [linkHash])
      if (!attempt) return undefined
      const sealedPhrase = attempt.matchPhraseSealed
      return {
        attempt,
        matchPhrase: sealedPhrase
          ? sealer.unseal(sealedPhrase, toMatchPhraseEncryptionContext(attempt.id)).toString('utf8')
          : undefined,
        isBlocked: await isMailboxBlocked(db, attempt, now),
      }
    },

    findByRegistration: (registrationId) => findAttempt(db, 'registration_id = $1', [registrationId]),

    showCode: (id, codeHash, now) =>
      withLockedAttempt(id, async (tx, attempt) => {
        const decision = decideShowingCode(
          attempt,
          { isBlocked: await isMailboxBlocked(tx, attempt, now) },
          now,
        )
        if (!decision.ok) return decision
        const { presses, codeExpiresAt } = decision.value
        await tx.query(
          `update claim_attempts set state = 'code_shown', presses = $2, code_hash = $3, code_expires_at = $4 where id = $1`,
          [id, presses, codeHash, codeExpiresAt],
        )
        return decision
      }),

    async decline(id, now) {
      const declined = await withLockedAttempt(id, async (tx, attempt) => {
        const decision = decideDeclining(attempt, now)
        if (!decision.ok) return decision
        await tx.query(
          `insert into claim_blocks (mailbox_hash, hash_key_id, until) values ($1, $2, $3)
           on conflict (mailbox_hash) do update set until = greatest(claim_blocks.until, excluded.until)`,
          [attempt.mailboxHash, attempt.hashKeyId, decision.value.blockedUntil],
        )
        await tx.query(
          `update claim_attempts set state = 'declined', ${ERASE_PERSONAL_DATA_SQL} where id = $1`,
          [id],
        )
        return ok(undefined)
      })
      if (declined.ok) events.emit('claim-declined', { claim_attempt_id: id })
      return declined
    },

    async countTry(target, now) {
      const triedAttempt = await db.transaction((tx) => lockAndCountTry(tx, target, now))
      if (!triedAttempt.ok && triedAttempt.error === 'locked')
        events.emit('locked-attempt-tried', { client_id: target.agentId })
      return triedAttempt
    },

    async lockIfSpent(id) {
      const { rowCount } = await db.query(
        `update claim_attempts set state = 'locked', ${ERASE_BUT_ALLOW_DECLINING_SQL} where id = $1 and state in ${OPEN_STATES_SQL} and tries >= $2`,
        [id, RULES.verificationTries],
      )
      if (rowCount === 1) events.emit('attempt-locked', { claim_attempt_id: id })
    },

    withdraw: (agentId) => supersedeAttempts(db, [agentId]),

    async isMailWanted(id, now) {
      const attempt = await findAttempt(db, 'id = $1', [id])
      if (!attempt) return false
      if (attempt.purpose === 'sign-in') return computeState(attempt, now) === 'code_shown'
      return computeState(attempt, now) === 'initiated' && !(await isMailboxBlocked(db, attempt, now))
    },

    async renewLink(id, now) {
      await db.query(
        `update claim_attempts set link_expires_at = least($2, created_at + make_interval(secs => $3))
         where id = $1 and state = 'initiated' and link_expires_at > $4`,
        [id, new Date(now.getTime() + RULES.verificationLinkMs), RULES.verificationAttemptKeptMs / 1000, now],
      )
    },

    async recordMailOutcome(tx, id, outcome) {
      const attempt = await findAttempt(tx, 'id = $1', [id], 'for update')
      const nextState = attempt && computeStateAfterMail(attempt.state, outcome)
      if (!nextState) return
      await tx.query(
        `update claim_attempts set state = $2${nextState === 'failed' ? `, ${ERASE_PERSONAL_DATA_SQL}` : ''} where id = $1`,
        [id, nextState],
      )
    },
  }
}

/**
 * The labels under which a mailbox is hashed. They differ, so wrong codes are counted separately for each purpose: anybody can
 * enter codes at a sign-in with any address, and must not thereby stop the owner from confirming agents. Blocks apply only to
 * requests of agents, so they need only one label.
 */
const MAILBOX_LABELS: Readonly<Record<CodePurpose, string>> = {
  agent: 'email-index/claim-mailboxes',
  'sign-in': 'email-index/sign-in-mailboxes',
}

/**
 * Stores an attempt and queues its mail, in the caller's transaction. The attempt supersedes an open attempt of the agent.
 *
 * @returns false if the agent is not active, or one of its credentials was removed after it was authenticated
 */
export async function addAttempt(
  tx: Database,
  deps: Pick<VerificationStoreBaseDeps, 'sealer' | 'hashKey' | 'addMail'>,
  attempt: NewAttempt | NewSignInAttempt,
  mail: VerificationMail,
): Promise<boolean> {
  const { sealer, hashKey } = deps
  // Locks the agent before its attempts, as `redeemLocked` does. An agent that is being deleted gets no attempt.
  const { agentId, credentialVersion } = attempt
  if (!(await lockActiveAgent(tx, { id: agentId, credentialVersion }))) return false
  await supersedeAttempts(tx, [attempt.agentId])
  await tx.query(
    `insert into claim_attempts (id, registration_id, agent_id, state, link_hash, link_expires_at, created_at,
       email_sealed, email_hash, mailbox_hash, match_phrase_sealed, hash_key_id, purpose, presses, code_hash, code_expires_at)
     values ($1, $2, $3, $12, $4, $5, $6, $7, $8, $9, $10, $11, $13, $14, $15, $16)`,
    [
      attempt.id,
      attempt.registrationId,
      attempt.agentId,
      'code' in attempt ? null : attempt.linkHash,
      'code' in attempt ? attempt.code.expiresAt : attempt.linkExpiresAt,
      attempt.createdAt,
      sealer.seal(attempt.email, toEmailEncryptionContext(attempt.registrationId)),
      hashKey.hash('email-index/claims', attempt.canonicalEmail),
      hashKey.hash(MAILBOX_LABELS['code' in attempt ? 'sign-in' : 'agent'], attempt.mailbox),
      'code' in attempt ? null : sealer.seal(attempt.matchPhrase, toMatchPhraseEncryptionContext(attempt.id)),
      hashKey.id,
      ...('code' in attempt
        ? ['code_shown', 'sign-in', 1, attempt.code.hash, attempt.code.expiresAt]
        : ['initiated', 'agent', 0, null, null]),
    ],
  )
  await deps.addMail(tx, mail, attempt.createdAt)
  return true
}

async function lockAndCountTry(
  tx: Database,
  { agentId, attemptId, credentialVersion }: TryTarget,
  now: Date,
): Promise<TriedAttempt> {
  await tx.query('set local synchronous_commit = on')
  // Otherwise, wrong codes of a removed credential could lock the owner's attempt and mailbox.
  if (!(await lockActiveAgent(tx, { id: agentId, credentialVersion }))) return err('unknown')
  const attempt = await findAttempt(
    tx,
    `id = (select id from claim_attempts where agent_id = $1 and ($2::text is null or id = $2)
           order by state in ${OPEN_TO_AGENTS_SQL} desc, created_at desc, id limit 1)`,
    [agentId, attemptId ?? null],
    'for update',
  )
  if (!attempt) return err('unknown')
  // Reads facts about the mailbox only after a code was shown. Until then, the response time must not depend on the mailbox.
  const mailboxFacts =
    attempt.state === 'code_shown'
      ? {
          isBlocked: await isMailboxBlocked(tx, attempt, now),
          tries: await lockAndCountTries(tx, attempt, now),
        }
      : { isBlocked: false, tries: 0 }
  const decision = decideTry(attempt, mailboxFacts, now)
  if (!decision.ok) return decision
  const { tries, remaining, mayMatch } = decision.value
  await tx.query('update claim_attempts set tries = $2 where id = $1', [attempt.id, tries])
  await tx.query(
    'insert into claim_tries (attempt_id, mailbox_hash, hash_key_id, tried_at) values ($1, $2, $3, $4)',
    [attempt.id, attempt.mailboxHash, attempt.hashKeyId, now],
  )
  return ok({ attempt: { ...attempt, tries }, remaining, mayMatch })
}
