import { argument, DRY_RUN, flag, InvalidArgumentError, option, Refusal } from '@plainpath/commands'
import { isLive } from '../claims/claim.ts'
import type { AppGrant } from '../claims/postgres-claims.ts'
import { registrationId } from './claims-command.ts'
import { defineCommand, limit } from './define-command.ts'

function parseHost(text: string): string {
  if (!/^[a-z0-9.:-]{1,253}$/.test(text))
    throw new InvalidArgumentError('A host such as claude.ai, loopback, or a scheme such as cursor:')
  return text
}
const HOST = 'where the app is: a host, loopback, or a scheme such as cursor:'

/** The `grants` commands: what people have given apps that they signed in with. They never show an address. */
export const grantsCommands = [
  defineCommand({
    name: 'grants list',
    summary: 'list the newest grants of people to apps, without addresses',
    parameters: {
      live: flag('--live', 'only those that have not ended'),
      host: option('--host <host>', HOST, { parse: parseHost }),
      limit,
    },
    opens: 'database',
    async run({ stores, args, now }) {
      const at = now()
      const grants = await stores.claims.listGrants(args.limit, {
        ...(args.live && { liveAt: at }),
        ...(args.host !== undefined && { appHost: args.host }),
      })
      return {
        json: grants.map((grant) => grantJson(grant, at)),
        text: grants.map((grant) => grantText(grant, at)).join('\n') || 'There is no grant.',
      }
    },
  }),
  defineCommand({
    name: 'grants revoke',
    summary: 'revoke a grant and its tokens before returning, and erase its address',
    parameters: { id: registrationId },
    opens: 'stores',
    async run({ stores, args: { id }, now }) {
      const grant = await stores.claims.findGrant(id)
      if (!grant || !(await stores.claims.end(id, 'operator', now())))
        throw new Refusal(`There is no grant ${id}, or it has ended.`)
      return {
        json: { registration_id: id, status: 'ended' },
        text: `${id} has ended; its address is erased.`,
      }
    },
  }),
  defineCommand({
    name: 'grants revoke-host',
    summary: 'revoke every grant to the apps at a host, with their tokens, before returning',
    parameters: { host: argument('<host>', HOST, parseHost), dryRun: DRY_RUN },
    opens: 'stores',
    async run({ stores, args: { host, dryRun }, now }) {
      const { claims } = stores
      if (dryRun) {
        const live = await claims.countGrants(host, now())
        const json = { ok: true, done: false, host, revoked: live }
        return { json, text: `Would revoke ${live} grants to apps at ${host}.` }
      }
      let revoked = 0
      // A grant that somebody else ends meanwhile is not listed again.
      for (;;) {
        const grants = await claims.listGrants(REVOKED_AT_ONCE, { liveAt: now(), appHost: host })
        if (grants.length === 0) break
        for (const { claim } of grants) if (await claims.end(claim.id, 'operator', now())) revoked += 1
      }
      return {
        json: { ok: true, done: true, host, revoked },
        text: `${revoked} grants to apps at ${host} have ended; their addresses are erased.`,
      }
    },
  }),
]

const REVOKED_AT_ONCE = 100

const grantJson = ({ claim, appHost, appClientId }: AppGrant, now: Date) => ({
  registration_id: claim.id,
  client_id: claim.agentId,
  app_host: appHost,
  app_client_id: appClientId,
  status: isLive(claim, now) ? 'live' : 'ended',
  ...(!isLive(claim, now) && { ended_by: claim.endedBy ?? 'expired' }),
  verified_at: claim.verifiedAt.toISOString(),
  expires_at: claim.expiresAt.toISOString(),
  ...(claim.endedAt && { ended_at: claim.endedAt.toISOString() }),
})

const grantText = ({ claim, appHost, appClientId }: AppGrant, now: Date) =>
  [
    claim.id,
    claim.agentId,
    claim.verifiedAt.toISOString(),
    isLive(claim, now) ? 'live' : `ended by ${claim.endedBy ?? 'expired'}`,
    appHost,
    appClientId,
  ].join('  ')
