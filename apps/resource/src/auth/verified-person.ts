import type { RequestFacts } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { bearerRefusal } from './bearer-refusal.ts'
import type { Introspect } from './introspection.ts'

/**
 * Who stands behind the token of a request: the registration, and the address that the person verified.
 *
 * @throws {Problem} 401 or 403 with a challenge; and what introspection throws
 */
export type VerifiedPerson = (
  request: Pick<RequestFacts, 'header'>,
) => Promise<{ registrationId: string; email: string }>

const SCOPE = 'contact:write'

/** @param deps.introspectWithEmail asks anew each time: the address is kept nowhere */
export function verifiedPerson(deps: {
  introspectWithEmail: Introspect
  urls: ServiceUrls
  now: () => Date
}): VerifiedPerson {
  const { urls } = deps
  const refusal = bearerRefusal(urls, [SCOPE])
  return async (request) => {
    const token = /^bearer +(ppt_[A-Za-z0-9_-]{43})$/i.exec(request.header('authorization'))?.[1]
    if (token === undefined) throw refusal('token-required', needsVerifiedEmail(urls))
    const answer = await deps.introspectWithEmail(token)
    if (!answer.active || !answer.audience.includes(urls.base) || answer.expiresAt <= deps.now())
      throw refusal(
        'invalid-token',
        `The token is unknown, expired or revoked. Get a token at ${urls.token}.`,
        'invalid_token',
      )
    const { email, scopes, identityType } = answer
    if (!scopes.has(SCOPE) || identityType !== 'verified_email' || email === undefined)
      throw refusal('insufficient-scope', needsVerifiedEmail(urls), 'insufficient_scope')
    return { registrationId: answer.registrationId ?? answer.clientId, email }
  }
}

/** What whoever lacks the scope is told. */
export const needsVerifiedEmail = (urls: ServiceUrls) =>
  `${SCOPE} needs the verified_email flow: the person verifies their e-mail address. ${urls.authMd} leads through it.`
