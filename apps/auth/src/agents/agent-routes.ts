import { type Agent, type AgentDescription, AgentId } from '@plainpath/domain'
import { type Caller, defineRoute, type LimitPolicy, Problem, type Route } from '@plainpath/http'
import { GRANT_TYPES, operations, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import type { CachedAgents } from './cached-agents.ts'
import type { EndAgent } from './end-agent.ts'
import type { RegisterAgent } from './register-agent.ts'

export interface AgentRouteDeps {
  registerAgent: RegisterAgent
  endAgent: EndAgent
  agents: Pick<CachedAgents, 'find'>
  urls: ServiceUrls
  /** For a client that ended after it was authenticated: the same answer as before that. */
  noSuchClient(): Problem
  limits: {
    register: readonly LimitPolicy[]
    manage: readonly LimitPolicy[]
    client: readonly LimitPolicy[]
    factor: number
  }
}

/** `POST /api/agent/register`, `GET` and `DELETE /api/agent` (contract §4). */
export const agentRoutes = (deps: AgentRouteDeps): Route[] => [
  defineRoute({
    ...operations.registerAgent,
    limits: { address: deps.limits.register },
    bodyProblem: 'invalid-client-metadata',
    async handle({ body }) {
      if (body.type && body.type !== 'anonymous') throw new Problem('unsupported-credential-type')
      const { agent, secret } = await deps.registerAgent(body.client_name ? { name: body.client_name } : {})
      return { status: 201, body: { ...describe(agent, deps.urls), client_secret: secret } }
    },
  }),
  defineRoute({
    ...operations.getAgent,
    limits: { address: deps.limits.manage, client: deps.limits.client },
    async handle({ caller }) {
      const agent = await found(caller, deps)
      const limits = deps.limits.client.map(({ name, quota, windowSeconds }) => ({
        policy: name,
        quota: Math.max(1, Math.floor(quota * deps.limits.factor)),
        window_seconds: windowSeconds,
      }))
      return { status: 200, body: { ...describe(agent, deps.urls), limits } }
    },
  }),
  defineRoute({
    ...operations.deleteAgent,
    limits: { address: deps.limits.manage, client: deps.limits.client },
    async handle({ caller }) {
      if (!(await deps.endAgent(AgentId.parse(caller.clientId), 'deleted'))) throw deps.noSuchClient()
      return { status: 204 }
    },
  }),
]

async function found(caller: Caller, deps: AgentRouteDeps): Promise<Agent> {
  const record = await deps.agents.find(AgentId.parse(caller.clientId))
  if (!record) throw deps.noSuchClient()
  return record.agent
}

function describe(agent: Agent, urls: ServiceUrls): Omit<z.input<typeof AgentDescription>, 'limits'> {
  return {
    client_id: agent.id,
    ...(agent.name && { client_name: agent.name }),
    identity_type: 'anonymous',
    grant_types: [...GRANT_TYPES],
    scopes: [...agent.scopes],
    scope: agent.scopes.join(' '),
    client_id_issued_at: Math.floor(agent.registeredAt.getTime() / 1000),
    client_secret_expires_at: 0,
    token_endpoint: urls.token,
    token_endpoint_auth_method: 'client_secret_basic',
    resource: urls.base,
  }
}
