import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import { CLOSED_STATES, type ClaimAttempt, OPEN_STATES } from './claim-attempt.ts'

const bytes = z.instanceof(Buffer).nullable()

export const AttemptRow = z.object({
  id: z.string(),
  registration_id: z.string(),
  agent_id: z.string(),
  state: z.enum([...OPEN_STATES, ...CLOSED_STATES]),
  link_expires_at: z.date(),
  email_sealed: bytes,
  email_hash: bytes,
  mailbox_hash: bytes,
  match_phrase_sealed: bytes,
  code_hash: bytes,
  code_expires_at: z.date().nullable(),
  hash_key_id: z.string(),
  presses: z.int(),
  tries: z.int(),
})
export type AttemptRow = z.infer<typeof AttemptRow>

const ATTEMPT_COLUMNS = Object.keys(AttemptRow.shape).join(', ')
/** Of `state`, in SQL. */
export const OPEN = `('initiated', 'sent', 'code_shown')`
/** What goes when an attempt closes. */
export const ERASED = `email_sealed = null, email_hash = null, mailbox_hash = null, match_phrase_sealed = null,
  code_hash = null, code_expires_at = null`

/** What values are sealed for. An attempt seals its address for the claim that it may become. */
export const emailContext = (claimId: string) => `claims/${claimId}/email`
export const matchPhraseContext = (id: string) => `claim_attempts/${id}/match-phrase`

export function attemptOf(row: AttemptRow): ClaimAttempt {
  const { code_hash: hash, code_expires_at: expiresAt } = row
  return {
    id: row.id,
    registrationId: row.registration_id,
    agentId: row.agent_id,
    state: row.state,
    linkExpiresAt: row.link_expires_at,
    presses: row.presses,
    tries: row.tries,
    code: hash && expiresAt ? { hash, expiresAt } : undefined,
  }
}

/** @param lock whether others wait to change it until the transaction ends */
export async function findAttempt(
  db: Database,
  where: string,
  values: readonly unknown[],
  lock?: 'for update',
): Promise<AttemptRow | undefined> {
  const { rows } = await db.query(
    `select ${ATTEMPT_COLUMNS} from claim_attempts where ${where} ${lock ?? ''}`,
    values,
  )
  return rows[0] && AttemptRow.parse(rows[0])
}
