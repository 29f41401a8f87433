import { argument, flag, InvalidArgumentError, Refusal } from '@plainpath/commands'
import { RegistrationId } from '@plainpath/domain'
import { type Claim, isLive } from '../claims/claim.ts'
import { defineCommand, limit } from './define-command.ts'

const registrationId = argument('<registration_id>', 'clm_ and 22 characters', (text) => {
  const id = RegistrationId.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('A registration_id is clm_ and 22 characters.')
  return id.data
})

/** No address is shown: an operator who needs one asks the person. */
export const claimsCommands = [
  defineCommand({
    name: 'claims list',
    summary: 'the newest claims, without addresses',
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
    name: 'claims revoke',
    summary: 'end a claim, its assertions and its tokens before returning, and erase its address',
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

const claimJson = (claim: Claim, now: Date) => ({
  registration_id: claim.id,
  client_id: claim.agentId,
  status: isLive(claim, now) ? 'live' : 'ended',
  ...(!isLive(claim, now) && { ended_by: claim.endedBy ?? 'expired' }),
  verified_at: claim.verifiedAt.toISOString(),
  expires_at: claim.expiresAt.toISOString(),
  ...(claim.endedAt && { ended_at: claim.endedAt.toISOString() }),
})

const claimText = (claim: Claim, now: Date) => {
  const status = isLive(claim, now) ? 'live' : `ended by ${claim.endedBy ?? 'expired'}`
  return `${claim.id}  ${claim.agentId}  ${claim.verifiedAt.toISOString()}  ${status}`
}
