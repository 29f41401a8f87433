import {
  AddedSecret,
  AgentDescription,
  ANONYMOUS_SCOPES,
  durationIn,
  numberInWords,
  RegisterAgentRequest,
  RegisteredAgent,
  RegisteredKeyAgent,
  ReplaceAgentKeysRequest,
  ReplacedAgentKeys,
  RULES,
  Scope,
} from '@plainpath/domain'
import { z } from 'zod'
import { AGENT_GRANT_TYPES } from '../oauth-metadata.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { defineOperation, formatExampleTime } from './operation.ts'

const createRegistrationExample = (urls: ServiceUrls) => ({
  client_id: 'agt_3q2-7wEhtsm0aKX9dPz1Vg',
  client_name: 'Example Agent',
  identity_type: 'anonymous',
  email_verified: false,
  grant_types: AGENT_GRANT_TYPES,
  scopes: ANONYMOUS_SCOPES,
  scope: ANONYMOUS_SCOPES.join(' '),
  client_id_issued_at: Date.parse(formatExampleTime(0)) / 1000,
  token_endpoint: urls.token,
  claim_url: urls.claim,
  post_claim_scopes: Scope.options,
  resource: urls.base,
  idle_expiry: formatExampleTime(RULES.neverUsedMs),
})

/** RFC 7591 §3.2.1: 0 stands for a secret that does not expire. */
const SECRET_MEMBERS = { client_secret_expires_at: 0, token_endpoint_auth_method: 'client_secret_basic' }

/** The time between the registration in the examples and the creation of its second secret. */
const SECOND_SECRET_MS = 3_600_000
const SECRETS = [
  {
    secret_id: '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10',
    created_at: formatExampleTime(0),
    ends_at: formatExampleTime(SECOND_SECRET_MS + RULES.oldSecretMs),
  },
  { secret_id: '0b8f6f0a-3f51-4c1e-8d0c-7f6f9a1f2b3c', created_at: formatExampleTime(SECOND_SECRET_MS) },
]

/** The public key of RFC 7515, appendix A.3, which also publishes the private key. It is only for examples. */
const PUBLIC_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
}

const KEY_MEMBERS = {
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_signing_alg: 'ES256',
  jwks: { keys: [{ ...PUBLIC_KEY, kid: '2026-11', alg: 'ES256', use: 'sig' }] },
}

/** The limit of the token endpoint for each client, as `apps/auth/src/limits.ts` declares it. */
const LIMITS = [{ policy: 'token-client', quota: 120, window_seconds: 60 }]

export const registerAgent = defineOperation({
  method: 'post',
  path: '/api/agent/register',
  operationId: 'registerAgent',
  tag: 'Agents',
  summary: 'Register an AI agent client for client_credentials access',
  description:
    'No credential is needed. Register once for each person that you act for, and store the response. If it is lost, ' +
    'register again. The service chooses id, secret, scopes and grants.',
  access: 'open',
  request: { body: RegisterAgentRequest },
  bodyOptional: true,
  bodyExamples: {
    named: () => ({ client_name: 'Example Agent' }),
    nameless: () => ({}),
    keyed: () => ({ client_name: 'Example Agent', jwks: { keys: [{ ...PUBLIC_KEY, kid: '2026-11' }] } }),
  },
  responses: { 201: z.union([RegisteredAgent, RegisteredKeyAgent]) },
  responseDocs: {
    201: {
      description: 'The agent is registered.',
      example: (urls) => ({
        ...createRegistrationExample(urls),
        ...SECRET_MEMBERS,
        client_secret: 'pps_nYw0x2C8mFh5Rk7Tq1Vb4Zd6Gj9Lp3Ss8Uu0Ww2Yy4A',
      }),
    },
  },
})

export const getAgent = defineOperation({
  method: 'get',
  path: '/api/agent',
  operationId: 'getAgent',
  tag: 'Agents',
  summary: 'Get the registration of the client: identity, scopes and limits',
  description: 'The response never includes a secret.',
  access: 'client',
  responses: { 200: AgentDescription },
  responseDocs: {
    200: {
      description: 'The registration.',
      example: (urls) => ({
        ...createRegistrationExample(urls),
        ...SECRET_MEMBERS,
        secrets: SECRETS,
        limits: LIMITS,
      }),
    },
  },
})

export const deleteAgent = defineOperation({
  method: 'delete',
  path: '/api/agent',
  operationId: 'deleteAgent',
  tag: 'Agents',
  summary: 'Delete the client, revoke all its tokens, and erase its name',
  description: 'No request that begins after the response succeeds with a token of this client.',
  access: 'client',
  responses: { 204: null },
  responseDocs: { 204: { description: 'The client is deleted, and its tokens are revoked.' } },
})

