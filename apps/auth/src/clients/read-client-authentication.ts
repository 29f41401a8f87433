import { err, ok, type Result } from '@plainpath/domain'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { type ClientAssertion, parseAssertion } from './client-assertion.ts'
import { type ClientCredentials, type CredentialsFault, readCredentials } from './read-credentials.ts'

/** What a client shows: a secret, or an assertion, which is undefined when it can be none. */
export type ClientAuthentication =
  | { readonly method: 'secret'; readonly credentials: ClientCredentials }
  | {
      readonly method: 'assertion'
      readonly clientId: string
      readonly assertion: ClientAssertion | undefined
    }

/** `assertion-type`: missing, another one, or without an assertion. `assertion-place`: a header beside a form. */
export type AuthenticationFault = CredentialsFault | 'assertion-type' | 'assertion-place'

export interface AuthenticationHeaders {
  /** Every header of that name. */
  readonly authorization: readonly string[]
  readonly clientAssertion: readonly string[]
}

/**
 * Client authentication by secret (RFC 6749 §2.3.1) or by assertion: in the form (RFC 7523 §2.2), or, where an endpoint
 * has no form, in the header `Client-Assertion` (decision 0010).
 *
 * @param form the body, where the endpoint has one
 */
export function readClientAuthentication(
  { authorization, clientAssertion }: AuthenticationHeaders,
  form?: URLSearchParams,
): Result<ClientAuthentication, AuthenticationFault> {
  const [inHeader, another] = clientAssertion
  const inForm = form?.get('client_assertion') || undefined
  const type = form?.get('client_assertion_type') || undefined
  const sentBeside = authorization.length > 0 || Boolean(form?.get('client_secret'))
  if (inHeader === undefined && inForm === undefined && type === undefined) {
    const read = readCredentials(authorization, form)
    return read.ok ? ok({ method: 'secret', credentials: read.value }) : read
  }
  if (sentBeside || another !== undefined || (inHeader !== undefined && inForm !== undefined))
    return err('several')
  if (inHeader !== undefined) return form ? err('assertion-place') : fromAssertion(inHeader, undefined)
  if (inForm === undefined || type !== CLIENT_ASSERTION_TYPE) return err('assertion-type')
  return fromAssertion(inForm, form?.get('client_id') || undefined)
}

function fromAssertion(
  text: string,
  bodyId: string | undefined,
): Result<ClientAuthentication, AuthenticationFault> {
  const assertion = parseAssertion(text)
  if (assertion && bodyId !== undefined && bodyId !== assertion.claims.sub) return err('mismatch')
  return ok({ method: 'assertion', clientId: assertion?.claims.sub ?? bodyId ?? '', assertion })
}
