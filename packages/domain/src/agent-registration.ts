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
    description: 'Shown to people as unverified. An empty one counts as none.',
  }),
  type: z.string().max(100).nullish().meta({
    description: 'Only `anonymous`; may be omitted.',
  }),
  jwks: SentJwks.nullish().meta({
    description: 'With keys there is no secret: authenticate with `private_key_jwt`.',
  }),
  dpop_bound_access_tokens: z.boolean().nullish().meta({
    description: 'If true, token requests need a DPoP proof (RFC 9449).',
  }),
  jwks_uri: z
    .unknown()
    .refine((sent) => sent == null, 'is not read here: send the keys themselves, as jwks')
    .optional()
    .meta({ description: 'Not supported: send `jwks`.' }),
})

/** A proof of a key. A valid one has about 600 characters. */
const KeyProof = z.string().max(4096)

/** The body of `PUT /agent/jwks`: the key set itself (RFC 7517 §5), and proof that the client can sign with its new keys. */
export const ReplaceAgentKeysRequest = SentJwks.extend({
  proof: z
    .union([KeyProof, z.array(KeyProof).min(1).max(RULES.agentKeys)])
    .nullish()
    .meta({
      description:
        'A JWT signed with the new key, or a list with one for each new key. Without it the response has a `warning`.',
      // An example of the schema, not of the body: no agent can send it unchanged.
      examples: ['eyJhbGciOiJFUzI1NiJ9.e30.c2ln'],
    }),
})

const Seconds = z.int().min(0)

/** A registration as its client sees it. Members that RFC 7591 defines have the names from there. */
export const AgentRegistration = z.object({
  client_id: z.string(),
  client_name: z.string().optional(),
  identity_type: IdentityType.meta({ description: 'How the person is identified.' }),
  email_verified: z.boolean(),
  grant_types: z.array(z.string()),
  scopes: z.array(Scope).meta({ description: 'What its tokens may have.' }),
  scope: z.string().meta({ description: 'The same, space-separated.' }),
  client_id_issued_at: Seconds.meta({ description: 'Unix time.' }),
  token_endpoint: z.url(),
  resource: z.url().meta({ description: 'The API that tokens are for (RFC 8707).' }),
  idle_expiry: z.iso.datetime().meta({
    description:
      `When it expires unless the client gets a token: ${durationIn('day', RULES.neverUsedMs)} after registration ` +
      `(${durationIn('hour', RULES.floodMs)} in a flood), then at least ${durationIn('day', RULES.idleMs)} after its last token.`,
  }),
  dpop_bound_access_tokens: z.literal(true).optional(),
  claim_url: z.url().meta({ description: 'Where to start e-mail verification.' }),
  post_claim_scopes: z.array(Scope).meta({ description: 'The same once a person confirmed the agent.' }),
})

const secretMembers = {
  client_secret_expires_at: z.literal(0).meta({ description: '0: it does not expire.' }),
  token_endpoint_auth_method: z
    .literal('client_secret_basic')
    .meta({ description: '`client_secret_post` is also accepted.' }),
}

/** The public keys of a client, each with its `kid`. */
export const AgentKeySet = z.object({ keys: z.array(AgentKey) })

const keyMembers = {
  token_endpoint_auth_signing_alg: z
    .enum(ASSERTION_ALGORITHMS)
    .optional()
    .meta({ description: 'Present if all keys use the same algorithm.' }),
  jwks: AgentKeySet,
}

/** The response of `POST /agent/register` without keys. */
export const RegisteredAgent = AgentRegistration.extend({
  ...secretMembers,
  client_secret: z.string().meta({ description: 'Returned only here. Store it, and keep it out of logs.' }),
})

/** The response of `POST /agent/register` with keys. It has no secret. */
export const RegisteredKeyAgent = AgentRegistration.extend({
  ...keyMembers,
  token_endpoint_auth_method: z.literal('private_key_jwt'),
})

/** The description of a client's secret, without its value. */
export const AgentSecret = z.object({
  secret_id: z.uuid(),
  created_at: z.iso.datetime(),
  ends_at: z.iso
    .datetime()
    .optional()
    .meta({ description: 'When the secret expires. Absent: it does not expire.' }),
})

const secretList = z
  .array(AgentSecret)
  .meta({ description: 'Its valid secrets, the oldest first; at most two.' })

/** The response of `POST /agent/secrets`. */
export const AddedSecret = AgentSecret.omit({ ends_at: true }).extend({
  client_id: AgentId,
  client_secret: z.string().meta({ description: 'Returned only here. Store it, and keep it out of logs.' }),
  client_secret_expires_at: secretMembers.client_secret_expires_at,
  secrets: secretList,
})

/** The response of `GET /agent`. It contains the keys if the agent has any, and otherwise its secrets. */
export const AgentDescription = AgentRegistration.extend({
  email_verified: z
    .boolean()
    .meta({ description: 'Whether a person has verified their e-mail for this client.' }),
  verified_domain: z
    .string()
    .optional()
    .meta({ description: 'The host that the client has proven to control. Absent unless proven.' }),
  registration_id: RegistrationId.optional().meta({
    description: 'Present while an e-mail verification is valid.',
  }),
  claim_expires_at: z.iso.datetime().optional(),
  dpop_required_scopes: z
    .array(Scope)
    .optional()
    .meta({
      description:
        'Scopes that the client gets only with a DPoP proof: `contact:write`, once it got a bound token with it. ' +
        '`DELETE /api/agent/dpop-required-scopes` ends this.',
    }),
  client_secret_expires_at: secretMembers.client_secret_expires_at.optional(),
  secrets: secretList.optional(),
  token_endpoint_auth_method: z.enum(['client_secret_basic', 'private_key_jwt']),
  token_endpoint_auth_signing_alg: keyMembers.token_endpoint_auth_signing_alg,
  jwks: keyMembers.jwks.optional(),
  limits: z
    .array(
      z.object({
        policy: z.string().meta({ description: 'The name in `RateLimit-Policy`.' }),
        quota: z.int().meta({ description: 'Requests per window.' }),
        window_seconds: z.int(),
      }),
    )
    .meta({
      description:
        'Limits of the client at the authorization server. `token-domain` is shared by all clients of its registrable domain.',
    }),
})

/** The response of `PUT /agent/jwks`. */
export const ReplacedAgentKeys = AgentDescription.extend({
  warning: z.string().optional().meta({
    description: 'Present if a new key was accepted without proof.',
  }),
})
