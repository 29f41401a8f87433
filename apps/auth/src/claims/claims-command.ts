import { RegistrationId } from '@plainpath/domain'
import { type Command, InvalidArgumentError } from 'commander'
import { listLimit } from '../list-limit.ts'
import { type Claim, isLive } from './claim.ts'
import type { ClaimStore } from './postgres-claims.ts'

export interface ClaimsCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  stores<T>(work: (opened: { readonly claims: ClaimStore }) => Promise<T>): Promise<T>
  now: () => Date
}

/** `auth claims list | revoke`. No address is shown: an operator who needs one asks the person. */
export function addClaimsCommand(program: Command, { io, refuse, stores, now }: ClaimsCommandDeps): void {
  const claims = program.command('claims').description('confirmations of agents by people')

  claims
    .command('list')
    .description('the newest claims, without addresses')
    .option('--live', 'only those that have not ended')
    .option('--limit <number>', 'how many, 1 to 1000', listLimit, 50)
    .option('--json', 'for programs')
    .action(async (options: { limit: number; live?: boolean; json?: boolean }) => {
      const at = now()
      const found = await stores((opened) =>
        opened.claims.list(options.limit, options.live ? { liveAt: at } : {}),
      )
      if (options.json) return io.print(JSON.stringify(found.map((claim) => view(claim, at))))
      if (found.length === 0) return io.print(options.live ? 'No claim is live.' : 'There is no claim.')
      for (const claim of found) io.print(sentence(claim, at))
    })
  claims
    .command('revoke')
    .argument('<registration_id>', 'clm_ and 22 characters', idOf)
    .description('end a claim, its assertions and its tokens before returning, and erase its address')
    .option('--json', 'for programs')
    .action(async (id: string, options: { json?: boolean }) => {
      const ended = await stores((opened) => opened.claims.end(id, 'operator', now()))
      if (!ended) throw refuse(`There is no claim ${id}, or it has ended.`)
      io.print(
        options.json
          ? JSON.stringify({ registration_id: id, status: 'ended' })
          : `${id} has ended; its address is erased.`,
      )
    })
}

function idOf(text: string): string {
  const id = RegistrationId.safeParse(text)
  if (!id.success) throw new InvalidArgumentError('A registration_id is clm_ and 22 characters.')
  return id.data
}

const statusOf = (claim: Claim, now: Date) =>
  isLive(claim, now) ? 'live' : `ended by ${claim.ended?.by ?? 'expired'}`

const view = (claim: Claim, now: Date) => ({
  registration_id: claim.id,
  client_id: claim.agentId,
  status: isLive(claim, now) ? 'live' : 'ended',
  ...(!isLive(claim, now) && { ended_by: claim.ended?.by ?? 'expired' }),
  verified_at: claim.verifiedAt.toISOString(),
  expires_at: claim.expiresAt.toISOString(),
  ...(claim.ended && { ended_at: claim.ended.at.toISOString() }),
})

const sentence = (claim: Claim, now: Date) =>
  `${claim.id}  ${claim.agentId}  ${claim.verifiedAt.toISOString()}  ${statusOf(claim, now)}`
