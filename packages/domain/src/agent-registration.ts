import { z } from 'zod'
import { AgentId, AgentName, IdentityType } from './agent.ts'
import { Scope } from './scope.ts'

/** The body of `POST /agent/register` (contract §4). What it does not know is ignored. */
export const RegisterAgentRequest = z.object({
  client_name: AgentName.nullish().meta({
    maxLength: 200,
    description: 'Free-form name of the agent, shown to people as unverified. Empty counts as none.',
  }),
  type: z.string().max(100).nullish().meta({
    description: 'The kind of registration; only `anonymous` is offered, and it may be left out.',
  }),
})

const Seconds = z.int().min(0)

/** What a client may know of itself, in the words of RFC 7591 where that has them. */
const AgentMembers = z.object({
  client_id: AgentId,
  client_name: z.string().optional().meta({ description: 'Present when the agent gave one.' }),
  identity_type: IdentityType.meta({ description: 'How the person behind the agent is known.' }),
  grant_types: z.array(z.string()).meta({ description: 'Grants that the token endpoint accepts from it.' }),
  scopes: z.array(Scope).meta({ description: 'Scopes that its tokens may have.' }),
  scope: z.string().meta({ description: 'The same scopes, separated by spaces (RFC 7591).' }),
  client_id_issued_at: Seconds.meta({ description: 'Seconds since 1970.' }),
  client_secret_expires_at: z.literal(0).meta({ description: '0: the secret has no fixed end (RFC 7591).' }),
  token_endpoint: z.url(),
  token_endpoint_auth_method: z
    .literal('client_secret_basic')
    .meta({ description: '`client_secret_post` is accepted too.' }),
  resource: z.url().meta({ description: 'The API that its tokens are for (RFC 8707).' }),
})

/** The answer of `POST /agent/register`. */
export const RegisteredAgent = AgentMembers.extend({
  client_secret: z.string().meta({ description: 'Shown once, here. Keep it, and keep it out of logs.' }),
})

/** The answer of `GET /agent`. */
export const AgentDescription = AgentMembers.extend({
  limits: z
    .array(
      z.object({
        policy: z.string().meta({ description: 'As named in `RateLimit-Policy`.' }),
        quota: z.int().meta({ description: 'Requests in a window.' }),
        window_seconds: z.int(),
      }),
    )
    .meta({ description: 'What the client may ask of the authorization server.' }),
})
