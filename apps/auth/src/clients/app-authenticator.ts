import { AgentId } from '@plainpath/domain'
import { enforceLimits, findHeaders, type Limiter, listNetworks } from '@plainpath/http'
import { CLIENT_ASSERTION_TYPE, type ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import type { AppClient, FindAppClient } from '../app-clients/app-client.ts'
import { FAILED_AUTHENTICATION_LIMIT } from '../limits.ts'
import { createAssertionVerifier, parseAssertion } from './client-assertion.ts'
import { createInvalidClientProblem } from './invalid-client.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

export type AuthenticateApp = (ctx: Context, form: URLSearchParams) => Promise<AppClient>

/** Returns true if the `client_id` in a form can belong to an app: it looks like the id of a registered app, or it is a URL. */
export const mayBeApp = (form: URLSearchParams): boolean =>
  /^(?:app_|https:\/\/)/.test(form.get('client_id') ?? '')

/**
 * Creates the function that authenticates an app at the token and revocation endpoints. A public app (`none`) sends
 * only its `client_id`: the code verifier or the token in the request proves its right to make the request. An app
 * whose document says `private_key_jwt` signs an assertion (RFC 7523). The assertion's audience can be the issuer or the
 * token endpoint, since hosts send either.
 *
 * The returned function throws the problems `invalid-client`, `rate-limited` and, if the app's keys have expired and its document
 * cannot be fetched, `unavailable`.
 */
export function createAppAuthenticator(deps: {
  findAppClient: FindAppClient
  usedJtis: Pick<UsedJtiStore, 'markUsedByApp'>
  urls: Pick<ServiceUrls, 'origin' | 'token'>
  limiter: Limiter
  now: () => Date
}): AuthenticateApp {
  const { findAppClient, usedJtis, urls, limiter, now } = deps
  const verifyForIssuer = createAssertionVerifier(urls.origin)
  const verifyForTokenEndpoint = createAssertionVerifier(urls.token)

  /** Returns true if the form has a valid assertion that was not used before. Marks it as used. */
  async function consumeAssertion(client: AppClient, form: URLSearchParams): Promise<boolean> {
    const assertion = parseAssertion(form.get('client_assertion') ?? '')
    // Only an app with a URL has keys, and its URL is also a valid AgentId.
    const id = AgentId.safeParse(client.id)
    if (!assertion.ok || !id.success || form.get('client_assertion_type') !== CLIENT_ASSERTION_TYPE)
      return false
    const verify = assertion.value.claims.aud === urls.token ? verifyForTokenEndpoint : verifyForIssuer
    const verified = await verify(assertion.value, { id: id.data, keys: client.keys }, now())
    return verified.ok && (await usedJtis.markUsedByApp(verified.value))
  }

  return async (ctx, form) => {
    const id = form.get('client_id') ?? ''
    if (findHeaders(ctx.req, 'authorization').length > 0 || form.get('client_secret'))
      throw createInvalidClientProblem(NO_SECRET_DETAIL)
    const client = await findAppClient(ctx, id)
    if (!client) throw createInvalidClientProblem(UNKNOWN_APP_DETAIL)
    if (client.authMethod === 'private_key_jwt' && !(await consumeAssertion(client, form))) {
      // Failures are counted per address (IPv6 by /64) and client id, as for agents.
      const [callerNetwork] = listNetworks(String(ctx.state['address']))
      enforceLimits(ctx, await limiter.take(FAILED_AUTHENTICATION_LIMIT, `${callerNetwork?.network}\n${id}`))
      throw createInvalidClientProblem(INVALID_ASSERTION_DETAIL)
    }
    return client
  }
}

const NO_SECRET_DETAIL =
  'An app has no secret. Send client_id as a form field, without an Authorization header.'
const UNKNOWN_APP_DETAIL =
  'The client_id names no app that this server accepts. Register the app again, or check the document at its URL.'
const INVALID_ASSERTION_DETAIL =
  'The document of this app asks for private_key_jwt: send a client_assertion that one of its keys signed, with the issuer as aud.'
