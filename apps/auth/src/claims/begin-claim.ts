import { randomBytes } from 'node:crypto'
import { canonicalEmail, RULES } from '@plainpath/domain'
import { mailboxOf } from '@plainpath/mail'
import { sha256 } from '@plainpath/sealing'
import { claimLinkMail } from './claim-mails.ts'
import { newMatchPhrase } from './match-phrase.ts'
import type { ClaimAttemptStore } from './postgres-claim-attempts.ts'

interface BegunAttempt {
  readonly registrationId: string
  readonly attemptId: string
  readonly matchPhrase: string
  readonly expiresAt: Date
}

export type BeginClaim = (request: { agentId: string; email: string }) => Promise<BegunAttempt | undefined>

/** 256 bits for a link; its SHA-256 is kept. */
export const newLinkSecret = (): string => randomBytes(32).toString('base64url')
const newId = (prefix: 'clm' | 'cla') => `${prefix}_${randomBytes(16).toString('base64url')}`

/**
 * Begins to ask a person whether an agent speaks for them. The work is the same for every address: a row, a mail and a
 * job are kept. Whether the mail goes is decided when it is due.
 *
 * @param request.email an address that has a canonical form
 * @returns undefined when the agent has ended meanwhile
 */
export const beginClaim =
  (deps: {
    attempts: Pick<ClaimAttemptStore, 'begin'>
    /** Of the page behind the mailed link. */
    linkUrl: (secret: string) => string
    now: () => Date
  }): BeginClaim =>
  async ({ agentId, email }) => {
    const canonical = canonicalEmail(email)
    if (canonical === undefined) throw new Error('an address without a canonical form passed its schema')
    const now = deps.now()
    const secret = newLinkSecret()
    const attempt = {
      id: newId('cla'),
      registrationId: newId('clm'),
      agentId,
      email,
      canonicalEmail: canonical,
      mailbox: mailboxOf(email).mailbox,
      matchPhrase: newMatchPhrase(),
      linkHash: sha256(secret),
      linkExpiresAt: new Date(now.getTime() + RULES.claimLinkMs),
      createdAt: now,
    }
    const mail = claimLinkMail({ ...attempt, url: deps.linkUrl(secret) })
    if (!(await deps.attempts.begin(attempt, mail))) return undefined
    const { id: attemptId, registrationId, matchPhrase, linkExpiresAt: expiresAt } = attempt
    return { registrationId, attemptId, matchPhrase, expiresAt }
  }
