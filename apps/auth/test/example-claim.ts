import { randomBytes } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { NewAttempt, VerificationMail } from '../src/verifications/verification-attempt-store.ts'
import type { NewVerification } from '../src/verifications/verification-store.ts'

const random = () => randomBytes(16).toString('base64url')

export const START = new Date('2026-11-20T09:00:00Z')
export const at = (ms: number) => new Date(START.getTime() + ms)

export function exampleAttempt(agentId: string, change: Partial<NewAttempt> = {}): NewAttempt {
  const createdAt = change.createdAt ?? START
  const email = change.email ?? 'Ana@example.org'
  return {
    id: `cla_${random()}`,
    registrationId: `clm_${random()}`,
    agentId,
    email,
    canonicalEmail: email.toLowerCase(),
    mailbox: email.toLowerCase(),
    matchPhrase: 'amber river',
    linkHash: sha256(random()),
    linkExpiresAt: new Date(createdAt.getTime() + RULES.claimLinkMs),
    createdAt,
    ...change,
  }
}

export const linkMail = (attempt: NewAttempt): VerificationMail => ({
  kind: 'claim-link',
  about: attempt.id,
  to: attempt.email,
  subject: 'link',
  text: 'link',
})

export const exampleRedemption = (attemptId: string, codeHash: Buffer, now: Date): NewVerification => ({
  attemptId,
  codeHash,
  revocationLinkHash: sha256(random()),
  now,
  expiresAt: new Date(now.getTime() + RULES.claimMs),
  composeMail: (claim, to) => ({
    kind: 'claim-confirmed',
    about: claim.id,
    to,
    subject: 'done',
    text: 'done',
  }),
})

/** Records in memory the mails that a transaction adds. A rollback does not remove them. */
export function mailbag() {
  const mails: VerificationMail[] = []
  return {
    mails,
    add: async (tx: Database, mail: VerificationMail) => {
      await tx.query('select 1')
      mails.push(mail)
    },
  }
}
