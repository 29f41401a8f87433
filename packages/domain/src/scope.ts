import { z } from 'zod'

/** What a token may be used for (RFC 6749 §3.3). The words are public: clients ask for them. */
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
