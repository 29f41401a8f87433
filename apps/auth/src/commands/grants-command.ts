import { argument, DRY_RUN, flag, InvalidArgumentError, option, Refusal } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import type { Stores } from '../stores.ts'
import { isVerificationLive } from '../verifications/verification.ts'
import type { AppGrant } from '../verifications/verification-store.ts'
import { formatStatus, registrationId } from './claims-command.ts'
import { defineCommand, limit } from './define-command.ts'

function parseHost(text: string): string {
  if (!/^[a-z0-9.:-]{1,253}$/.test(text))
    throw new InvalidArgumentError(
      'It must be a host such as claude.ai, the word loopback, or a scheme with its colon, such as cursor:',
    )
  return text
}
const HOST_DESCRIPTION = 'where the app is: a host such as claude.ai, loopback, or a scheme such as cursor:'

/** The `grants` commands, for the access that people have given to apps. They never print an e-mail address. */
export const grantsCommands = [
  defineCommand({
    name: 'grants list',
    summary: 'list the newest grants that people gave to apps, without addresses',
    parameters: {
      live: flag('--live', 'leave out those that have expired or were revoked'),
      host: option('--host <host>', HOST_DESCRIPTION, { parse: parseHost }),
      limit,
    },
    opens: 'database',
    async run({ stores, args, now }) {
      const currentTime = now()
      const grants = await stores.verifications.listGrants(args.limit, {
        ...(args.live && { liveAt: currentTime }),
        ...(args.host !== undefined && { appHost: args.host }),
      })
      return {
        json: grants.map((grant) => toGrantJson(grant, currentTime)),
        text:
          grants.map((grant) => formatGrant(grant, currentTime)).join('\n') || 'There are no such grants.',
      }
    },
  }),
  defineCommand({
    name: 'grants revoke',
    summary: "revoke a grant with its tokens, and erase the person's address",
    parameters: { id: registrationId },
    opens: 'all stores',
    async run({ stores, args: { id }, now }) {
      const grant = await stores.verifications.findGrant(id)
      if (!grant || !(await stores.verifications.revoke(id, 'operator', now())))
        throw new Refusal(`There is no live grant ${id}. Nothing was changed.`)
      return {
        json: { registration_id: id, status: 'ended' },
        text: `Revoked the grant ${id}, and erased the person's address.`,
      }
    },
  }),
  defineCommand({
    name: 'grants revoke-host',
    summary: 'revoke all grants to the apps at a host, with their tokens',
    parameters: { host: argument('<host>', HOST_DESCRIPTION, parseHost), dryRun: DRY_RUN },
    opens: 'all stores',
    async run({ stores, args: { host, dryRun }, now }) {
      if (dryRun) {
        const liveCount = await stores.verifications.countGrants(host, now())
        const json = { ok: true, done: false, host, revoked: liveCount }
        return { json, text: `Would revoke ${formatCount(liveCount, 'grant')} to apps at ${host}.` }
      }
      const revokedCount = await revokeGrantsAtHost(stores, host, now)
      return {
        json: { ok: true, done: true, host, revoked: revokedCount },
        text: `Revoked ${formatCount(revokedCount, 'grant')} to apps at ${host}, and erased the addresses.`,
      }
    },
  }),
]

const BATCH_SIZE = 100

/**
 * Revokes all grants to the apps at a host. When it returns, no API accepts their tokens.
 *
 * An earlier call may have revoked grants and then failed to publish that. They are no longer listed as live, so this drops every
 * cached introspection at the APIs, which revokes nothing.
 *
 * @returns the number of grants that this call revoked
 */
export async function revokeGrantsAtHost(
  {
    verifications,
    revocationPublisher,
  }: {
    readonly verifications: Pick<Stores['verifications'], 'listGrants' | 'revoke'>
    readonly revocationPublisher: Pick<Stores['revocationPublisher'], 'publish'>
  },
  host: string,
  now: () => Date,
): Promise<number> {
  let revokedCount = 0
  // The loop ends, because a revoked grant is not listed again, whichever process revoked it.
  for (;;) {
    const grants = await verifications.listGrants(BATCH_SIZE, { liveAt: now(), appHost: host })
    if (grants.length === 0) break
    for (const { verification } of grants)
      if (await verifications.revoke(verification.id, 'operator', now())) revokedCount += 1
  }
  await revocationPublisher.publish({ kind: 'everything' })
  return revokedCount
}

const toGrantJson = ({ verification, appHost, appClientId }: AppGrant, now: Date) => ({
  registration_id: verification.id,
  client_id: verification.agentId,
  app_host: appHost,
  app_client_id: appClientId,
  status: isVerificationLive(verification, now) ? 'live' : 'ended',
  ...(!isVerificationLive(verification, now) && { ended_by: verification.endedBy ?? 'expired' }),
  verified_at: verification.verifiedAt.toISOString(),
  expires_at: verification.expiresAt.toISOString(),
  ...(verification.endedAt && { ended_at: verification.endedAt.toISOString() }),
})

const formatGrant = ({ verification, appHost, appClientId }: AppGrant, now: Date) =>
  [
    verification.id,
    verification.agentId,
    verification.verifiedAt.toISOString(),
    formatStatus(verification, now),
    appHost,
    appClientId,
  ].join('  ')
