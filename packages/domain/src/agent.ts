import { z } from 'zod'
import { AgentKey } from './public-jwk.ts'
import { RULES } from './rules.ts'

/** The scopes of a token (RFC 6749 §3.3). The names are part of the public API. */
export const Scope = z.enum(['guides:read', 'waitlist:write', 'contact:write'])
export type Scope = z.infer<typeof Scope>

/** Describes each scope for people and agents. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  'guides:read': 'List and read published immigration guides',
  'waitlist:write': 'Join the product waitlist',
  'contact:write': 'Send a message for a person, see its status, withdraw it',
}

/** The scopes that every registered agent has, even without a verified e-mail address. */
export const ANONYMOUS_SCOPES = ['guides:read', 'waitlist:write'] as const satisfies readonly Scope[]

/**
 * Matches an https URL with a lower-case host, an optional port and a path. `AgentId` also excludes URLs that a parser would
 * change, such as those with dot segments.
 */
const CLIENT_URL = String.raw`https://[a-z0-9.-]*[a-z0-9](?::[0-9]{1,5})?/[^\s#]+`

/**
 * The permanent id of an agent, which is its OAuth `client_id` (RFC 6749 §2.2). It is either an id that this server assigned at
 * registration, or the URL of a Client ID Metadata Document.
 */
export const AgentId = z
  .string()
  .max(255)
  .regex(new RegExp(`^(?:agt_[A-Za-z0-9_-]{22}|${CLIENT_URL})$`))
  .refine((id) => id.startsWith('agt_') || URL.parse(id)?.href === id, 'must be a URL in canonical form')
  .brand<'AgentId'>()
export type AgentId = z.infer<typeof AgentId>

/** Returns the host that an agent has proven to control, by the document at its URL. Returns undefined for a registered agent. */
export const getVerifiedDomain = (id: AgentId): string | undefined =>
  id.startsWith('https://') ? new URL(id).hostname : undefined

/**
 * Matches control characters, line and paragraph separators, and bidirectional controls, which can make one name look like another
 * (Unicode TR36 §2.6).
 */
const UNSAFE_IN_A_NAME = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** A name that the agent chose, which is shown to people as unverified. Its length is measured in code points. */
export const AgentName = z
  .string()
  .trim()
  .refine(
    (name) => [...name].length <= RULES.nameCharacters,
    `must be at most ${RULES.nameCharacters} characters`,
  )
  .refine((name) => !UNSAFE_IN_A_NAME.test(name), 'must not contain control or text-direction characters')
  .refine((name) => name.isWellFormed(), 'must be well-formed Unicode')

/** An operator can undo `disabled`. `deleted` is final: the name and the secret are erased. */
const AgentStatus = z.enum(['active', 'disabled', 'deleted'])

export const Agent = z.strictObject({
  id: AgentId,
  name: AgentName.optional(),
  scopes: z.array(Scope).min(1).readonly(),
  status: AgentStatus,
  /** The credential version. Tokens are active only under their own version, so incrementing it revokes all of them. */
  credentialVersion: z.int().min(1),
  /** True if each of the agent's tokens must be bound to a key (RFC 9449 §5.2 `dpop_bound_access_tokens`). */
  dpopBound: z.boolean().default(false),
  /** The credential version since which `contact:write` needs a token that is bound to a key. Absent if it does not need one. */
  contactBoundSince: z.int().min(1).optional(),
  registeredAt: z.date(),
  /** When the agent last received a token, recorded at most a day too early. Absent before the first token. */
  lastUsedAt: z.date().optional(),
  /** The public keys (RFC 7591 `jwks`). An agent with keys has no secret. */
  keys: z.array(AgentKey).max(RULES.agentKeys).readonly().default([]),
  /** When the document with these keys was requested from the agent's URL. Absent for an agent that registered. */
  documentFetchedAt: z.date().optional(),
  /** When that document expires and must be fetched again. No token of the agent lasts longer. */
  documentExpiresAt: z.date().optional(),
  /** The app's `client_id`, if the agent is a connection: one person's sign-in with an app. A connection has no credentials. */
  appClientId: z.string().optional(),
  /** The destination to which the sign-in returned, as `formatAppHost` formats it. Present with `appClientId`. */
  appHost: z.string().optional(),
})
export type Agent = Readonly<z.infer<typeof Agent>>

/** Returns an agent's client-authentication method (RFC 7591 §2). */
export const getAuthenticationMethod = ({ keys }: Pick<Agent, 'keys'>) =>
  keys.length > 0 ? ('private_key_jwt' as const) : ('client_secret_basic' as const)

/** The ways in which the person behind an agent is identified. */
export const IdentityType = z.enum(['anonymous', 'verified_email'])
export type IdentityType = z.infer<typeof IdentityType>
