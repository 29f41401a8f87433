import {
  type Agent,
  type AgentId,
  durationIn,
  getAuthenticationMethod,
  getVerifiedDomain,
  RULES,
} from '@plainpath/domain'
import { DOMAIN_CHECKED } from '@plainpath/pages'
import { computeKeyThumbprints } from '../clients/key-thumbprint.ts'
import { type AgentCounts, IDLE_AFTER_MS } from './agent-counts.ts'
import type { ExpiredAgent } from './agent-expiry.ts'
import { computeIdleExpiry } from './describe-agent.ts'
import { describeProvenFacts } from './proven-facts.ts'

/** Builds the JSON representation of an agent. Only an active agent has the member `idle_expiry`. */
export const toAgentJson = async (agent: Agent, isEmailVerified: boolean) => ({
  client_id: agent.id,
  ...describeProvenFacts(agent.id, isEmailVerified),
  ...(agent.name !== undefined && { client_name: agent.name }),
  status: agent.status,
  scopes: agent.scopes,
  registered_at: agent.registeredAt.toISOString(),
  last_used_at: agent.lastUsedAt?.toISOString() ?? null,
  ...(agent.status === 'active' && { idle_expiry: computeIdleExpiry(agent).toISOString() }),
  ...(agent.status !== 'deleted' && { token_endpoint_auth_method: getAuthMethodName(agent) }),
  ...(agent.keys.length > 0 && { key_thumbprints: await computeKeyThumbprints(agent.keys) }),
  ...(agent.documentExpiresAt && {
    document_fetched_at: agent.documentFetchedAt?.toISOString(),
    document_expires_at: agent.documentExpiresAt.toISOString(),
  }),
})

/** Formats an agent on one line. Its name is quoted, because it is untrusted text. */
export const formatAgent = async (agent: Agent, isEmailVerified: boolean): Promise<string> =>
  [
    agent.id,
    agent.status.padEnd(8),
    agent.registeredAt.toISOString(),
    getAuthMethodName(agent).padEnd('client_secret_basic'.length),
    // `never used` is padded to the width of `used` and a date.
    agent.lastUsedAt ? `used ${agent.lastUsedAt.toISOString().slice(0, 10)}` : 'never used'.padEnd(15),
    ...formatProvenFacts(agent.id, isEmailVerified),
    agent.name === undefined ? '' : JSON.stringify(agent.name),
    agent.documentExpiresAt ? `document expires ${agent.documentExpiresAt.toISOString()}` : '',
    ...(await computeKeyThumbprints(agent.keys)).map((thumbprint) => `key ${thumbprint}`),
  ]
    .filter(Boolean)
    .join('  ')
    .trimEnd()

function formatProvenFacts(id: AgentId, isEmailVerified: boolean): readonly string[] {
  const domain = getVerifiedDomain(id)
  return [
    ...(domain === undefined ? [] : [`${domain} ${DOMAIN_CHECKED}`]),
    ...(isEmailVerified ? ['e-mail verified'] : []),
  ]
}

/**
 * Returns the client-authentication method. Connections and deleted agents have no credentials: returns `none` for a
 * connection, and an empty string for a deleted agent.
 */
function getAuthMethodName(agent: Agent): string {
  if (agent.status === 'deleted') return ''
  return agent.appClientId === undefined ? getAuthenticationMethod(agent) : 'none'
}

/** Builds the JSON representation of an expired agent from its tombstone. */
export const toExpiredAgentJson = ({ id, cause, expiredAt }: ExpiredAgent) => ({
  client_id: id,
  ...describeProvenFacts(id, false),
  status: 'expired',
  cause,
  expired_at: expiredAt.toISOString(),
})

// An agent counts as idle after `IDLE_AFTER_MS`, but expires with the cause `idle` only after `RULES.idleMs`.
const CAUSE_TEXTS: Record<ExpiredAgent['cause'], string> = {
  'never-used': 'it never got a token',
  idle: `it got no token for ${durationIn('day', RULES.idleMs)}`,
  flood: 'it never got a token, and there were too many such agents',
}

/** Formats an expired agent on one line, with the cause of the expiry. */
export const formatExpiredAgent = ({ id, cause, expiredAt }: ExpiredAgent): string =>
  `${id}  expired   ${expiredAt.toISOString()}  ${CAUSE_TEXTS[cause]}`

/** Builds the JSON representation of agent counts. */
export const toCountsJson = ({
  neverUsed,
  withKeys,
  withDomain,
  liveVerifications,
  ...counts
}: AgentCounts) => ({
  ...counts,
  confirmed: liveVerifications,
  with_domain: withDomain,
  never_used: neverUsed,
  with_keys: withKeys,
})

/** Formats agent counts as text, one line for each kind. */
export const formatCounts = (counts: AgentCounts): string =>
  [
    `active     ${counts.active}`,
    `  never used                  ${counts.neverUsed}`,
    `${`  no token for ${durationIn('day', IDLE_AFTER_MS)}`.padEnd(30)}${counts.idle}`,
    `disabled   ${counts.disabled}`,
    `deleted    ${counts.deleted}`,
    `expired    ${counts.expired}  (in the last ${durationIn('day', RULES.tombstoneMs)})`,
    `with keys  ${counts.withKeys}`,
    `with a verified domain  ${counts.withDomain}`,
    `e-mail verifications  ${counts.liveVerifications}  (neither revoked nor expired)`,
  ].join('\n')
