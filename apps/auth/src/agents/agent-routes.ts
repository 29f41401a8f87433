import {
  AgentId,
  type AgentKey,
  ASSERTION_ALGORITHMS,
  durationIn,
  RULES,
  type SentJwks,
  toAgentKey,
} from '@plainpath/domain'
import { type AuthenticatedClient, defineRoute, listClientLimits, Problem, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import type { HashKey } from '@plainpath/sealing'
import type { z } from 'zod'
import { type AuthenticatedAgent, toAuthenticatedAgent } from '../clients/credential-version.ts'
import { createInvalidClientProblem } from '../clients/invalid-client.ts'
import { computeKeyThumbprint } from '../clients/key-thumbprint.ts'
import { CLIENT_LIMITS, LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import { isSecretAccepted } from './agent-secret.ts'
import type { AgentRecord } from './agent-store.ts'
import { unbindContact } from './contact-binding.ts'
import { deactivateAgent } from './deactivate-agent.ts'
import {
  describeAgent,
  describeAgentWithCredentials,
  describeKeys,
  describeSecrets,
  SECRET_MEMBERS,
} from './describe-agent.ts'
import { identifyClient } from './proven-facts.ts'
import { isUrlClient } from './refresh-document.ts'
import { registerAgent } from './register-agent.ts'
import { type ReplaceKeysRefusal, replaceKeys } from './replace-keys.ts'
import { addSecret, removeSecret } from './rotate-secret.ts'

export interface AgentRouteDeps {
  stores: Pick<
    Stores,
    'agents' | 'agentCache' | 'contactBindings' | 'verifications' | 'revocationPublisher' | 'tokens'
  >
  hashKey: HashKey
  urls: ServiceUrls
  now: () => Date
  /** Scales the limits that a response lists for the client. */
  limitsFactor: number
}

/**
 * Creates the routes that agents use to manage themselves: `POST /api/agent/register`, `GET` and `DELETE /api/agent`,
 * `PUT /api/agent/jwks`, `DELETE /api/agent/dpop-required-scopes`, `POST /api/agent/secrets` and
 * `DELETE /api/agent/secrets/{id}`. If a client is disabled or deleted after its authentication, or one of its credentials is
 * removed, its change is refused with `invalid-client`, as if the authentication had failed.
 */
export const createAgentRoutes = (deps: AgentRouteDeps): Route[] => [
  defineRoute({
    ...operations.registerAgent,
    limits: { address: LIMITS.register },
    bodyProblem: 'invalid-client-metadata',
    async handle({ body }) {
      if (body.type && body.type !== 'anonymous') throw new Problem('unsupported-credential-type')
      const request = {
        ...(body.client_name && { name: body.client_name }),
        ...(body.jwks && { keys: await nameKeys(body.jwks, '#/jwks/keys') }),
        dpopBound: body.dpop_bound_access_tokens === true,
      }
      const { agents } = deps.stores
      const { agent, secret } = await registerAgent({ agents, hashKey: deps.hashKey }, request, deps.now())
      const description = describeAgent(agent, deps.urls)
      if (secret === undefined) return { status: 201, body: { ...description, ...describeKeys(agent) } }
      return { status: 201, body: { ...description, ...SECRET_MEMBERS, client_secret: secret } }
    },
  }),
  defineRoute({
    ...operations.getAgent,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const record = await deps.stores.agents.find(AgentId.parse(caller.clientId))
      if (!record) throw createInvalidClientProblem()
      return { status: 200, body: await describeRecord(record, deps) }
    },
  }),
  defineRoute({
    ...operations.deleteAgent,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      if (!(await deactivateAgent(deps.stores, toAuthenticatedAgent(caller), 'deleted')))
        throw createInvalidClientProblem()
      return { status: 204 }
    },
  }),
  defineRoute({
    ...operations.replaceAgentKeys,
    limits: CLIENT_LIMITS,
    bodyProblem: 'invalid-client-metadata',
    async handle({ body, caller }) {
      const request = {
        agent: requireRegistered(caller),
        keys: await nameKeys(body, '#/keys'),
        proofs: [body.proof ?? []].flat(),
        endpoint: deps.urls.agentKeys,
      }
      const replaced = await replaceKeys(deps.stores, request, deps.now())
      if (!replaced.ok) throw createKeysProblem(replaced.error, Array.isArray(body.proof))
      const { agent, unproven } = replaced.value
      // The change of the keys has removed all secrets.
      const description = await describeRecord({ agent, secrets: [] }, deps)
      return {
        status: 200,
        body: { ...description, ...(unproven.length > 0 && { warning: composeUnprovenWarning(unproven) }) },
      }
    },
  }),
  defineRoute({
    ...operations.deleteDpopRequiredScopes,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      if (!(await unbindContact(deps.stores, toAuthenticatedAgent(caller))))
        throw createInvalidClientProblem()
      return { status: 204 }
    },
  }),
  defineRoute({
    ...operations.createAgentSecret,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const agent = requireRegistered(caller)
      const addition = await addSecret({ ...deps.stores, hashKey: deps.hashKey }, agent, deps.now())
      if (!addition.ok) {
        if (addition.error === 'inactive') throw createInvalidClientProblem()
        throw new Problem(addition.error === 'has-keys' ? 'client-has-keys' : 'too-many-secrets')
      }
      const { secret, stored, acceptedSecrets } = addition.value
      return {
        status: 201,
        body: {
          client_id: agent.id,
          secret_id: stored.id,
          client_secret: secret,
          client_secret_expires_at: 0,
          created_at: stored.createdAt.toISOString(),
          secrets: describeSecrets(acceptedSecrets),
        },
      }
    },
  }),
  defineRoute({
    ...operations.deleteAgentSecret,
    limits: CLIENT_LIMITS,
    async handle({ caller, params }) {
      const agent = requireRegistered(caller)
      const outcome = await removeSecret(deps.stores, { agent, secretId: params.id }, deps.now())
      if (outcome === 'inactive') throw createInvalidClientProblem()
      if (outcome === 'last') throw new Problem('last-secret')
      if (outcome === 'unknown')
        throw new Problem('not-found', {
          detail: 'This client has no secret with this id. GET /api/agent lists its secrets.',
        })
      return { status: 204 }
    },
  }),
]

