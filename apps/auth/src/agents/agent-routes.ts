import { type Agent, AgentId, type AgentKey, agentKey, type SentJwks } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import type { HashKey } from '@plainpath/sealing'
import { calculateJwkThumbprint } from 'jose'
import type { z } from 'zod'
import { invalidClient } from '../clients/authenticate-client.ts'
import { CLIENT_LIMITS, LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import type { AgentRecord } from './agent-repository.ts'
import { isAccepted } from './agent-secret.ts'
import {
  describeAgent,
  describeSecrets,
  describeWithMethod,
  keyMembers,
  SECRET_MEMBERS,
} from './describe-agent.ts'
import { endAgent } from './end-agent.ts'
import { registerAgent } from './register-agent.ts'
import { addSecret, endSecret } from './rotate-secret.ts'

export interface AgentRouteDeps {
  stores: Pick<Stores, 'agents' | 'cachedAgents' | 'claims' | 'revoker' | 'tokens'>
  hashKey: HashKey
  urls: ServiceUrls
  now: () => Date
  /** Scales what a client is told of its limits. */
  limitsFactor: number
}

/**
 * What agents do about themselves: `POST /api/agent/register`, `GET` and `DELETE /api/agent`, `PUT /api/agent/jwks`,
 * `POST /api/agent/secrets`, `DELETE /api/agent/secrets/{id}`. A client that ends after it was authenticated gets the
 * same answer as before that.
 */
export const agentRoutes = (deps: AgentRouteDeps): Route[] => [
  defineRoute({
    ...operations.registerAgent,
    limits: { address: LIMITS.register },
    bodyProblem: 'invalid-client-metadata',
    async handle({ body }) {
      if (body.type && body.type !== 'anonymous') throw new Problem('unsupported-credential-type')
      const request = {
        ...(body.client_name && { name: body.client_name }),
        ...(body.jwks && { keys: await namedKeys(body.jwks, '#/jwks/keys') }),
      }
      const { agents } = deps.stores
      const { agent, secret } = await registerAgent({ agents, hashKey: deps.hashKey }, request, deps.now())
      const described = describeAgent(agent, deps.urls)
      if (secret === undefined) return { status: 201, body: { ...described, ...keyMembers(agent) } }
      return { status: 201, body: { ...described, ...SECRET_MEMBERS, client_secret: secret } }
    },
  }),
  defineRoute({
    ...operations.getAgent,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const record = await deps.stores.agents.find(AgentId.parse(caller.clientId))
      if (!record) throw invalidClient()
      return { status: 200, body: await describe(record, deps) }
    },
  }),
  defineRoute({
    ...operations.deleteAgent,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      if (!(await endAgent(deps.stores, AgentId.parse(caller.clientId), 'deleted'))) throw invalidClient()
      return { status: 204 }
    },
  }),
  defineRoute({
    ...operations.replaceAgentKeys,
    limits: CLIENT_LIMITS,
    bodyProblem: 'invalid-client-metadata',
    async handle({ body, caller }) {
      const keys = await namedKeys(body, '#/keys')
      const agent = await replaceKeys(AgentId.parse(caller.clientId), keys, deps.stores)
      if (!agent) throw invalidClient()
      return { status: 200, body: await describe({ agent, secrets: [] }, deps) }
    },
  }),
  defineRoute({
    ...operations.createAgentSecret,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const id = AgentId.parse(caller.clientId)
      const result = await addSecret({ ...deps.stores, hashKey: deps.hashKey }, id, deps.now())
      if (!result.ok) {
        if (result.error === 'ended') throw invalidClient()
        throw new Problem(result.error === 'has-keys' ? 'client-has-keys' : 'too-many-secrets')
      }
      const { secret, added, secrets } = result.value
      return {
        status: 201,
        body: {
          client_id: id,
          secret_id: added.id,
          client_secret: secret,
          client_secret_expires_at: 0,
          created_at: added.createdAt.toISOString(),
          secrets: describeSecrets(secrets),
        },
      }
    },
  }),
  defineRoute({
    ...operations.deleteAgentSecret,
    limits: CLIENT_LIMITS,
    async handle({ caller, params }) {
      const id = AgentId.parse(caller.clientId)
      const outcome = await endSecret(deps.stores, { id, secretId: params.id }, deps.now())
      if (outcome === 'ended') throw invalidClient()
      if (outcome === 'last') throw new Problem('last-secret')
      if (outcome === 'unknown')
        throw new Problem('not-found', {
          detail: 'This client has no such secret. GET /api/agent lists those it has.',
        })
      return { status: 204 }
    },
  }),
]

/**
 * Gives an agent another set of keys and ends its secrets; its tokens live on. An old key is refused by every process
 * from the answer on, since spending an assertion reads the agent's row; an old secret once the process has heard.
 *
 * @returns undefined when the agent is not active any more
 */
async function replaceKeys(
  id: AgentId,
  keys: readonly AgentKey[],
  { agents, cachedAgents }: Pick<Stores, 'agents' | 'cachedAgents'>,
): Promise<Agent | undefined> {
  try {
    return await agents.replaceKeys(id, keys)
  } finally {
    cachedAgents.forget(id)
  }
}

/** Gives each key its name: the `kid` that was sent, or its thumbprint (RFC 7638). No two may have one name. */
async function namedKeys({ keys }: z.infer<typeof SentJwks>, pointer: string): Promise<readonly AgentKey[]> {
  const thumbprint = ({ kty, crv, x, y }: (typeof keys)[number]) =>
    calculateJwkThumbprint({ kty, crv, x, ...(y && { y }) })
  const named = await Promise.all(keys.map(async (key) => agentKey(key, key.kid ?? (await thumbprint(key)))))
  if (new Set(named.map(({ kid }) => kid)).size === named.length) return named
  const detail = 'holds two keys of one kid; give each its own, or leave kid out of keys that differ'
  throw new Problem('invalid-client-metadata', {
    detail: `${pointer}: ${detail}.`,
    errors: [{ pointer, detail }],
  })
}

async function describe(
  { agent, secrets }: AgentRecord,
  { stores, urls, limitsFactor, now }: AgentRouteDeps,
) {
  const at = now()
  const accepted = secrets.filter((secret) => isAccepted(secret, at))
  const claim = await stores.claims.live(agent.id, at)
  const limits = LIMITS.client.map(({ name, quota, windowSeconds }) => ({
    policy: name,
    quota: Math.max(1, Math.floor(quota * limitsFactor)),
    window_seconds: windowSeconds,
  }))
  return { ...describeWithMethod({ agent, secrets: accepted }, urls, claim), limits }
}
