import { type Agent, AgentId, AgentName, IdentityType, Scope } from '@plainpath/domain'
import { type Caller, defineRoute, type LimitPolicy, Problem, type Route } from '@plainpath/http'
import { GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import type { CachedAgents } from './cached-agents.ts'
import type { EndAgent } from './end-agent.ts'
import type { RegisterAgent } from './register-agent.ts'

const RegisterRequest = z.object({
  client_name: AgentName.nullish(),
  type: z.string().max(100).nullish(),
})

const Seconds = z.int().min(0)
const AgentMembers = z.object({
  client_id: AgentId,
  client_name: z.string().optional(),
  identity_type: IdentityType,
  grant_types: z.array(z.string()),
  scopes: z.array(Scope),
  scope: z.string(),
  client_id_issued_at: Seconds,
  client_secret_expires_at: z.literal(0),
  token_endpoint: z.url(),
  token_endpoint_auth_method: z.literal('client_secret_basic'),
  resource: z.url(),
})
const RegisterResponse = AgentMembers.extend({ client_secret: z.string() })
const Limit = z.object({ policy: z.string(), quota: z.int(), window_seconds: z.int() })
const AgentResponse = AgentMembers.extend({ limits: z.array(Limit) })

export interface AgentRouteDeps {
  registerAgent: RegisterAgent
  endAgent: EndAgent
  agents: Pick<CachedAgents, 'find'>
  urls: ServiceUrls
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
    method: 'post',
    path: '/api/agent/register',
    operationId: 'registerAgent',
    summary: 'Register an AI agent client for client_credentials access',
    access: 'open',
    limits: { address: deps.limits.register },
    request: { body: RegisterRequest },
    bodyOptional: true,
    bodyProblem: 'invalid-client-metadata',
    responses: { 201: RegisterResponse },
    async handle({ body }) {
      if (body.type && body.type !== 'anonymous') throw new Problem('unsupported-credential-type')
      const { agent, secret } = await deps.registerAgent(body.client_name ? { name: body.client_name } : {})
      return { status: 201, body: { ...describe(agent, deps.urls), client_secret: secret } }
    },
  }),
  defineRoute({
    method: 'get',
    path: '/api/agent',
    operationId: 'getAgent',
    summary: 'What is known of the client that asks: identity, scopes and limits',
    access: 'client',
    limits: { address: deps.limits.manage, client: deps.limits.client },
    responses: { 200: AgentResponse },
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
    method: 'delete',
    path: '/api/agent',
    operationId: 'deleteAgent',
    summary: 'End the client and all its tokens at once, and erase its name',
    access: 'client',
    limits: { address: deps.limits.manage, client: deps.limits.client },
    responses: { 204: null },
    async handle({ caller }) {
      if (!(await deps.endAgent(AgentId.parse(caller.clientId), 'deleted')))
        throw new Problem('invalid-client')
      return { status: 204 }
    },
  }),
]

async function found(caller: Caller, deps: AgentRouteDeps): Promise<Agent> {
  const record = await deps.agents.find(AgentId.parse(caller.clientId))
  if (!record) throw new Problem('invalid-client')
  return record.agent
}

function describe(agent: Agent, urls: ServiceUrls): z.input<typeof AgentMembers> {
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
