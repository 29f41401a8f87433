import { err, ok, type Result } from '@plainpath/domain'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { type ClientAssertion, type FormatFault, parseAssertion } from './client-assertion.ts'

interface ClientCredentials {
  readonly clientId: string
  readonly secret: string
}

/**
 * The reason why there are no usable credentials. `none`: no credentials, or only an id or only a secret in the body.
 * `malformed`: an `Authorization` header that is not valid Basic. `several`: more than one set of credentials. `mismatch`: the
 * `client_id` in the body differs from the one in the credentials.
 */
type CredentialsFault = 'none' | 'malformed' | 'several' | 'mismatch'

/**
 * Reads client credentials by `client_secret_basic` or `client_secret_post` (RFC 6749 §2.3.1).
 *
 * @param authorization every Authorization header of the request
 * @param form the body, if the endpoint takes a form
 */
export function readCredentials(
  authorization: readonly string[],
  form?: URLSearchParams,
): Result<ClientCredentials, CredentialsFault> {
  if (authorization.length > 1) return err('several')
  // A parameter without a value counts as omitted (RFC 6749 §3.2).
  const bodyId = form?.get('client_id') || undefined
  const bodySecret = form?.get('client_secret') || undefined
  const [header] = authorization
  if (header === undefined) {
    return bodyId && bodySecret ? ok({ clientId: bodyId, secret: bodySecret }) : err('none')
  }
  if (bodySecret !== undefined) return err('several')
  const credentials = decodeBasic(header)
  if (!credentials) return err('malformed')
  if (bodyId !== undefined && bodyId !== credentials.clientId) return err('mismatch')
  return ok(credentials)
}

const BASIC_HEADER = /^basic +(?<encoded>[A-Za-z0-9+/]{4,}={0,2})$/i
/** The maximum length of a header, in characters. A longer one is rejected without being decoded. */
const MAX_HEADER_LENGTH = 1024

/** Decodes Basic credentials: base64 of `id:secret` (RFC 7617), whose parts are form-urlencoded (RFC 6749 appendix B). */
function decodeBasic(header: string): ClientCredentials | undefined {
  const encoded =
    header.length > MAX_HEADER_LENGTH ? undefined : BASIC_HEADER.exec(header)?.groups?.['encoded']
  const text = encoded && Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text?.indexOf(':') ?? -1
  if (!text || colon < 1) return undefined
  const clientId = decodeFormText(text.slice(0, colon))
  const secret = decodeFormText(text.slice(colon + 1))
  return clientId && secret ? { clientId, secret } : undefined
}

/** Decodes form-urlencoded text. Returns undefined unless the result consists of printable ASCII characters. */
function decodeFormText(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return /^[\x20-\x7E]+$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

/** The credentials that a client presents: a secret, or an assertion, parsed but not verified. */
export type ClientAuthentication =
  | { readonly method: 'secret'; readonly credentials: ClientCredentials }
  | {
      readonly method: 'assertion'
      /** The client that the request names, not verified: `sub`, or else `client_id`. Empty if it names none. */
      readonly clientId: string
      readonly assertion: Result<ClientAssertion, FormatFault>
    }

/**
 * The reason why client authentication cannot be read. `assertion-type`: the assertion type is missing or unknown, or an
 * assertion type is sent without an assertion. `assertion-location`: the assertion is in a header, but the endpoint takes a form.
 */
export type AuthenticationFault = CredentialsFault | 'assertion-type' | 'assertion-location'

/**
 * Reads client authentication by secret (RFC 6749 §2.3.1) or by assertion: in the form (RFC 7523 §2.2) or, for an
 * endpoint without a form, in the header `Client-Assertion` (decision 10, in docs/decisions).
 *
 * @param headers the values of all `Authorization` and `Client-Assertion` headers
 * @param form the body, if the endpoint takes a form
 */
export function readClientAuthentication(
  headers: { readonly authorization: readonly string[]; readonly clientAssertion: readonly string[] },
  form?: URLSearchParams,
): Result<ClientAuthentication, AuthenticationFault> {
  const { authorization, clientAssertion } = headers
  const [headerAssertion, secondHeaderAssertion] = clientAssertion
  const formAssertion = form?.get('client_assertion') || undefined
  const type = form?.get('client_assertion_type') || undefined
  const hasOtherCredentials = authorization.length > 0 || Boolean(form?.get('client_secret'))
  if (headerAssertion === undefined && formAssertion === undefined && type === undefined) {
    const credentials = readCredentials(authorization, form)
    return credentials.ok ? ok({ method: 'secret', credentials: credentials.value }) : credentials
  }
  if (
    hasOtherCredentials ||
    secondHeaderAssertion !== undefined ||
    (headerAssertion !== undefined && formAssertion !== undefined)
  )
    return err('several')
  if (headerAssertion !== undefined)
    return form ? err('assertion-location') : readAssertionAuthentication(headerAssertion, undefined)
  if (formAssertion === undefined || type !== CLIENT_ASSERTION_TYPE) return err('assertion-type')
  return readAssertionAuthentication(formAssertion, form?.get('client_id') || undefined)
}

/**
 * Reads authentication by assertion. A `client_id` in the body must be the subject (RFC 7521 §4.2). If the assertion is
 * malformed, the result is not an error, so that the caller can count the failure for the client that the request names.
 */
function readAssertionAuthentication(
  text: string,
  bodyId: string | undefined,
): Result<ClientAuthentication, AuthenticationFault> {
  const assertion = parseAssertion(text)
  const subject = assertion.ok ? assertion.value.claims.sub : undefined
  if (subject !== undefined && bodyId !== undefined && bodyId !== subject) return err('mismatch')
  return ok({ method: 'assertion', clientId: subject ?? bodyId ?? '', assertion })
}
