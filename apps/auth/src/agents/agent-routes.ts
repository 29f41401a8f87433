import { AgentId, type AgentKey, type SentJwks, type StandingClaim } from '@plainpath/domain'
import { type Caller, defineRoute, type LimitPolicy, Problem, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import { type AgentRecord, type AgentStore, isAccepted } from './agent-store.ts'
import { describeAgent, describeWithMethod, keyMembers, SECRET_MEMBERS } from './describe-agent.ts'
import type { EndAgent } from './end-agent.ts'
import { nameKeys } from './name-keys.ts'
import type { RegisterAgent } from './register-agent.ts'
import type { ReplaceKeys } from './replace-keys.ts'

export interface AgentRouteDeps {
  registerAgent: RegisterAgent
  endAgent: EndAgent
  replaceKeys: ReplaceKeys
  agents: Pick<AgentStore, 'find'>
  /** The claim of an agent, while it stands. */
  standingClaim(id: AgentId): Promise<StandingClaim | undefined>
  urls: ServiceUrls
  now: () => Date
  /** For a client that ended after it was authenticated: the same answer as before that. */
  noSuchClient(): Problem
  limits: {
    register: readonly LimitPolicy[]
    manage: readonly LimitPolicy[]
    client: readonly LimitPolicy[]
    factor: number
  }
}

/** `POST /api/agent/register`, `GET` and `DELETE /api/agent`, `PUT /api/agent/jwks`. */
export const agentRoutes = (deps: AgentRouteDeps): Route[] => [
  defineRoute({
    ...operations.registerAgent,
    limits: { address: deps.limits.register },
    bodyProblem: 'invalid-client-metadata',
    async handle({ body }) {
      if (body.type && body.type !== 'anonymous') throw new Problem('unsupported-credential-type')
      const { agent, secret } = await deps.registerAgent({
        ...(body.client_name && { name: body.client_name }),
        ...(body.jwks && { keys: await namedKeys(body.jwks, '#/jwks/keys') }),
      })
      const described = describeAgent(agent, deps.urls)
      if (secret === undefined) return { status: 201, body: { ...described, ...keyMembers(agent) } }
      return { status: 201, body: { ...described, ...SECRET_MEMBERS, client_secret: secret } }
    },
  }),
  defineRoute({
    ...operations.getAgent,
    limits: { address: deps.limits.manage, client: deps.limits.client },
    async handle({ caller }) {
      const record = await found(caller, deps)
      return {
        status: 200,
        body: {
          ...describeWithMethod(record, deps.urls, await deps.standingClaim(record.agent.id)),
          limits: limitsOf(deps),
        },
      }
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
  defineRoute({
    ...operations.replaceAgentKeys,
    limits: { address: deps.limits.manage, client: deps.limits.client },
    bodyProblem: 'invalid-client-metadata',
    async handle({ body, caller }) {
      const agent = await deps.replaceKeys(AgentId.parse(caller.clientId), await namedKeys(body, '#/keys'))
      if (!agent) throw deps.noSuchClient()
      return {
        status: 200,
        body: {
          ...describeWithMethod({ agent, secrets: [] }, deps.urls, await deps.standingClaim(agent.id)),
          limits: limitsOf(deps),
        },
      }
    },
  }),
]

async function namedKeys(sent: z.infer<typeof SentJwks>, pointer: string): Promise<readonly AgentKey[]> {
  const named = await nameKeys(sent)
  if (named.ok) return named.value
  const detail = 'holds two keys of one kid; give each its own, or leave kid out of keys that differ'
  throw new Problem('invalid-client-metadata', {
    detail: `${pointer}: ${detail}.`,
    errors: [{ pointer, detail }],
  })
}

const limitsOf = ({ limits }: AgentRouteDeps) =>
  limits.client.map(({ name, quota, windowSeconds }) => ({
    policy: name,
    quota: Math.max(1, Math.floor(quota * limits.factor)),
    window_seconds: windowSeconds,
  }))

async function found(caller: Caller, deps: AgentRouteDeps): Promise<AgentRecord> {
  const record = await deps.agents.find(AgentId.parse(caller.clientId))
  if (!record) throw deps.noSuchClient()
  const now = deps.now()
  return { ...record, secrets: record.secrets.filter((secret) => isAccepted(secret, now)) }
}
