/*
 * Replaces the error responses of oidc-provider. `override-provider.ts` explains the format of the comments, and
 * `override-provider.test.ts` contains the tests that they name.
 */
import { capitalise } from '@plainpath/domain'
import { Problem, type ProblemCode } from '@plainpath/http'
import type { Context } from 'koa'
import { z } from 'zod'
import { BASIC_CHALLENGE_HEADERS } from '../clients/invalid-client.ts'

const OAuthError = z.object({ error: z.string(), error_description: z.string().optional() })

/** The problems for the library's error codes. Any other code becomes `invalid-request`. */
const PROBLEM_CODES: Readonly<Record<string, ProblemCode>> = {
  invalid_request: 'invalid-request',
  invalid_client: 'invalid-client',
  invalid_grant: 'invalid-grant',
  invalid_scope: 'invalid-scope',
  invalid_target: 'invalid-target',
  invalid_dpop_proof: 'invalid-dpop-proof',
  use_dpop_nonce: 'use-dpop-nonce',
  server_error: 'internal-error',
  temporarily_unavailable: 'unavailable',
}

/**
 * Throws the problem that corresponds to an error response of oidc-provider.
 *
 * Replaces the library's error responses.
 * API      public: RFC 6749 §5.2 defines their members.
 * Test     'converts the library error %s to the problem %s'
 *
 * @throws {Problem} or any error that was thrown inside the library; nothing if the response is not an error
 */
export function throwProviderFailure(ctx: Context): void {
  if (ctx.state['thrown'] !== undefined) throw ctx.state['thrown']
  if (ctx.status < 400) return
  const { data, success } = OAuthError.safeParse(ctx.body)
  if (!success) throw new Problem(ctx.status === 404 ? 'not-found' : 'invalid-request')
  throw createProviderProblem(data)
}

/** Creates the problem for an error of oidc-provider. Only `invalid-request` repeats the library's description. */
export function createProviderProblem({
  error,
  error_description: description,
}: {
  error: string
  error_description?: string | undefined
}): Problem {
  const code = PROBLEM_CODES[error] ?? 'invalid-request'
  return new Problem(code, {
    ...(description && code === 'invalid-request' && { detail: `${capitalise(description)}.` }),
    ...(code === 'invalid-dpop-proof' && { detail: UNVERIFIED_PROOF_DETAIL }),
    ...(code === 'invalid-client' && { headers: BASIC_CHALLENGE_HEADERS }),
  })
}

/** The detail for proofs that fail the library's checks. `dpop-proof.ts` performs all other checks first. */
const UNVERIFIED_PROOF_DETAIL =
  'The signature of the proof does not verify with the key in its header (jwk), or its claims exp or nbf exclude this moment. ' +
  'Sign with the private half of that key.'
