import { argument, flag, InvalidArgumentError, Refusal } from '@plainpath/commands'
import { AgentId, getVerifiedDomain, RegistrationId } from '@plainpath/domain'
import { DOMAIN_CHECKED } from '@plainpath/pages'
import { describeProvenFacts, describeVerifiedDomain } from '../agents/proven-facts.ts'
import { isVerificationLive, type Verification } from '../verifications/verification.ts'
import {
  type AttemptState,
  computeState,
  type VerificationAttempt,
} from '../verifications/verification-attempt.ts'
import { defineCommand, limit } from './define-command.ts'

export const registrationId = argument(
  '<registration_id>',
  'the registration_id: clm_ followed by 22 characters',
  (text) => {
    const id = RegistrationId.safeParse(text)
    if (!id.success) throw new InvalidArgumentError('A registration_id is clm_ followed by 22 characters.')
    return id.data
  },
)

/**
 * The `claims` commands. In commands, a claim is an e-mail verification. These commands never show an e-mail address: an operator
 * who needs one asks the person.
 */
export const claimsCommands = [
  defineCommand({
    name: 'claims list',
    summary: 'list the newest e-mail verifications, without addresses',
    parameters: { live: flag('--live', 'leave out those that have expired or were revoked'), limit },
    opens: 'database',
    async run({ stores, args, now }) {
      const currentTime = now()
      const verifications = await stores.verifications.list(
        args.limit,
        args.live ? { liveAt: currentTime } : {},
      )
      const emptyText = args.live
        ? 'There are no live e-mail verifications.'
        : 'There are no e-mail verifications.'
      return {
        json: verifications.map((verification) => toVerificationJson(verification, currentTime)),
        text:
          verifications.map((verification) => formatVerification(verification, currentTime)).join('\n') ||
          emptyText,
      }
    },
  }),
  defineCommand({
    name: 'claims show',
    summary: 'show an e-mail verification and its attempt, without the address',
    parameters: { id: registrationId },
    opens: 'database',
    async run({ stores, args: { id }, now }) {
      const currentTime = now()
      const attempt = await stores.verificationAttempts.findByRegistration(id)
      const verification = await stores.verifications.find(id)
      if (!attempt && !verification)
        throw new Refusal(
          `There is no e-mail verification ${id}, or it ended so long ago that its record was deleted.`,
        )
      const attemptText =
        attempt && `${attempt.id}  ${attempt.agentId}  ${STATE_MEANINGS[computeState(attempt, currentTime)]}`
      return {
        json: {
          registration_id: id,
          ...(attempt && { attempt: toAttemptJson(attempt, currentTime) }),
          ...(verification && { claim: toVerificationJson(verification, currentTime) }),
        },
        text: [attemptText, verification && formatVerification(verification, currentTime)]
          .filter(Boolean)
          .join('\n'),
      }
    },
  }),
  defineCommand({
    name: 'claims revoke',
    summary: 'revoke an e-mail verification with its assertions and tokens, and erase the address',
    parameters: { id: registrationId },
    opens: 'all stores',
    async run({ stores, args: { id }, now }) {
      if (!(await stores.verifications.revoke(id, 'operator', now())))
        throw new Refusal(`There is no live e-mail verification ${id}. Nothing was changed.`)
      return {
        json: { registration_id: id, status: 'ended' },
        text: `Revoked the e-mail verification ${id}, and erased its address.`,
      }
    },
  }),
]

/** The texts for the states of an attempt. Only operators see `failed`: to an agent, it would reveal whether a mailbox exists. */
const STATE_MEANINGS: Readonly<Record<AttemptState, string>> = {
  initiated: 'initiated: the mail is waiting to be sent, or was dropped because of a cap',
  sent: 'sent: a mail server accepted the mail',
  code_shown:
    'code_shown: the person opened the code on the page or, in a sign-in, a mail with the code was queued',
  completed: 'completed',
  locked: 'locked: too many wrong codes',
  declined: 'declined: the person declined',
  expired: 'expired',
  superseded: 'superseded: the agent began another attempt, or withdrew this one',
  failed: 'failed: no mail server accepted the mail',
}

const toAttemptJson = (attempt: VerificationAttempt, now: Date) => ({
  claim_attempt_id: attempt.id,
  client_id: attempt.agentId,
  ...describeVerifiedDomain(AgentId.parse(attempt.agentId)),
  state: computeState(attempt, now),
  link_expires_at: attempt.linkExpiresAt.toISOString(),
})

const toVerificationJson = (verification: Verification, now: Date) => ({
  registration_id: verification.id,
  client_id: verification.agentId,
  ...describeProvenFacts(AgentId.parse(verification.agentId), isVerificationLive(verification, now)),
  status: isVerificationLive(verification, now) ? 'live' : 'ended',
  ...(!isVerificationLive(verification, now) && { ended_by: verification.endedBy ?? 'expired' }),
  verified_at: verification.verifiedAt.toISOString(),
  expires_at: verification.expiresAt.toISOString(),
  ...(verification.endedAt && { ended_at: verification.endedAt.toISOString() }),
})

const END_TEXTS: Readonly<Record<NonNullable<Verification['endedBy']>, string>> = {
  person: 'revoked by the person',
  agent: 'revoked by the agent',
  operator: 'revoked by an operator',
  superseded: 'superseded by a newer one',
  'agent-deleted': 'revoked because its agent was deleted',
  expired: 'expired',
  reused: 'revoked because a code or refresh token was used twice',
}

/** Formats whether a verification is live, and if not, why. */
export const formatStatus = (verification: Verification, now: Date) =>
  isVerificationLive(verification, now) ? 'live' : END_TEXTS[verification.endedBy ?? 'expired']

const formatVerification = (verification: Verification, now: Date) => {
  const status = formatStatus(verification, now)
  const domain = getVerifiedDomain(AgentId.parse(verification.agentId))
  const domainText = domain === undefined ? '' : `  ${domain} ${DOMAIN_CHECKED}`
  return `${verification.id}  ${verification.agentId}  ${verification.verifiedAt.toISOString()}  ${status}${domainText}`
}