/**
 * Returns the caller, if it is a registered agent.
 *
 * @throws {Problem} `client-has-document` for a URL client, whose credentials are in its document
 */
function requireRegistered(caller: AuthenticatedClient): AuthenticatedAgent {
  const agent = toAuthenticatedAgent(caller)
  if (isUrlClient(agent.id)) throw new Problem('client-has-document')
  return agent
}

type ProofFault = Exclude<ReplaceKeysRefusal['fault'], 'inactive' | `claim-${string}`>
/** Describes each fault of a proof. Each text continues a sentence that begins with the JSON pointer to the proof. */
const PROOF_FAULT_DETAILS: Readonly<Record<ProofFault, string>> = {
  'not-a-jwt': 'is not a signed JWT: three parts in base64url, the first two of them JSON objects',
  type: 'must have the header parameter typ jwks-proof+jwt',
  algorithm: `must have one of ${ASSERTION_ALGORITHMS.join(', ')} as the header parameter alg`,
  header: 'may have typ, alg and kid only in its header',
  key: 'does not name a key of this set that fits its algorithm: send the kid of the key that signed it',
  signature: 'was not signed with the key that it names',
  issuer: 'must have your client_id as the iss claim',
  audience: 'must have exactly the URL of this endpoint as the aud claim, as a string',
  expired: 'has expired (exp): make a new one',
  'lifetime-too-long': `may be valid for at most ${durationIn('minute', RULES.keyProofMs)}, from iat to exp`,
  'not-yet': 'is not valid yet: iat is in the future. Check your clock',
  'key-set':
    'is for another key set: jkts must list the thumbprint (RFC 7638) of each key of this set and no other',
  'proof-used': 'was used before (jti): make a new one',
  'proof-missing': 'must contain a proof for each new key of the set, or be left out',
}

const PROOF_CLAIM_FORMATS =
  'iss, aud and jti are strings, iat and exp are whole seconds, jkts is a list of thumbprints'

const isClaimFault = (fault: string): fault is `claim-${string}` => fault.startsWith('claim-')

/**
 * Creates the problem for a refused key set. For the fault `inactive`, the problem is `invalid-client`.
 *
 * @param isList true if the request has a list of proofs; the JSON pointer then includes an index
 */
function createKeysProblem({ fault, index }: ReplaceKeysRefusal, isList: boolean): Problem {
  if (fault === 'inactive') return createInvalidClientProblem()
  const pointer = isList && index !== undefined ? `#/proof/${index}` : '#/proof'
  const detail = isClaimFault(fault)
    ? `lacks the claim ${fault.slice('claim-'.length)}, or has it in the wrong form: ${PROOF_CLAIM_FORMATS}`
    : PROOF_FAULT_DETAILS[fault]
  return new Problem('invalid-key-proof', { detail: `${pointer}: ${detail}.`, errors: [{ pointer, detail }] })
}

const composeUnprovenWarning = (kids: readonly string[]) =>
  `The request has no proof that you can sign with the new ${kids.length === 1 ? 'key' : 'keys'} ${kids.join(', ')}. Try it now with GET /api/agent. ` +
  'If the response is 401 and you have no other key, you must register again. Next time, send proof.'

/**
 * Names each key by the `kid` that the client sent, or else by its thumbprint (RFC 7638).
 *
 * @throws {Problem} when two keys have the same `kid`
 */
async function nameKeys({ keys }: z.infer<typeof SentJwks>, pointer: string): Promise<readonly AgentKey[]> {
  const namedKeys = await Promise.all(
    keys.map(async (key) => toAgentKey(key, key.kid ?? (await computeKeyThumbprint(key)))),
  )
  if (new Set(namedKeys.map(({ kid }) => kid)).size === namedKeys.length) return namedKeys
  const detail = 'contains two keys with the same kid: give each key its own, or leave kid out'
  throw new Problem('invalid-client-metadata', {
    detail: `${pointer}: ${detail}.`,
    errors: [{ pointer, detail }],
  })
}

/** Builds the response about a client to itself, with its accepted secrets, verification and limits. */
async function describeRecord(
  { agent, secrets }: AgentRecord,
  { stores, urls, limitsFactor, now }: AgentRouteDeps,
) {
  const requestTime = now()
  const acceptedSecrets = secrets.filter((secret) => isSecretAccepted(secret, requestTime))
  const verification = await stores.verifications.findLive(agent.id, requestTime)
  const limits = listClientLimits(CLIENT_LIMITS, identifyClient(agent.id)).map(({ policy }) => ({
    policy: policy.name,
    quota: Math.max(1, Math.floor(policy.quota * limitsFactor)),
    window_seconds: policy.windowSeconds,
  }))
  return { ...describeAgentWithCredentials({ agent, secrets: acceptedSecrets }, urls, verification), limits }
}
