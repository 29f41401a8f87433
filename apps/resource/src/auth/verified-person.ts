/*
 * Finds the person for whom a token was issued, with the verified e-mail address. Only messages to staff need this, after
 * `bearer.ts` has checked the token.
 */
import type { Caller, RequestFacts } from '@plainpath/http'
import { getAudienceForPath, type ServiceUrls } from '@plainpath/metadata'
import {
  CONTACT_SCOPE,
  createBearerRefusals,
  explainContactScope,
  NEEDS_DPOP,
  TOKEN_UNKNOWN,
} from './bearer-refusals.ts'
import { type ConfirmedAgent, findIntrospectionFault, type Introspect } from './introspection.ts'
import { readPresentedToken } from './read-presented-token.ts'

/**
 * Finds the person for whom a request was made: the registration, the verified e-mail address, and the person's agent.
 *
 * @throws {Problem} 401 or 403 with a challenge. Also rethrows introspection errors
 */
export type FindVerifiedPerson = (
  request: Pick<RequestFacts, 'header' | 'path'>,
  caller: Pick<Caller, 'proof'>,
) => Promise<{ registrationId: string; email: string; agent: ConfirmedAgent | undefined }>

/** Creates a finder that introspects the token each time, because the e-mail address is never cached. */
export function createVerifiedPersonFinder(deps: {
  introspectWithEmail: Introspect
  urls: ServiceUrls
  now: () => Date
}): FindVerifiedPerson {
  const { urls } = deps
  return async (request, caller) => {
    const scheme = caller.proof ? 'DPoP' : 'Bearer'
    const refusals = createBearerRefusals(urls, [CONTACT_SCOPE], request.path, scheme)
    const credentials = readPresentedToken({ rawHeaders: ['authorization', request.header('authorization')] })
    if (!credentials.ok) throw refusals.tokenRequired(explainContactScope(urls))
    const introspection = await deps.introspectWithEmail(credentials.value.token)
    if (
      !introspection.active ||
      findIntrospectionFault(introspection, getAudienceForPath(urls, request.path), deps.now())
    )
      throw refusals.invalidToken(TOKEN_UNKNOWN)
    // `bearer.ts` has verified the proof and marked it as used. This introspection must bind the token to the same key.
    if (introspection.jkt !== caller.proof?.jkt || credentials.value.scheme !== scheme)
      throw refusals.wrongScheme(NEEDS_DPOP)
    const { email, scopes, identityType } = introspection
    if (!scopes.has(CONTACT_SCOPE) || identityType !== 'verified_email' || email === undefined)
      throw refusals.missingScope(explainContactScope(urls))
    return {
      registrationId: introspection.registrationId ?? introspection.clientId,
      email,
      agent: introspection.agent,
    }
  }
}

/**
 * Requires the scope `contact:write` for the MCP message tools. `createBearerCheck` does the same for the HTTP routes.
 *
 * @throws {Problem} 401 without a token and 403 without the scope, with a challenge
 */
export function requireContactScope(caller: Caller | undefined, urls: ServiceUrls): Caller {
  const scheme = caller?.proof ? 'DPoP' : 'Bearer'
  const refusals = createBearerRefusals(urls, [CONTACT_SCOPE], new URL(urls.mcp).pathname, scheme)
  if (!caller) throw refusals.tokenRequired(explainContactScope(urls))
  if (!caller.scopes.has(CONTACT_SCOPE)) throw refusals.missingScope(explainContactScope(urls))
  return caller
}
