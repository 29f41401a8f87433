import { err, ok, type Result } from '@plainpath/domain'

export interface ClientCredentials {
  readonly clientId: string
  readonly secret: string
}

/** `none`: nothing was sent. `malformed`: a header that cannot be read. `several`: more than one way at once. */
export type CredentialsFault = 'none' | 'malformed' | 'several' | 'mismatch'

/**
 * Client credentials by `client_secret_basic` or `client_secret_post` (RFC 6749 §2.3.1).
 *
 * @param headers every Authorization header of the request
 * @param form the body, where the endpoint has one
 */
export function readCredentials(
  headers: readonly string[],
  form?: URLSearchParams,
): Result<ClientCredentials, CredentialsFault> {
  if (headers.length > 1) return err('several')
  const bodyId = form?.get('client_id') ?? undefined
  const bodySecret = form?.get('client_secret') || undefined
  const [header] = headers
  if (header === undefined) {
    return bodyId && bodySecret ? ok({ clientId: bodyId, secret: bodySecret }) : err('none')
  }
  if (bodySecret !== undefined) return err('several')
  const credentials = decodeBasic(header)
  if (!credentials) return err('malformed')
  if (bodyId !== undefined && bodyId !== credentials.clientId) return err('mismatch')
  return ok(credentials)
}

const BASIC = /^basic +(?<encoded>[A-Za-z0-9+/]{4,}={0,2})$/i
const MAX_HEADER_LENGTH = 1024

/** RFC 7617 base64 of `id:secret`, each of them form-urlencoded first (RFC 6749 appendix B). */
function decodeBasic(header: string): ClientCredentials | undefined {
  const encoded = header.length > MAX_HEADER_LENGTH ? undefined : BASIC.exec(header)?.groups?.['encoded']
  const text = encoded && Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text?.indexOf(':') ?? -1
  if (!text || colon < 1) return undefined
  const clientId = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  return clientId && secret ? { clientId, secret } : undefined
}

function formDecode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return /^[\x20-\x7E]+$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}
