import { z } from 'zod'
import { AgentId, AgentName, IdentityType, Scope } from './agent.ts'
import { RegistrationId } from './claim.ts'
import { durationIn } from './in-words.ts'
import { AgentKey, ASSERTION_ALGORITHMS, SentJwks } from './public-jwk.ts'
import { RULES } from './rules.ts'

/** The body of `POST /agent/register`, in the form of RFC 7591. Unknown members are ignored. */
export const RegisterAgentRequest = z.object({
  client_name: AgentName.nullish().meta({
    maxLength: RULES.nameCharacters,
    description: 'Free-form name of the agent, shown to people as unverified. Empty counts as none.',
  }),
  type: z.string().max(100).nullish().meta({
    description: 'The kind of registration; only `anonymous` is offered, and it may be left out.',
  }),
  jwks: SentJwks.nullish().meta({
    description:
      'Public keys (RFC 7591). An agent that sends them gets no secret and authenticates by `private_key_jwt`.',
  }),
  jwks_uri: z
    .unknown()
    .refine((sent) => sent == null, 'is not read here: send the keys themselves, as jwks')
    .optional()
    .meta({ description: 'Not offered: keys are sent as `jwks`.' }),
})

/** The longest accepted proof of a key; a valid one has about 600 characters. */
const KeyProof = z.string().max(4096)

/** The body of `PUT /agent/jwks`: the set itself (RFC 7517 §5), and proof that the client can sign with its new keys. */
export const ReplaceAgentKeysRequest = SentJwks.extend({
  proof: z
    .union([KeyProof, z.array(KeyProof).min(1).max(RULES.agentKeys)])
    .nullish()
    .meta({
      description:
        'A JWT of the type `jwks-proof+jwt` that the new key signed, or a list of one for each new key. Without it the ' +
        'keys are taken unproven, and the answer has a `warning`.',
      // Of the schema, not the body: no agent can send it as it is.
      examples: ['eyJhbGciOiJFUzI1NiIsInR5cCI6Imp3a3MtcHJvb2Yrand0In0.e30.c2lnbmF0dXJl'],
    }),
})

const Seconds = z.int().min(0)

/** The registration as its client sees it, with the member names of RFC 7591 where it has them. */
const AgentMembers = z.object({
  client_id: AgentId,
  client_name: z.string().optional().meta({ description: 'Present when the agent gave one.' }),
  identity_type: IdentityType.meta({ description: 'How the person behind the agent is known.' }),
  grant_types: z.array(z.string()).meta({ description: 'Grants that the token endpoint accepts from it.' }),
  scopes: z.array(Scope).meta({ description: 'Scopes that its tokens may have.' }),
  scope: z.string().meta({ description: 'The same scopes, separated by spaces (RFC 7591).' }),
  client_id_issued_at: Seconds.meta({ description: 'Seconds since 1970.' }),
  token_endpoint: z.url(),
  resource: z.url().meta({ description: 'The API that its tokens are for (RFC 8707).' }),
  idle_expiry: z.iso.datetime().meta({
    description:
      `When the client ends unless it gets a token before: ${durationIn('day', RULES.neverUsedMs)} after it ` +
      `registered, later ${durationIn('day', RULES.idleMs)} after its last token. In a flood of registrations a client ` +
      `that never got a token may end sooner, from ${durationIn('hour', RULES.floodMs)} on.`,
  }),
  claim_url: z.url().meta({ description: 'Where to ask a person to confirm the agent, by e-mail.' }),
  post_claim_scopes: z
    .array(Scope)
    .meta({ description: 'Scopes that a token for a confirmed agent may have.' }),
})

const secretMembers = {
  client_secret_expires_at: z.literal(0).meta({ description: '0: the secret has no fixed end (RFC 7591).' }),
  token_endpoint_auth_method: z
    .literal('client_secret_basic')
    .meta({ description: '`client_secret_post` is accepted too.' }),
}

const keyMembers = {
  token_endpoint_auth_signing_alg: z
    .enum(ASSERTION_ALGORITHMS)
    .optional()
    .meta({ description: 'Present when all keys have the same.' }),
  jwks: z.object({ keys: z.array(AgentKey) }).meta({ description: 'Its public keys, each with its `kid`.' }),
}

/** The answer of `POST /agent/register` without keys. */
export const RegisteredAgent = AgentMembers.extend({
  ...secretMembers,
  client_secret: z.string().meta({ description: 'Shown once, here. Keep it, and keep it out of logs.' }),
})

/** The answer of `POST /agent/register` with keys: there is no secret. */
export const RegisteredKeyAgent = AgentMembers.extend({
  ...keyMembers,
  token_endpoint_auth_method: z.literal('private_key_jwt'),
})

/** One secret of a client, without the secret. */
const AgentSecretMembers = z.object({
  secret_id: z.uuid(),
  created_at: z.iso.datetime(),
  ends_at: z.iso
    .datetime()
    .optional()
    .meta({ description: 'From then on it is refused. Absent: no end is set.' }),
})

const secretList = z
  .array(AgentSecretMembers)
  .meta({ description: 'Its secrets that are accepted, the oldest first; at most two.' })

/** The answer of `POST /agent/secrets`. */
export const AddedSecret = AgentSecretMembers.omit({ ends_at: true }).extend({
  client_id: AgentId,
  client_secret: z.string().meta({ description: 'Shown once, here. Keep it, and keep it out of logs.' }),
  client_secret_expires_at: secretMembers.client_secret_expires_at,
  secrets: secretList,
})

/** The answer of `GET /agent`; keys where the agent has them. */
export const AgentDescription = AgentMembers.extend({
  registration_id: RegistrationId.optional().meta({
    description: 'The claim, while a person has confirmed the agent.',
  }),
  claim_expires_at: z.iso.datetime().optional(),
  client_secret_expires_at: secretMembers.client_secret_expires_at.optional(),
  secrets: secretList.optional(),
  token_endpoint_auth_method: z
    .enum(['client_secret_basic', 'private_key_jwt'])
    .meta({ description: 'With `client_secret_basic`, `client_secret_post` is accepted too.' }),
  token_endpoint_auth_signing_alg: keyMembers.token_endpoint_auth_signing_alg,
  jwks: keyMembers.jwks.optional(),
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

/** The answer of `PUT /agent/jwks`. */
export const ReplacedAgentKeys = AgentDescription.extend({
  warning: z.string().optional().meta({
    description: 'Present when a new key was taken without proof that the client can sign with it.',
  }),
})
