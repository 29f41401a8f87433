import { err, ok, type Result, RULES } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import type { AuthEvents } from '../events.ts'
import {
  ERASED,
  emailEncryptionContext,
  findAttempt,
  isBlocked,
  lockAndCountTries,
  matchPhraseEncryptionContext,
  OPEN,
  OPEN_TO_AGENTS,
  type StoredAttempt,
} from './attempt-row.ts'
import {
  afterMail,
  type ClaimAttempt,
  type ClosedState,
  type CountedTry,
  countTry,
  decline,
  press,
  type StoredCode,
  stateAt,
  type TryRefusal,
} from './claim-attempt.ts'

/** A mail to queue in the caller's transaction; `about` is the id of its attempt or claim. */
export interface ClaimMail {
  readonly kind: 'claim-link' | 'claim-confirmed' | 'claim-ended' | 'sign-in-code'
  readonly about: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The network of the agent, or of the browser, that requested it. */
  readonly sender?: string
  /** See `Mail`. */
  readonly askedFor?: boolean
}
export type AddMail = (tx: Database, mail: ClaimMail, now: Date) => Promise<unknown>

interface NewAttemptBase {
  readonly id: string
  readonly registrationId: string
  readonly agentId: string
  /** As typed: mail goes to this spelling. */
  readonly email: string
  readonly canonicalEmail: string
  /** The mailbox of the address, for counting and blocking. */
  readonly mailbox: string
  readonly createdAt: Date
}

/** An attempt that an agent begins: its mail has a link, and the page behind it shows the code. */
export interface NewAttempt extends NewAttemptBase {
  readonly matchPhrase: string
  /** SHA-256 of the link's secret. */
  readonly linkHash: Buffer
  readonly linkExpiresAt: Date
}

/** An attempt of a person who signs in: its mail has the code. It lasts as long as that. */
export interface NewSignInAttempt extends NewAttemptBase {
  readonly code: StoredCode
}

/** An attempt for its page; with the match phrase only while it is open. */
export interface LinkedAttempt {
  readonly attempt: ClaimAttempt
  readonly matchPhrase: string | undefined
  readonly blocked: boolean
}

export interface PostgresClaimDeps {
  readonly db: Pool
  readonly sealingKeys: SealingKeys
  readonly hashKey: HashKey
  readonly addMail: AddMail
  readonly events: AuthEvents
}

export type ClaimAttemptStore = ReturnType<typeof postgresClaimAttempts>

type TriedAttempt = Result<{ attempt: ClaimAttempt } & Omit<CountedTry, 'tries'>, TryRefusal | 'unknown'>

const SUPERSEDE = `update claim_attempts set state = 'superseded', ${ERASED} where agent_id = $1 and state in ${OPEN_TO_AGENTS}`

/** Opens the store of attempts. The functions of `claim-attempt.ts` decide each change, on the locked row. */
export function postgresClaimAttempts(deps: PostgresClaimDeps) {
  const { db, sealingKeys, events } = deps

  /** Runs a change under the lock of the attempt's row. */
  const change = <T, E>(
    id: string,
    work: (tx: Database, attempt: StoredAttempt) => Promise<Result<T, E>>,
  ): Promise<Result<T, E | 'expired'>> =>
    db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const attempt = await findAttempt(tx, 'id = $1', [id], 'for update')
      // Old attempts are deleted some time after they expired.
      return attempt ? work(tx, attempt) : err('expired')
    })

  return {
    /**
     * Stores an attempt and queues its mail; an open attempt of the agent is superseded. The statements are the same for
     * every address, so that their time reveals nothing about it.
     *
     * @returns false when the agent is not active any more
     */
    begin: (attempt: NewAttempt, mail: ClaimMail): Promise<boolean> =>
      db.transaction((tx) => beginIn(tx, deps, attempt, mail)),

    async findByLink(linkHash: Buffer, now: Date): Promise<LinkedAttempt | undefined> {
      const attempt = await findAttempt(db, 'link_hash = $1', [linkHash])
      if (!attempt) return undefined
      const sealed = attempt.matchPhraseSealed
      return {
        attempt,
        matchPhrase: sealed
          ? sealingKeys.open(sealed, matchPhraseEncryptionContext(attempt.id)).toString('utf8')
          : undefined,
        blocked: await isBlocked(db, attempt, now),
      }
    },

    /** Finds the attempt that became, or may become, the claim of this id. */
    findByRegistration: (registrationId: string): Promise<ClaimAttempt | undefined> =>
      findAttempt(db, 'registration_id = $1', [registrationId]),

    /** Stores a new code. @param codeHash its hash, bound to the attempt */
    press: (
      id: string,
      codeHash: Buffer,
      now: Date,
    ): Promise<Result<{ presses: number; codeExpiresAt: Date }, ClosedState | 'no-codes-left'>> =>
      change(id, async (tx, attempt) => {
        const pressed = press(attempt, { blocked: await isBlocked(tx, attempt, now) }, now)
        if (!pressed.ok) return pressed
        const { presses, codeExpiresAt } = pressed.value
        await tx.query(
          `update claim_attempts set state = 'code_shown', presses = $2, code_hash = $3, code_expires_at = $4 where id = $1`,
          [id, presses, codeHash, codeExpiresAt],
        )
        return pressed
      }),

    /** Declines the attempt and blocks its mailbox. */
    async decline(id: string, now: Date): Promise<Result<void, ClosedState>> {
      const declined = await change(id, async (tx, attempt) => {
        const decided = decline(attempt, now)
        if (!decided.ok) return decided
        await tx.query(
          `insert into claim_blocks (mailbox_hash, hash_key_id, until) values ($1, $2, $3)
           on conflict (mailbox_hash) do update set until = greatest(claim_blocks.until, excluded.until)`,
          [attempt.mailboxHash, attempt.hashKeyId, decided.value.blockedUntil],
        )
        await tx.query(`update claim_attempts set state = 'declined', ${ERASED} where id = $1`, [id])
        return ok(undefined)
      })
      if (declined.ok) events.emit('claim-declined', { claim_attempt_id: id })
      return declined
    },

    /**
     * Counts a try for an agent's newest attempt, or for the named one. The count is durable when this returns.
     *
     * @returns `unknown` when the agent has no such attempt
     */
    async countTry(
      of: { agentId: string; attemptId?: string | undefined },
      now: Date,
    ): Promise<TriedAttempt> {
      const counted = await db.transaction((tx) => countTryIn(tx, of, now))
      if (!counted.ok && counted.error === 'locked')
        events.emit('locked-attempt-tried', { client_id: of.agentId })
      return counted
    },

    /** Locks the attempt if no tries are left. */
    async lockIfSpent(id: string): Promise<void> {
      await db.query(
        `update claim_attempts set state = 'locked', ${ERASED} where id = $1 and state in ${OPEN} and tries >= $2`,
        [id, RULES.claimTries],
      )
      events.emit('attempt-locked', { claim_attempt_id: id })
    },

    /** Withdraws the agent's open attempt. Its state becomes `superseded`. */
    async withdraw(agentId: string): Promise<void> {
      await db.query(SUPERSEDE, [agentId])
    },

    /** True when the mail of the attempt should still be sent. */
    async wantsMail(id: string, now: Date): Promise<boolean> {
      const attempt = await findAttempt(db, 'id = $1', [id])
      if (!attempt) return false
      if (attempt.purpose === 'sign-in') return stateAt(attempt, now) === 'code_shown'
      return stateAt(attempt, now) === 'initiated' && !(await isBlocked(db, attempt, now))
    },

    /** Extends the link from `now` for its full time, because its mail is sent late; the attempt is retained no longer. */
    async renewLink(id: string, now: Date): Promise<void> {
      await db.query(
        `update claim_attempts set link_expires_at = least($2, created_at + make_interval(secs => $3))
         where id = $1 and state = 'initiated' and link_expires_at > $4`,
        [id, new Date(now.getTime() + RULES.claimLinkMs), RULES.claimAttemptKeptMs / 1000, now],
      )
    },

    async mailSettled(tx: Database, id: string, outcome: 'sent' | 'dropped' | 'dead'): Promise<void> {
      const attempt = await findAttempt(tx, 'id = $1', [id], 'for update')
      const next = attempt && afterMail(attempt.state, outcome)
      if (!next) return
      await tx.query(
        `update claim_attempts set state = $2${next === 'failed' ? `, ${ERASED}` : ''} where id = $1`,
        [id, next],
      )
    },
  }
}

