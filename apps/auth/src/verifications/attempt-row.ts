import { RULES } from '@plainpath/domain'
import { createRowReader, type Database } from '@plainpath/postgres'
import { z } from 'zod'
import { CLOSED_STATES, OPEN_STATES, type VerificationAttempt } from './verification-attempt.ts'
import { CODE_PURPOSES } from './verification-code.ts'

const optionalBytes = z.instanceof(Buffer).optional()

const AttemptRow = createRowReader(
  z.object({
    id: z.string(),
    // The id of the verification that the attempt may become.
    registrationId: z.string(),
    agentId: z.string(),
    purpose: z.enum(CODE_PURPOSES),
    state: z.enum([...OPEN_STATES, ...CLOSED_STATES]),
    linkExpiresAt: z.date(),
    // Encrypted, like `matchPhraseSealed`.
    emailSealed: optionalBytes,
    emailHash: optionalBytes,
    mailboxHash: optionalBytes,
    matchPhraseSealed: optionalBytes,
    codeHash: optionalBytes,
    codeExpiresAt: z.date().optional(),
    hashKeyId: z.string(),
    presses: z.int(),
    tries: z.int(),
    createdAt: z.date(),
  }),
)

/** An attempt with its encrypted and hashed columns. */
export type StoredAttempt = VerificationAttempt & Omit<ReturnType<typeof AttemptRow.parse>, 'state'>

/** SQL list of the states in `OPEN_STATES`. */
export const OPEN_STATES_SQL = `('initiated', 'sent', 'code_shown')`
/** SQL list of the states that an agent sees as open. A failed attempt counts as open until it expires or is superseded. */
export const OPEN_TO_AGENTS_SQL = `('initiated', 'sent', 'code_shown', 'failed')`
const ERASE_ADDRESS_AND_CODE_SQL =
  'email_sealed = null, match_phrase_sealed = null, code_hash = null, code_expires_at = null'
/** SQL that erases the hashes of the address and the mailbox. */
export const ERASE_HASHES_SQL = 'email_hash = null, mailbox_hash = null'
/** SQL that erases the personal data and the code of an attempt when it closes. */
export const ERASE_PERSONAL_DATA_SQL = `${ERASE_ADDRESS_AND_CODE_SQL}, ${ERASE_HASHES_SQL}`
/**
 * SQL that erases the address, the match phrase and the code of an attempt that becomes `superseded` or `locked`. If its mail has
 * a link, the hashes of the address and the mailbox are kept, so that the person can still decline (`canDecline` in
 * `verification-attempt.ts`). `sweepVerifications` erases them once the link has expired.
 */
export const ERASE_BUT_ALLOW_DECLINING_SQL = `${ERASE_ADDRESS_AND_CODE_SQL},
  email_hash = case when link_hash is not null then email_hash end,
  mailbox_hash = case when link_hash is not null then mailbox_hash end`

/**
 * Returns the encryption context that binds an address to its verification. An attempt uses the id of the verification
 * that it may become.
 */
export const toEmailEncryptionContext = (verificationId: string) => `verifications/${verificationId}/email`
/** Returns the encryption context that binds a match phrase to its attempt. */
export const toMatchPhraseEncryptionContext = (attemptId: string) =>
  `claim_attempts/${attemptId}/match-phrase`

/**
 * Finds an attempt.
 *
 * @param where the SQL condition, with `values` as its parameters. It becomes part of the statement unchanged, so it must be
 *   fixed text
 * @param lock SQL that locks the row until the transaction ends
 * @returns undefined if no attempt meets the condition
 */
export async function findAttempt(
  db: Database,
  where: string,
  values: readonly unknown[],
  lock?: 'for update',
): Promise<StoredAttempt | undefined> {
  const { rows } = await db.query(
    `select ${AttemptRow.columns} from claim_attempts where ${where} ${lock ?? ''}`,
    values,
  )
  if (!rows[0]) return undefined
  const row = AttemptRow.parse(rows[0])
  const { codeHash: hash, codeExpiresAt: expiresAt } = row
  return {
    ...row,
    code: hash && expiresAt ? { hash, expiresAt } : undefined,
    hasMailboxHash: row.mailboxHash !== undefined,
  }
}

/** Withdraws the open and the failed attempts of agents. The state of these attempts becomes `superseded`. */
export async function supersedeAttempts(tx: Database, agentIds: readonly string[]): Promise<void> {
  await tx.query(
    `update claim_attempts set state = 'superseded', ${ERASE_BUT_ALLOW_DECLINING_SQL}
     where agent_id = any($1) and state in ${OPEN_TO_AGENTS_SQL}`,
    [agentIds],
  )
}

/**
 * Deletes the attempts of agents that are being deleted or expire. First supersedes the open and failed ones. Attempts that still
 * have the hash of the mailbox stay, because a person may still decline them.
 */
export async function deleteAttempts(tx: Database, agentIds: readonly string[]): Promise<void> {
  await supersedeAttempts(tx, agentIds)
  await tx.query('delete from claim_attempts where agent_id = any($1) and mailbox_hash is null', [agentIds])
}

const BlockedRow = z.object({ blocked: z.boolean() })
const TriesRow = z.object({ tries: z.int() })

/**
 * Returns whether the attempt's mailbox is blocked: its owner declined an attempt within 30 days (`RULES.verificationBlockMs`),
 * and there is no valid verification for the attempt's agent and address. A block applies only to requests of agents: the person
 * can still sign in with an app. Also returns false once the hash of the mailbox is erased.
 */
export async function isMailboxBlocked(db: Database, attempt: StoredAttempt, now: Date): Promise<boolean> {
  if (!attempt.mailboxHash || attempt.purpose === 'sign-in') return false
  const { rows } = await db.query(
    `select exists (select from claim_blocks where mailbox_hash = $1 and until > $2)
        and not exists (select from claims where agent_id = $3 and email_hash = $4
                        and ended_at is null and expires_at > $2) as blocked`,
    [attempt.mailboxHash, now, attempt.agentId, attempt.emailHash],
  )
  return BlockedRow.parse(rows[0]).blocked
}

/**
 * Counts the codes that were entered for the mailbox within 24 hours and were wrong or are still being compared. Sign-ins and
 * agents count separately, because their hashes of a mailbox differ. The row of a correct code is deleted when the verification
 * is stored. Locks the mailbox until `tx` ends, so that simultaneous tries are counted one after another. Returns 0, without a
 * lock, once the hash is erased.
 */
export async function lockAndCountTries(tx: Database, attempt: StoredAttempt, now: Date): Promise<number> {
  if (!attempt.mailboxHash) return 0
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('claim tries ' || encode($1, 'hex'), 0))`, [
    attempt.mailboxHash,
  ])
  const { rows } = await tx.query(
    'select count(*) as tries from claim_tries where mailbox_hash = $1 and tried_at > $2',
    [attempt.mailboxHash, new Date(now.getTime() - RULES.mailboxTriesMs)],
  )
  return TriesRow.parse(rows[0]).tries
}
