import type { IncomingMessage } from 'node:http'
import { err, ok, type Result } from '@plainpath/domain'
import { headersNamed } from '@plainpath/http'

/** `none`: no Authorization header; `another-scheme`: neither Bearer nor DPoP; `malformed`: no token of ours follows. */
type NoToken = 'none' | 'several' | 'another-scheme' | 'malformed'

/** Tokens of the authorization server; anything else is known to be invalid without asking it. */
const ACCESS_TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/

/** The authentication schemes of access tokens. */
export type TokenScheme = 'Bearer' | 'DPoP'
interface PresentedToken {
  readonly scheme: TokenScheme
  readonly token: string
}

/** The access token in the Authorization header (RFC 6750 §2.1, RFC 9449 §7.1). */
export function presentedToken(
  request: Pick<IncomingMessage, 'rawHeaders'>,
): Result<PresentedToken, NoToken> {
  const [header, ...more] = headersNamed(request, 'authorization')
  if (header === undefined) return err('none')
  if (more.length > 0) return err('several')
  const name = /^(?:bearer|dpop)(?=\s|$)/i.exec(header)?.[0]
  if (name === undefined) return err('another-scheme')
  const token = header.slice(name.length).replace(/^ +/, '')
  const scheme = name.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer'
  return ACCESS_TOKEN.test(token) && header[name.length] === ' ' ? ok({ scheme, token }) : err('malformed')
}
