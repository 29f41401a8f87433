import { AgentId } from '@plainpath/domain'
import { findHeaders, type Limiter, listNetworks, spendLimits } from '@plainpath/http'
import { CLIENT_ASSERTION_TYPE, type ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import type { AppClient, FindAppClient } from '../app-clients/app-client.ts'
import { FAILED_AUTHENTICATION } from '../limits.ts'
import { createAssertionVerifier, parseAssertion } from './client-assertion.ts'
import { invalidClient } from './invalid-client.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

export type AuthenticateApp = (ctx: Context, form: URLSearchParams) => Promise<AppClient>

/** Returns true if the `client_id` in a form can belong to an app: it has the form of one, or it is a URL. */
export const mayBeApp = (form: URLSearchParams): boolean =>
  /^(?:app_|https:\/\/)/.test(form.get('client_id') ?? '')

/**
 * Creates the function that authenticates an app at the token and revocation endpoints. A public app (`none`) sends
 * only its `client_id`; the code verifier or the token that it also sends protects the request. An app whose document
 * says `private_key_jwt` signs an assertion (RFC 7523). Its audience can be the issuer or the token endpoint, since
 * hosts send either.
 *
 * The function throws the problems `invalid-client` and `rate-limited`.
 */
export function createAppAuthenticator(deps: {
  find: FindAppClient
  usedJtis: Pick<UsedJtiStore, 'markUsedByApp'>
  urls: Pick<ServiceUrls, 'origin' | 'token'>
  limiter: Limiter
  now: () => Date
}): AuthenticateApp {
  const { find, usedJtis, urls, limiter, now } = deps
  const verifyForIssuer = createAssertionVerifier(urls.origin)
  const verifyForEndpoint = createAssertionVerifier(urls.token)

  async function hasValidAssertion(client: AppClient, form: URLSearchParams): Promise<boolean> {
    const assertion = parseAssertion(form.get('client_assertion') ?? '')
    const id = AgentId.safeParse(client.id)
    if (!assertion.ok || !id.success || form.get('client_assertion_type') !== CLIENT_ASSERTION_TYPE)
      return false
    const verify = assertion.value.claims.aud === urls.token ? verifyForEndpoint : verifyForIssuer
    const verified = await verify(assertion.value, { id: id.data, keys: client.keys }, now())
    return verified.ok && (await usedJtis.markUsedByApp(verified.value))
  }

  return async (ctx, form) => {
    const id = form.get('client_id') ?? ''
    if (findHeaders(ctx.req, 'authorization').length > 0 || form.get('client_secret'))
      throw invalidClient(NO_SECRET)
    const client = await find(ctx, id)
    if (!client) throw invalidClient(UNKNOWN)
    if (client.authMethod === 'private_key_jwt' && !(await hasValidAssertion(client, form))) {
      const [nearest] = listNetworks(String(ctx.state['address']))
      spendLimits(ctx, await limiter.take(FAILED_AUTHENTICATION, `${nearest?.network}\n${id}`))
      throw invalidClient(UNPROVEN)
    }
    return client
  }
}

const NO_SECRET = 'An app has no secret. Send client_id as a form field, without an Authorization header.'
const UNKNOWN =
  'This app is not known here, or not any more. Register it again, or send the URL of its document.'
const UNPROVEN =
  'The document of this app asks for private_key_jwt: send a client_assertion that one of its keys signed, with the issuer as aud.'
