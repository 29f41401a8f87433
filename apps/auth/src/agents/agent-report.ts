import { type Agent, authenticationMethod, durationIn, RULES } from '@plainpath/domain'
import { type AgentCounts, COUNTS_AS_IDLE_MS } from './agent-counts.ts'
import type { ExpiredAgent } from './agent-expiry.ts'
import { idleExpiry } from './describe-agent.ts'

/** Formats an agent as JSON. Only an active agent has an expiry. */
export const agentJson = (agent: Agent) => ({
  client_id: agent.id,
  ...(agent.name !== undefined && { client_name: agent.name }),
  status: agent.status,
  scopes: agent.scopes,
  registered_at: agent.registeredAt.toISOString(),
  last_used_at: agent.lastUsedAt?.toISOString() ?? null,
  ...(agent.status === 'active' && { idle_expiry: idleExpiry(agent).toISOString() }),
  ...(agent.status !== 'deleted' && { token_endpoint_auth_method: authenticationMethod(agent) }),
})

/** Formats an agent on one line. Its name is untrusted text, so it is quoted. */
export const agentText = (agent: Agent): string =>
  [
    agent.id,
    agent.status.padEnd(8),
    agent.registeredAt.toISOString(),
    describeMethod(agent).padEnd('client_secret_basic'.length),
    agent.lastUsedAt ? `used ${agent.lastUsedAt.toISOString().slice(0, 10)}` : 'never used'.padEnd(15),
    agent.name === undefined ? '' : JSON.stringify(agent.name),
  ]
    .join('  ')
    .trimEnd()

/** Empty for a deleted agent, which has no credentials left. */
const describeMethod = (agent: Agent) => (agent.status === 'deleted' ? '' : authenticationMethod(agent))

export const expiredJson = ({ id, cause, expiredAt }: ExpiredAgent) => ({
  client_id: id,
  status: 'expired',
  cause,
  expired_at: expiredAt.toISOString(),
})

const CAUSES: Record<ExpiredAgent['cause'], string> = {
  'never-used': 'it never got a token',
  idle: `it got no token for ${durationIn('day', RULES.idleMs)}`,
  flood: 'it never got a token, and too many others did not either',
}

export const expiredText = ({ id, cause, expiredAt }: ExpiredAgent): string =>
  `${id}  expired   ${expiredAt.toISOString()}  ${CAUSES[cause]}`

export const countsJson = ({ neverUsed, withKeys, ...counts }: AgentCounts) => ({
  ...counts,
  never_used: neverUsed,
  with_keys: withKeys,
})

export const countsText = (counts: AgentCounts): string =>
  [
    `active     ${counts.active}`,
    `  never used                  ${counts.neverUsed}`,
    `${`  no token for ${durationIn('day', COUNTS_AS_IDLE_MS)}`.padEnd(30)}${counts.idle}`,
    `disabled   ${counts.disabled}`,
    `deleted    ${counts.deleted}`,
    `expired    ${counts.expired}  (in the last ${durationIn('day', RULES.tombstoneMs)})`,
    `with keys  ${counts.withKeys}`,
    `confirmed  ${counts.confirmed}`,
  ].join('\n')
