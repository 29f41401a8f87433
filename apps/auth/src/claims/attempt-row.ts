import { RULES } from '@plainpath/domain'
import { type Database, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import { CLOSED_STATES, type ClaimAttempt, OPEN_STATES } from './claim-attempt.ts'
import { CODE_PURPOSES } from './claim-code.ts'

const bytes = z.instanceof(Buffer).optional()

const AttemptRow = rowReader(
  z.object({
    id: z.string(),
    registrationId: z.string(),
    agentId: z.string(),
    purpose: z.enum(CODE_PURPOSES),
    state: z.enum([...OPEN_STATES, ...CLOSED_STATES]),
    linkExpiresAt: z.date(),
    emailSealed: bytes,
    emailHash: bytes,
    mailboxHash: bytes,
    matchPhraseSealed: bytes,
    codeHash: bytes,
    codeExpiresAt: z.date().optional(),
    hashKeyId: z.string(),
    presses: z.int(),
    tries: z.int(),
    createdAt: z.date(),
  }),
)
/** An attempt with its encrypted and hashed columns. */
export type StoredAttempt = ClaimAttempt & Omit<ReturnType<typeof AttemptRow.parse>, 'state'>

/** The open states, in SQL. */
export const OPEN = `('initiated', 'sent', 'code_shown')`
/** The states that an agent sees as open, in SQL. A failed attempt is superseded and expires as an open one does. */
export const OPEN_TO_AGENTS = `('initiated', 'sent', 'code_shown', 'failed')`
/** The columns that are erased when an attempt closes. */
export const ERASED = `email_sealed = null, email_hash = null, mailbox_hash = null, match_phrase_sealed = null,
  code_hash = null, code_expires_at = null`

/** Bind encrypted values to their rows (associated data). The address of an attempt is bound to the claim it may become. */
export const emailEncryptionContext = (claimId: string) => `claims/${claimId}/email`
export const matchPhraseEncryptionContext = (id: string) => `claim_attempts/${id}/match-phrase`

/** Finds an attempt. @param lock locks the row until the transaction ends */
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
  return { ...row, code: hash && expiresAt ? { hash, expiresAt } : undefined }
}

const Blocked = z.object({ blocked: z.boolean() })
const Tries = z.object({ tries: z.int() })

/**
 * True when the owner of the mailbox declined an attempt lately and has no live claim with this agent and address. A block
 * is against what agents ask for: people can still sign in themselves.
 */
export async function isBlocked(db: Database, attempt: StoredAttempt, now: Date): Promise<boolean> {
  if (!attempt.mailboxHash || attempt.purpose === 'sign-in') return false
  const { rows } = await db.query(
    `select exists (select from claim_blocks where mailbox_hash = $1 and until > $2)
        and not exists (select from claims where agent_id = $3 and email_hash = $4
                        and ended_at is null and expires_at > $2) as blocked`,
    [attempt.mailboxHash, now, attempt.agentId, attempt.emailHash],
  )
  return Blocked.parse(rows[0]).blocked
}

/**
 * Counts the wrong codes, and codes being compared, entered for the mailbox within 24 hours. Holds a lock until `tx`
 * ends, so that concurrent tries are counted one after the other.
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
  return Tries.parse(rows[0]).tries
}
