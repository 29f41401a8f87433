/* Determines an agent token's scope and lifetime, and whether the token must be bound to a key. */
import { type Agent, err, ok, type Result, RULES, type Scope } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import type { Context } from 'koa'
import { z } from 'zod'
import { DOCUMENT_EXPIRES_AT } from '../clients/client-authenticator.ts'
import { createInvalidClientProblem } from '../clients/invalid-client.ts'

const TOKEN_SECONDS = RULES.tokenMs / 1000
const DocumentExpiry = z.date().optional()

/**
 * Computes the lifetime, in seconds, of a token for the authenticated client: one hour, or less if the stored copy of the
 * client's document expires sooner. A token for a key that was removed from the document is therefore invalid once that copy
 * expires.
 *
 * @throws {Problem} `invalid-client` if the copy expired after the client was authenticated
 */
export function computeTokenSeconds({ state }: Pick<Context, 'state'>, now: Date): number {
  const expiresAt = DocumentExpiry.parse(state[DOCUMENT_EXPIRES_AT])
  if (expiresAt === undefined) return TOKEN_SECONDS
  const remainingSeconds = Math.floor((expiresAt.getTime() - now.getTime()) / 1000)
  if (remainingSeconds < 1)
    throw createInvalidClientProblem(
      'The stored copy of your document has just expired. Send the request again.',
    )
  return Math.min(TOKEN_SECONDS, remainingSeconds)
}

/**
 * Rejects a token request without a DPoP proof if the client registered `dpop_bound_access_tokens`.
 *
 * @throws {Problem} `dpop-proof-required`
 */
export function requireProof(ctx: Context, { dpopBound }: Pick<Agent, 'dpopBound'>): void {
  if (dpopBound && !ctx.get('dpop'))
    throw new Problem('dpop-proof-required', { detail: PROOF_REQUIRED_DETAIL })
}

const PROOF_REQUIRED_DETAIL =
  'This client registered dpop_bound_access_tokens, so each token request needs a proof: send one in the DPoP header (RFC 9449).'

/** The syntax of `scope` (RFC 6749 §3.3). */
const SCOPE_PATTERN = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/

/**
 * Reads the `scope` parameter.
 *
 * @returns undefined if the request does not name any scope
 * @throws {Problem} `invalid-scope` for characters that a scope cannot have
 */
export function readRequestedScope(form: URLSearchParams): string | undefined {
  const requested = form.get('scope')
  if (!requested?.trim()) return undefined
  if (!SCOPE_PATTERN.test(requested)) throw new Problem('invalid-scope')
  return requested
}

/**
 * Determines the scope of a token: the requested scopes that the client is allowed (RFC 6749 §3.3), or all allowed scopes if the
 * request does not name any.
 *
 * @param requested the `scope` parameter; an empty string counts as absent
 * @returns the granted scopes, separated by spaces; `no-scope-granted` if the client is allowed none of the requested scopes, or
 *   no scope at all
 */
export function grantScope(
  requested: string | undefined,
  allowed: readonly Scope[],
): Result<string, 'no-scope-granted'> {
  const requestedScopes = requested?.split(' ').filter(Boolean) ?? []
  const granted =
    requestedScopes.length === 0 ? allowed : allowed.filter((scope) => requestedScopes.includes(scope))
  return granted.length > 0 ? ok(granted.join(' ')) : err('no-scope-granted')
}
