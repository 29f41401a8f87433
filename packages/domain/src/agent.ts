import { z } from 'zod'
import { AgentKey } from './public-jwk.ts'
import { RULES } from './rules.ts'

/** What a token may be used for (RFC 6749 §3.3). The words are public: seed §5. */
export const Scope = z.enum(['guides:read', 'waitlist:write', 'contact:write'])
export type Scope = z.infer<typeof Scope>

/** What each scope grants, in the words that people and agents read. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  'guides:read': 'List and read published immigration guides',
  'waitlist:write': 'Join the product waitlist',
  'contact:write': 'Submit contact-form messages',
}

/** What every agent has from its registration on, without a verified e-mail address. */
export const ANONYMOUS_SCOPES = ['guides:read', 'waitlist:write'] as const satisfies readonly Scope[]

/** Names an agent for its whole life; it is also the agent's OAuth `client_id` (RFC 6749 §2.2). */
export const AgentId = z
  .string()
  .regex(/^agt_[A-Za-z0-9_-]{22}$/)
  .brand<'AgentId'>()
export type AgentId = z.infer<typeof AgentId>

/** Bidirectional controls can make a name read as another one (Unicode TR36 §2.6). */
const UNSAFE_IN_A_NAME = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** Free-form, shown to people as unverified; its length counts code points. */
export const AgentName = z
  .string()
  .trim()
  .refine(
    (name) => [...name].length <= RULES.nameCharacters,
    `must be at most ${RULES.nameCharacters} characters`,
  )
  .refine((name) => !UNSAFE_IN_A_NAME.test(name), 'must not contain control or text-direction characters')
  .refine((name) => name.isWellFormed(), 'must be well-formed Unicode')

/** `disabled` can be undone by an operator; `deleted` is final and keeps neither name nor secret. */
const AgentStatus = z.enum(['active', 'disabled', 'deleted'])

export const Agent = z.strictObject({
  id: AgentId,
  name: AgentName.optional(),
  scopes: z.array(Scope).min(1).readonly(),
  status: AgentStatus,
  /** Raised when every token of the agent must end; a token is active only under the generation it was issued in. */
  generation: z.int().min(1),
  registeredAt: z.date(),
  /** When it last got a token, a day at most too early; absent while it never got one. */
  lastUsedAt: z.date().optional(),
  /** Its public keys (RFC 7591 `jwks`); with any of them it has no secret. */
  keys: z.array(AgentKey).max(RULES.agentKeys).readonly().default([]),
})
export type Agent = Readonly<z.infer<typeof Agent>>

/** One way for each agent (RFC 7591 §2). */
export const authenticationMethod = ({ keys }: Pick<Agent, 'keys'>) =>
  keys.length > 0 ? ('private_key_jwt' as const) : ('client_secret_basic' as const)

/** How the person behind an agent is known. */
export const IdentityType = z.enum(['anonymous', 'verified_email'])
export type IdentityType = z.infer<typeof IdentityType>
