import type { IncomingMessage } from 'node:http'
import { err, ok, type Result } from '@plainpath/domain'
import { findHeaders } from '@plainpath/http'

/**
 * The reason why no token can be read. `none`: no Authorization header; `several`: more than one; `another-scheme`: neither
 * Bearer nor DPoP; `malformed`: the scheme is not followed by a token in this service's format.
 */
type PresentedTokenFault = 'none' | 'several' | 'another-scheme' | 'malformed'

/** The format of this service's tokens. Any other text is invalid and needs no introspection. */
const ACCESS_TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/

/** The authentication schemes of access tokens. */
export type TokenScheme = 'Bearer' | 'DPoP'
interface PresentedToken {
  readonly scheme: TokenScheme
  readonly token: string
}

/** Reads the access token from the Authorization header (RFC 6750 §2.1, RFC 9449 §7.1). */
export function readPresentedToken(
  request: Pick<IncomingMessage, 'rawHeaders'>,
): Result<PresentedToken, PresentedTokenFault> {
  const [header, ...otherHeaders] = findHeaders(request, 'authorization')
  if (header === undefined) return err('none')
  if (otherHeaders.length > 0) return err('several')
  const [, bearer, token] = /^(?:(bearer)|dpop) +([^ ]+)$/i.exec(header) ?? []
  if (token !== undefined && ACCESS_TOKEN.test(token))
    return ok({ scheme: bearer ? 'Bearer' : 'DPoP', token })
  return err(/^(?:bearer|dpop)(?=\s|$)/i.test(header) ? 'malformed' : 'another-scheme')
}
