import { Problem, type ProblemCode } from '@plainpath/http'
import type { Context } from 'koa'
import { z } from 'zod'
import { BASIC_CHALLENGE } from '../clients/authenticate-client.ts'

const OAuthError = z.object({ error: z.string(), error_description: z.string().optional() })

const CODES: Readonly<Record<string, ProblemCode>> = {
  invalid_request: 'invalid-request',
  invalid_client: 'invalid-client',
  invalid_grant: 'invalid-grant',
  invalid_scope: 'invalid-scope',
  invalid_target: 'invalid-target',
  unauthorized_client: 'unauthorized-client',
  unsupported_grant_type: 'unsupported-grant-type',
  unsupported_token_type: 'unsupported-token-type',
  server_error: 'internal-error',
  temporarily_unavailable: 'unavailable',
}

/** What RFC 6749 §5.2 calls unauthorized_client, the library calls invalid_request. */
const NOT_ALLOWED_GRANT = 'requested grant type is not allowed for this client'

/**
 * Turns what oidc-provider answered to a failure into the problem that is answered instead.
 *
 * @throws {Problem} or what was thrown inside the library; returns when the answer is no failure
 */
export function throwProviderFailure(ctx: Context): void {
  const { thrown } = ctx.state
  if (thrown !== undefined) throw thrown
  if (ctx.status < 400) return
  const parsed = OAuthError.safeParse(ctx.body)
  if (!parsed.success) throw new Problem(ctx.status === 404 ? 'not-found' : 'invalid-request')
  const { error, error_description: description } = parsed.data
  const code = description === NOT_ALLOWED_GRANT ? 'unauthorized-client' : (CODES[error] ?? 'invalid-request')
  throw new Problem(code, {
    ...(description && code === 'invalid-request' && { detail: sentence(description) }),
    ...(code === 'invalid-client' && { headers: BASIC_CHALLENGE }),
  })
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
