import type { IncomingMessage } from 'node:http'
import { err, ok, type Result } from '@plainpath/domain'
import { headersNamed } from '@plainpath/http'

/** `none`: no Authorization header; `another-scheme`: neither Bearer nor DPoP; `malformed`: the scheme is not followed by a token in the form of this service. */
type NoToken = 'none' | 'several' | 'another-scheme' | 'malformed'

/** The form of the authorization server's tokens. Anything else is invalid, and needs no introspection. */
const ACCESS_TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/

/** The authentication schemes of access tokens. */
export type TokenScheme = 'Bearer' | 'DPoP'
interface PresentedToken {
  readonly scheme: TokenScheme
  readonly token: string
}

/** Reads the access token from the Authorization header (RFC 6750 §2.1, RFC 9449 §7.1). */
export function presentedToken(
  request: Pick<IncomingMessage, 'rawHeaders'>,
): Result<PresentedToken, NoToken> {
  const [header, ...more] = headersNamed(request, 'authorization')
  if (header === undefined) return err('none')
  if (more.length > 0) return err('several')
  const [, bearer, token] = /^(?:(bearer)|dpop) +([^ ]+)$/i.exec(header) ?? []
  if (token !== undefined && ACCESS_TOKEN.test(token))
    return ok({ scheme: bearer ? 'Bearer' : 'DPoP', token })
  return err(/^(?:bearer|dpop)(?=\s|$)/i.test(header) ? 'malformed' : 'another-scheme')
}
