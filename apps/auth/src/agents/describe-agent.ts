import {
  type Agent,
  type AgentDescription,
  getAuthenticationMethod,
  type LiveVerification,
  RULES,
  Scope,
} from '@plainpath/domain'
import { AGENT_GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import type { AgentSecret } from './agent-secret.ts'
import type { AgentRecord } from './agent-store.ts'
import { describeProvenFacts } from './proven-facts.ts'

/**
 * Computes when an agent expires if it gets no further token. The recorded last use may lag behind the real one by up to a
 * day, so a used agent is given an extra day. In a flood of registrations, an agent that was never used may expire sooner
 * (`RULES.floodMs`).
 *
 * For a connection, the result ignores two rules of `expireAgents`: a connection without a verification expires sooner
 * (`RULES.unfinishedSignInMs`), and one with a verification never expires for having never been used.
 */
export const computeIdleExpiry = ({
  registeredAt,
  lastUsedAt,
}: Pick<Agent, 'registeredAt' | 'lastUsedAt'>): Date =>
  lastUsedAt
    ? new Date(lastUsedAt.getTime() + RULES.useRecordedMs + RULES.idleMs)
    : new Date(registeredAt.getTime() + RULES.neverUsedMs)

/**
 * Describes an agent to itself, as an agent without an e-mail verification; `describeAgentWithCredentials` adds the
 * verification. Members that RFC 7591 defines have the names from that RFC.
 */
export const describeAgent = (agent: Agent, urls: ServiceUrls) => ({
  client_id: agent.id,
  ...(agent.name && { client_name: agent.name }),
  identity_type: 'anonymous' as const,
  ...describeProvenFacts(agent.id, false),
  grant_types: [...AGENT_GRANT_TYPES],
  scopes: [...agent.scopes],
  scope: agent.scopes.join(' '),
  client_id_issued_at: Math.floor(agent.registeredAt.getTime() / 1000),
  token_endpoint: urls.token,
  resource: urls.base,
  ...(agent.dpopBound && { dpop_bound_access_tokens: true as const }),
  idle_expiry: computeIdleExpiry(agent).toISOString(),
  claim_url: urls.claim,
  post_claim_scopes: [...Scope.options],
})

/**
 * The members that say how a client with a secret authenticates. An expiry of 0 means that the secret does not expire
 * (RFC 7591 §3.2.1).
 */
export const SECRET_MEMBERS = {
  client_secret_expires_at: 0 as const,
  token_endpoint_auth_method: 'client_secret_basic' as const,
}

/** Builds the members that say how a client with keys authenticates. */
export function describeKeys({ keys }: Agent) {
  // `token_endpoint_auth_signing_alg` can name only one algorithm (OpenID Connect Registration §2), so it is omitted if
  // the keys use several.
  const [algorithm, anotherAlgorithm] = new Set(keys.map(({ alg }) => alg))
  return {
    token_endpoint_auth_method: 'private_key_jwt' as const,
    ...(algorithm && !anotherAlgorithm && { token_endpoint_auth_signing_alg: algorithm }),
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

/**
 * Builds the response to `GET /api/agent` without its limits.
 *
 * @param record its `secrets` must be only those that are accepted now
 */
export const describeAgentWithCredentials = (
  { agent, secrets }: AgentRecord,
  urls: ServiceUrls,
  verification?: LiveVerification,
): Omit<z.input<typeof AgentDescription>, 'limits'> => ({
  ...describeAgent(agent, urls),
  ...(verification && {
    identity_type: 'verified_email',
    email_verified: true,
    registration_id: verification.id,
    claim_expires_at: verification.expiresAt.toISOString(),
  }),
  ...(agent.contactBoundSince !== undefined && { dpop_required_scopes: ['contact:write' as const] }),
  ...(getAuthenticationMethod(agent) === 'private_key_jwt'
    ? describeKeys(agent)
    : { ...SECRET_MEMBERS, secrets: describeSecrets(secrets) }),
})
