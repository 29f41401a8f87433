import { randomBytes } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import type { NewAttempt, VerificationMail } from '../src/verifications/verification-attempt-store.ts'
import type { NewVerification } from '../src/verifications/verification-store.ts'

const createRandomId = () => randomBytes(16).toString('base64url')

/** The time at which an example is created, unless a test chooses another. */
export const START = new Date('2026-11-20T09:00:00Z')
/** Returns the time that is `ms` milliseconds after `START`. */
export const at = (ms: number) => new Date(START.getTime() + ms)

/** Creates an attempt of an agent. Its link has not been mailed yet. */
export function createAttempt(agentId: string, overrides: Partial<NewAttempt> = {}): NewAttempt {
  const createdAt = overrides.createdAt ?? START
  const email = overrides.email ?? 'Ana@example.org'
  return {
    id: `cla_${createRandomId()}`,
    registrationId: `clm_${createRandomId()}`,
    agentId,
    email,
    canonicalEmail: email.toLowerCase(),
    mailbox: email.toLowerCase(),
    matchPhrase: 'amber river',
    linkHash: sha256(createRandomId()),
    linkExpiresAt: new Date(createdAt.getTime() + RULES.verificationLinkMs),
    createdAt,
    credentialVersion: undefined,
    ...overrides,
  }
}

/** Creates the mail that is stored with an attempt. */
export const createLinkMail = (attempt: NewAttempt): VerificationMail => ({
  kind: 'claim-link',
  about: attempt.id,
  to: attempt.email,
  subject: 'link',
  text: 'link',
})

/** Creates the verification to which the right code of an attempt leads. */
export const createRedemption = (
  { id, agentId }: Pick<NewAttempt, 'id' | 'agentId'>,
  codeHash: Buffer,
  now: Date,
): NewVerification => ({
  agentId,
  attemptId: id,
  codeHash,
  revocationLinkHash: sha256(createRandomId()),
  now,
  credentialVersion: undefined,
  expiresAt: new Date(now.getTime() + RULES.verificationMs),
  composeMail: (claim, to) => ({
    kind: 'claim-confirmed',
    about: claim.id,
    to,
    subject: 'done',
    text: 'done',
  }),
})
