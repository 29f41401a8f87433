import { AgentId, ok, type Result, RULES } from '@plainpath/domain'
import { type Database, deleteBatch, type Pool } from '@plainpath/postgres'
import { type HashKey, openIfPossible, type SealingKeys, sha256 } from '@plainpath/sealing'
import { z } from 'zod'
import { emailEncryptionContext, findAttempt, OPEN, type StoredAttempt } from '../claims/attempt-row.ts'
import { stateAt } from '../claims/claim-attempt.ts'
import {
  type AddMail,
  beginIn,
  type ClaimMail,
  type NewSignInAttempt,
} from '../claims/postgres-claim-attempts.ts'
import { type ConnectedApp, insertConnection } from '../connections/connection-store.ts'
import { mayMailCode, type NoCode, type SignInStep, signInStep } from './sign-in.ts'

/** A sign-in for its page. */
export interface StoredSignIn {
  readonly at: SignInStep
  readonly codesLeft: number
  /** Absent before the first code. */
  readonly agentId?: AgentId
  /** While a code works: its attempt, and the address as typed. */
  readonly open?: { readonly attemptId: string; readonly email: string }
}

const SignInRow = z.object({ agentId: AgentId, codes: z.int() })
const Live = z.object({ live: z.boolean() })

export type SignInStore = ReturnType<typeof signInStore>

/**
 * Opens the store of sign-ins: which connection an interaction is about, and how many codes were mailed for it. The uid of
 * an interaction is stored as a hash.
 */
export function signInStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  addMail: AddMail
}) {
  const { db, sealingKeys, hashKey } = deps
  const find = async (on: Database, uid: string) => {
    const { rows } = await on.query(
      'select agent_id as "agentId", codes from sign_ins where interaction_hash = $1',
      [sha256(uid)],
    )
    return rows[0] && SignInRow.parse(rows[0])
  }
  return {
    /** Finds where a sign-in stands. @param uid of an interaction that was found for the browser */
    async find(uid: string, now: Date): Promise<StoredSignIn> {
      const row = await find(db, uid)
      if (!row) return { at: { step: 'address' }, codesLeft: RULES.signInCodes }
      const { agentId } = row
      const newest = await findNewest(db, agentId)
      const codesLeft = Math.max(0, RULES.signInCodes - row.codes)
      const at = signInStep(newest && stateAt(newest, now), {
        codesLeft,
        isAllowed: await hasLiveClaim(db, agentId, now),
      })
      const email = newest && openIfPossible(() => openAddress(sealingKeys, newest))
      if (at.step !== 'code' || !newest || email === undefined) return { at, codesLeft, agentId }
      return { at, codesLeft, agentId, open: { attemptId: newest.id, email } }
    },

    /**
     * Stores an attempt with a new code and queues its mail. Creates the connection first, if the sign-in has none. The
     * statements are the same for every address, so that their time reveals nothing about it.
     *
     * @param interaction.expiresAt when the interaction ends
     * @throws {Problem} 429 when too many mails wait
     */
    mailCode: (
      { uid, app, expiresAt }: { uid: string; app: ConnectedApp; expiresAt: Date },
      { attempt, mail }: { attempt: Omit<NewSignInAttempt, 'agentId'>; mail: ClaimMail },
      now: Date,
    ): Promise<Result<void, NoCode>> =>
      db.transaction(async (tx) => {
        // Two requests at once: a double click, or two tabs.
        await tx.query(`select pg_advisory_xact_lock(hashtextextended('sign-in ' || encode($1, 'hex'), 0))`, [
          sha256(uid),
        ])
        const row = await find(tx, uid)
        const newest = row && (await findNewest(tx, row.agentId))
        const emailHash = hashKey.hash('email-index/claims', attempt.canonicalEmail)
        const decided = mayMailCode(row?.codes ?? 0, newest, emailHash, now)
        if (!decided.ok) return decided
        const agentId = row?.agentId ?? (await insertConnection(tx, sealingKeys, app, now))
        await tx.query(
          `insert into sign_ins (interaction_hash, agent_id, codes, expires_at) values ($1, $2, 1, $3)
           on conflict (interaction_hash) do update set codes = sign_ins.codes + 1`,
          [sha256(uid), agentId, expiresAt],
        )
        await beginIn(tx, deps, { ...attempt, agentId }, mail)
        return ok(undefined)
      }),
  }
}

const findNewest = (db: Database, agentId: string): Promise<StoredAttempt | undefined> =>
  findAttempt(
    db,
    `id = (select id from claim_attempts where agent_id = $1
           order by state in ${OPEN} desc, created_at desc, id limit 1)`,
    [agentId],
  )

async function hasLiveClaim(db: Database, agentId: string, now: Date): Promise<boolean> {
  const { rows } = await db.query(
    'select exists (select from claims where agent_id = $1 and ended_at is null and expires_at > $2) as live',
    [agentId, now],
  )
  return Live.parse(rows[0]).live
}

const openAddress = (keys: SealingKeys, { registrationId, emailSealed }: StoredAttempt) =>
  emailSealed && keys.open(emailSealed, emailEncryptionContext(registrationId)).toString('utf8')

/** Deletes sign-ins whose interaction has ended, at most 1 000. @returns how many */
export const sweepSignIns = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'sign_ins', key: 'interaction_hash', where: 'expires_at <= $1' }, [now])