export const replaceAgentKeys = defineOperation({
  method: 'put',
  path: '/api/agent/jwks',
  operationId: 'replaceAgentKeys',
  tag: 'Agents',
  summary: 'Replace the public keys of the client; its secret is revoked',
  description:
    `The body is the whole new set: one to ${numberInWords(RULES.agentKeys)} public keys. From the response on, other keys ` +
    'are refused, and the client authenticates only with `private_key_jwt`. If the set lacks an earlier key, or replaces a ' +
    'secret, all tokens of the client are revoked; a set that only adds keys revokes none. For up to ' +
    `${RULES.agentCachedMs / 1000} seconds the token endpoint can accept the old secret (its tokens are revoked already), ` +
    'or not yet know a new key. If the response is lost, authenticate with the new key and send the set again.\n\n' +
    'A client that cannot sign with its new key locks itself out for good. `proof` rules that out: for each new key a JWT ' +
    'signed with it, used once. Header: `typ` `jwks-proof+jwt`, `alg`, `kid`. Claims: `iss` (the `client_id`), `aud` (the ' +
    `URL of this endpoint), \`iat\`, \`exp\` (at most ${RULES.keyProofMs / 1000} seconds later), \`jti\`, \`jkts\` (the RFC 7638 ` +
    'thumbprints of all keys of the set). A mistake in a proof is 400 `invalid-key-proof`, and nothing changes.',
  access: 'client',
  request: { body: ReplaceAgentKeysRequest },
  bodyExamples: { key: () => ({ keys: [{ ...PUBLIC_KEY, kid: '2026-11' }] }) },
  responses: { 200: ReplacedAgentKeys },
  responseDocs: {
    200: {
      description: 'The client, with its new keys.',
      example: (urls) => ({ ...createRegistrationExample(urls), ...KEY_MEMBERS, limits: LIMITS }),
    },
  },
})

export const deleteDpopRequiredScopes = defineOperation({
  method: 'delete',
  path: '/api/agent/dpop-required-scopes',
  operationId: 'deleteDpopRequiredScopes',
  tag: 'Agents',
  summary: 'Allow bearer tokens for contact:write again',
  description:
    'Once a client got a token for `contact:write` that is bound to a key (RFC 9449), it gets that scope only with a DPoP ' +
    'proof: `GET /api/agent` lists the scope in `dpop_required_scopes`. This ends that until the next such token. For up to ' +
    `${RULES.agentCachedMs / 1000} seconds the token endpoint can still require the proof. No token is revoked.`,
  access: 'client',
  responses: { 204: null },
  responseDocs: {
    204: {
      description: 'No scope requires a proof, unless the client registered `dpop_bound_access_tokens`.',
    },
  },
})

export const createAgentSecret = defineOperation({
  method: 'post',
  path: '/api/agent/secrets',
  operationId: 'createAgentSecret',
  tag: 'Agents',
  summary: `Create a second secret; the first expires ${durationIn('day', RULES.oldSecretMs)} later`,
  description:
    'No body is read. Both secrets work until the old one expires or is revoked. A client has at most two: 409 ' +
    '`too-many-secrets`. If the response is lost, find the new secret with `GET /api/agent`, revoke it, and create another. ' +
    'An agent with keys has no secrets: 409 `client-has-keys`.',
  access: 'client',
  responses: { 201: AddedSecret },
  responseDocs: {
    201: {
      description: 'The new secret, and when the old one expires.',
      example: (urls) => ({
        client_id: createRegistrationExample(urls).client_id,
        secret_id: SECRETS[1]?.secret_id,
        client_secret: 'pps_4vQm2Xz8Kf0Ld6Hs1Bn5Gt9Wc3Rj7Ye0Ua4Io8Pq2Sk',
        client_secret_expires_at: 0,
        created_at: SECRETS[1]?.created_at,
        secrets: SECRETS,
      }),
    },
  },
})

export const deleteAgentSecret = defineOperation({
  method: 'delete',
  path: '/api/agent/secrets/{id}',
  operationId: 'deleteAgentSecret',
  tag: 'Agents',
  summary: 'Revoke a secret of the client, and all tokens of the client',
  description:
    'Tokens do not record which secret obtained them, so all tokens of the client are revoked: get a new one with the other ' +
    'secret, which then no longer expires. The last secret cannot be revoked: 409 `last-secret`.',
  access: 'client',
  request: { params: z.object({ id: z.uuid() }) },
  responses: { 204: null },
  responseDocs: { 204: { description: 'The secret is revoked.' } },
})
