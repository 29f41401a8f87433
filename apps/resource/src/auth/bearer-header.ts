import type { IncomingMessage } from 'node:http'
import { err, ok, type Result } from '@plainpath/domain'
import { headersNamed } from '@plainpath/http'

/** `none`: no Authorization header; `another-scheme`: not Bearer; `malformed`: no token of ours follows. */
export type NoToken = 'none' | 'several' | 'another-scheme' | 'malformed'

/** Tokens of the authorization server; anything else is known to be invalid without asking it. */
const ACCESS_TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/

/** The access token in the Authorization header (RFC 6750 §2.1). */
export function bearerToken(request: Pick<IncomingMessage, 'rawHeaders'>): Result<string, NoToken> {
  const [header, ...more] = headersNamed(request, 'authorization')
  if (header === undefined) return err('none')
  if (more.length > 0) return err('several')
  if (!/^bearer(?=\s|$)/i.test(header)) return err('another-scheme')
  const token = header.replace(/^bearer +/i, '')
  return ACCESS_TOKEN.test(token) ? ok(token) : err('malformed')
}
