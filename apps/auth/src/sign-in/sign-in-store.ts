import { AgentId, err, ok, type Result, RULES } from '@plainpath/domain'
import { type Database, deleteBatch, type Pool } from '@plainpath/postgres'
import { type HashKey, type Sealer, sha256, unsealIfPossible } from '@plainpath/sealing'
import { z } from 'zod'
import { type ConnectedApp, insertConnection } from '../connections/connection-store.ts'
import {
  findAttempt,
  OPEN_STATES_SQL,
  type StoredAttempt,
  toEmailEncryptionContext,
} from '../verifications/attempt-row.ts'
import { addAttempt } from '../verifications/postgres-verification-attempt-store.ts'
import { computeState } from '../verifications/verification-attempt.ts'
import type {
  AddMail,
  NewSignInAttempt,
  VerificationMail,
} from '../verifications/verification-attempt-store.ts'
import { type CodeMailRefusal, computeSignInStep, decideCodeMail, type SignInStep } from './sign-in.ts'

/** The stored state of a sign-in, for its page. */
export interface StoredSignIn {
  readonly currentStep: SignInStep
  readonly codesLeft: number
  /** The agent of the connection. Absent before the first code. */
  readonly agentId?: AgentId
  /**
   * The attempt of the code, and the address as it was typed. Absent unless the code is valid and the address can be decrypted.
   */
  readonly openAttempt?: { readonly attemptId: string; readonly email: string }
}

/** `codes`: the number of codes that were mailed for the sign-in. */
const SignInRow = z.object({ agentId: AgentId, codes: z.int() })
const LiveRow = z.object({ live: z.boolean() })

/**
 * Stores the connection of each interaction, and the number of codes that were mailed for it. The uid is stored as a hash.
 */
export interface SignInStore {
  /**
   * Finds the state of a sign-in.
   *
   * @param uid the id of an interaction that was found for the browser
   */
  find(uid: string, now: Date): Promise<StoredSignIn>
  /**
   * Stores an attempt with a new code and queues its mail. Creates the connection first, if the sign-in has none. The same
   * statements run for every address, so the response time reveals nothing about the address.
   *
   * @returns the refusal if no code may be mailed
   * @throws {Problem} 429 if too many mails are queued
   */
  mailCode(
    signIn: { uid: string; app: ConnectedApp; expiresAt: Date },
    code: { attempt: Omit<NewSignInAttempt, 'agentId' | 'credentialVersion'>; mail: VerificationMail },
    now: Date,
  ): Promise<Result<void, CodeMailRefusal>>
}

export function createSignInStore(deps: {
  db: Pool
  sealer: Sealer
  hashKey: HashKey
  addMail: AddMail
}): SignInStore {
  const { db, sealer, hashKey } = deps
  const findSignInRow = async (database: Database, uid: string) => {
    const { rows } = await database.query(
      'select agent_id as "agentId", codes from sign_ins where interaction_hash = $1',
      [sha256(uid)],
    )
    return rows[0] && SignInRow.parse(rows[0])
  }
  return {
    async find(uid, now) {
      const row = await findSignInRow(db, uid)
      if (!row) return { currentStep: { step: 'address' }, codesLeft: RULES.signInCodes }
      const { agentId } = row
      const attempt = await findCurrentAttempt(db, agentId)
      const codesLeft = Math.max(0, RULES.signInCodes - row.codes)
      const currentStep = computeSignInStep(attempt && computeState(attempt, now), {
        codesLeft,
        isAllowed: await hasLiveVerification(db, agentId, now),
      })
      const email = attempt && unsealIfPossible(() => decryptAddress(sealer, attempt))
      if (currentStep.step !== 'code' || !attempt || email === undefined)
        return { currentStep, codesLeft, agentId }
      return { currentStep, codesLeft, agentId, openAttempt: { attemptId: attempt.id, email } }
    },

    mailCode: ({ uid, app, expiresAt }, { attempt, mail }, now) =>
      db.transaction(async (tx) => {
        // If requests are simultaneous, as after a double click or from two tabs, only one creates the connection.
        await tx.query(`select pg_advisory_xact_lock(hashtextextended('sign-in ' || encode($1, 'hex'), 0))`, [
          sha256(uid),
        ])
        const row = await findSignInRow(tx, uid)
        const currentAttempt = row && (await findCurrentAttempt(tx, row.agentId))
        const emailHash = hashKey.hash('email-index/claims', attempt.canonicalEmail)
        const decision = decideCodeMail(row?.codes ?? 0, currentAttempt, emailHash, now)
        if (!decision.ok) return decision
        const agentId = row?.agentId ?? (await insertConnection(tx, sealer, app, now))
        await tx.query(
          `insert into sign_ins (interaction_hash, agent_id, codes, expires_at) values ($1, $2, 1, $3)
           on conflict (interaction_hash) do update set codes = sign_ins.codes + 1`,
          [sha256(uid), agentId, expiresAt],
        )
        const newAttempt = { ...attempt, agentId, credentialVersion: undefined }
        const isAdded = await addAttempt(tx, deps, newAttempt, mail)
        return isAdded ? ok(undefined) : err('ended')
      }),
  }
}

/** Finds the open attempt of a connection, or else the newest one. */
const findCurrentAttempt = (db: Database, agentId: string): Promise<StoredAttempt | undefined> =>
  findAttempt(
    db,
    `id = (select id from claim_attempts where agent_id = $1
           order by state in ${OPEN_STATES_SQL} desc, created_at desc, id limit 1)`,
    [agentId],
  )

async function hasLiveVerification(db: Database, agentId: string, now: Date): Promise<boolean> {
  const { rows } = await db.query(
    'select exists (select from claims where agent_id = $1 and ended_at is null and expires_at > $2) as live',
    [agentId, now],
  )
  return LiveRow.parse(rows[0]).live
}

/** Decrypts the address of an attempt; undefined once the address has been erased. */
const decryptAddress = (sealer: Sealer, { registrationId, emailSealed }: StoredAttempt) =>
  emailSealed && sealer.unseal(emailSealed, toEmailEncryptionContext(registrationId)).toString('utf8')

/**
 * Deletes at most 1,000 sign-ins whose interaction has expired.
 *
 * @returns the number of deleted sign-ins
 */
export const sweepSignIns = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'sign_ins', keyColumn: 'interaction_hash', where: 'expires_at <= $1' }, [now])
