import { argument, flag, InvalidArgumentError, Refusal } from '@plainpath/commands'
import { AgentId, RegistrationId, verifiedDomain } from '@plainpath/domain'
import { DOMAIN_CHECKED } from '@plainpath/pages'
import { domainMember, provenFacts } from '../agents/proven-facts.ts'
import { type Claim, isLive } from '../claims/claim.ts'
import { type AttemptState, type ClaimAttempt, stateAt } from '../claims/claim-attempt.ts'
import { defineCommand, limit } from './define-command.ts'

export const registrationId = argument('<registration_id>', 'clm_ and 22 characters', (text) => {
  const id = RegistrationId.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('A registration_id is clm_ and 22 characters.')
  return id.data
})

/** The `claims` commands. They never show an address: an operator who needs it asks the person. */
export const claimsCommands = [
  defineCommand({
    name: 'claims list',
    summary: 'list the newest claims, without addresses',
    parameters: { live: flag('--live', 'only those that have not ended'), limit },
    opens: 'database',
    async run({ stores, args, now }) {
      const at = now()
      const claims = await stores.claims.list(args.limit, args.live ? { liveAt: at } : {})
      const none = args.live ? 'No claim is live.' : 'There is no claim.'
      return {
        json: claims.map((claim) => claimJson(claim, at)),
        text: claims.map((claim) => claimText(claim, at)).join('\n') || none,
      }
    },
  }),
  defineCommand({
    name: 'claims show',
    summary: 'show the state of an attempt and of its claim, without the address',
    parameters: { id: registrationId },
    opens: 'database',
    async run({ stores, args: { id }, now }) {
      const at = now()
      const attempt = await stores.claimAttempts.findByRegistration(id)
      const claim = await stores.claims.find(id)
      if (!attempt && !claim) throw new Refusal(`There is no claim ${id}, or it ended long ago.`)
      const attemptText =
        attempt && `${attempt.id}  ${attempt.agentId}  ${STATE_MEANINGS[stateAt(attempt, at)]}`
      return {
        json: {
          registration_id: id,
          ...(attempt && { attempt: attemptJson(attempt, at) }),
          ...(claim && { claim: claimJson(claim, at) }),
        },
        text: [attemptText, claim && claimText(claim, at)].filter(Boolean).join('\n'),
      }
    },
  }),
  defineCommand({
    name: 'claims revoke',
    summary: 'revoke a claim, its assertions and its tokens before returning, and erase its address',
    parameters: { id: registrationId },
    opens: 'stores',
    async run({ stores, args: { id }, now }) {
      if (!(await stores.claims.end(id, 'operator', now())))
        throw new Refusal(`There is no claim ${id}, or it has ended.`)
      return {
        json: { registration_id: id, status: 'ended' },
        text: `${id} has ended; its address is erased.`,
      }
    },
  }),
]

/** For operators only: agents never see `failed`, which would reveal whether a mailbox exists. */
const STATE_MEANINGS: Readonly<Record<AttemptState, string>> = {
  initiated: 'initiated: its mail waits, or was dropped over a cap',
  sent: 'sent: a mail server took its mail',
  code_shown: 'code_shown: the person let the page show a code',
  completed: 'completed',
  locked: 'locked: too many wrong codes',
  declined: 'declined: the person said no',
  expired: 'expired',
  superseded: 'superseded: the agent began another one, or withdrew it',
  failed: 'failed: no mail server took its mail',
}

const attemptJson = (attempt: ClaimAttempt, now: Date) => ({
  claim_attempt_id: attempt.id,
  client_id: attempt.agentId,
  ...domainMember(AgentId.parse(attempt.agentId)),
  state: stateAt(attempt, now),
  link_expires_at: attempt.linkExpiresAt.toISOString(),
})

const claimJson = (claim: Claim, now: Date) => ({
  registration_id: claim.id,
  client_id: claim.agentId,
  ...provenFacts(AgentId.parse(claim.agentId), isLive(claim, now)),
  status: isLive(claim, now) ? 'live' : 'ended',
  ...(!isLive(claim, now) && { ended_by: claim.endedBy ?? 'expired' }),
  verified_at: claim.verifiedAt.toISOString(),
  expires_at: claim.expiresAt.toISOString(),
  ...(claim.endedAt && { ended_at: claim.endedAt.toISOString() }),
})

const claimText = (claim: Claim, now: Date) => {
  const status = isLive(claim, now) ? 'live' : `ended by ${claim.endedBy ?? 'expired'}`
  const domain = verifiedDomain(AgentId.parse(claim.agentId))
  const checked = domain === undefined ? '' : `  ${domain} ${DOMAIN_CHECKED}`
  return `${claim.id}  ${claim.agentId}  ${claim.verifiedAt.toISOString()}  ${status}${checked}`
}