/**
 * Stores an attempt and queues its mail, in the caller's transaction; an open attempt of the agent is superseded.
 *
 * @returns false when the agent is not active any more
 */
export async function beginIn(
  tx: Database,
  deps: Pick<PostgresClaimDeps, 'sealingKeys' | 'hashKey' | 'addMail'>,
  attempt: NewAttempt | NewSignInAttempt,
  mail: ClaimMail,
): Promise<boolean> {
  const { sealingKeys, hashKey } = deps
  const { rowCount } = await tx.query(
    `select id from agents where id = $1 and status = 'active' for no key update`,
    [attempt.agentId],
  )
  if (rowCount === 0) return false
  await tx.query(SUPERSEDE, [attempt.agentId])
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
      sealingKeys.seal(attempt.email, emailEncryptionContext(attempt.registrationId)),
      hashKey.hash('email-index/claims', attempt.canonicalEmail),
      hashKey.hash('email-index/claim-mailboxes', attempt.mailbox),
      'code' in attempt
        ? null
        : sealingKeys.seal(attempt.matchPhrase, matchPhraseEncryptionContext(attempt.id)),
      hashKey.id,
      ...('code' in attempt
        ? ['code_shown', 'sign-in', 1, attempt.code.hash, attempt.code.expiresAt]
        : ['initiated', 'agent', 0, null, null]),
    ],
  )
  await deps.addMail(tx, mail, attempt.createdAt)
  return true
}

async function countTryIn(
  tx: Database,
  { agentId, attemptId }: { agentId: string; attemptId?: string | undefined },
  now: Date,
): Promise<TriedAttempt> {
  await tx.query('set local synchronous_commit = on')
  const attempt = await findAttempt(
    tx,
    `id = (select id from claim_attempts where agent_id = $1 and ($2::text is null or id = $2)
           order by state in ${OPEN_TO_AGENTS} desc, created_at desc, id limit 1)`,
    [agentId, attemptId ?? null],
    'for update',
  )
  if (!attempt) return err('unknown')
  // Read only once a code was shown: until then, the response time must not depend on the mailbox.
  const facts =
    attempt.state === 'code_shown'
      ? { blocked: await isBlocked(tx, attempt, now), tries: await lockAndCountTries(tx, attempt, now) }
      : { blocked: false, tries: 0 }
  const counted = countTry(attempt, facts, now)
  if (!counted.ok) return counted
  const { tries, remaining, mayMatch } = counted.value
  await tx.query('update claim_attempts set tries = $2 where id = $1', [attempt.id, tries])
  await tx.query(
    'insert into claim_tries (attempt_id, mailbox_hash, hash_key_id, tried_at) values ($1, $2, $3, $4)',
    [attempt.id, attempt.mailboxHash, attempt.hashKeyId, now],
  )
  return ok({ attempt: { ...attempt, tries }, remaining, mayMatch })
}
