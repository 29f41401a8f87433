import {
  type Agent,
  type AgentDescription,
  authenticationMethod,
  RULES,
  Scope,
  type StandingClaim,
} from '@plainpath/domain'
import { GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import type { AgentRecord } from './agent-repository.ts'
import type { AgentSecret } from './agent-secret.ts'
import { provenFacts } from './proven-facts.ts'

/** When the agent expires unless it gets a token before. A day later than necessary, since use is recorded once a day. */
export const idleExpiry = ({ registeredAt, lastUsedAt }: Pick<Agent, 'registeredAt' | 'lastUsedAt'>): Date =>
  lastUsedAt
    ? new Date(lastUsedAt.getTime() + RULES.useRecordedMs + RULES.idleMs)
    : new Date(registeredAt.getTime() + RULES.neverUsedMs)

/** Describes an agent to itself, with the member names of RFC 7591 where there are any. */
export const describeAgent = (agent: Agent, urls: ServiceUrls) => ({
  client_id: agent.id,
  ...(agent.name && { client_name: agent.name }),
  identity_type: 'anonymous' as const,
  ...provenFacts(agent.id, false),
  grant_types: [...GRANT_TYPES],
  scopes: [...agent.scopes],
  scope: agent.scopes.join(' '),
  client_id_issued_at: Math.floor(agent.registeredAt.getTime() / 1000),
  token_endpoint: urls.token,
  resource: urls.base,
  ...(agent.dpopBound && { dpop_bound_access_tokens: true as const }),
  idle_expiry: idleExpiry(agent).toISOString(),
  claim_url: urls.claim,
  post_claim_scopes: [...Scope.options],
})

export const SECRET_MEMBERS = {
  client_secret_expires_at: 0 as const,
  token_endpoint_auth_method: 'client_secret_basic' as const,
}

export function keyMembers({ keys }: Agent) {
  const [algorithm, another] = new Set(keys.map(({ alg }) => alg))
  return {
    token_endpoint_auth_method: 'private_key_jwt' as const,
    ...(algorithm && !another && { token_endpoint_auth_signing_alg: algorithm }),
    jwks: { keys: [...keys] },
  }
}

/** Describes secrets to their owner: ids and times only. */
export const describeSecrets = (secrets: readonly AgentSecret[]) =>
  secrets.map(({ id, createdAt, endsAt }) => ({
    secret_id: id,
    created_at: createdAt.toISOString(),
    ...(endsAt && { ends_at: endsAt.toISOString() }),
  }))

/** Builds the response of `GET /api/agent` without its limits. @param secrets those that are accepted */
export const describeWithMethod = (
  { agent, secrets }: AgentRecord,
  urls: ServiceUrls,
  claim?: StandingClaim,
): Omit<z.input<typeof AgentDescription>, 'limits'> => ({
  ...describeAgent(agent, urls),
  ...(claim && {
    identity_type: 'verified_email',
    email_verified: true,
    registration_id: claim.id,
    claim_expires_at: claim.expiresAt.toISOString(),
  }),
  ...(agent.contactBoundSince !== undefined && { dpop_required_scopes: ['contact:write' as const] }),
  ...(authenticationMethod(agent) === 'private_key_jwt'
    ? keyMembers(agent)
    : { ...SECRET_MEMBERS, secrets: describeSecrets(secrets) }),
})
