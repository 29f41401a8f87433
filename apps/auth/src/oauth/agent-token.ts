/* What the token of an agent may be: its scope, its lifetime, and whether it must be bound to a key. */
import { err, ok, type Result, RULES, type Scope } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import type { Context } from 'koa'
import { z } from 'zod'
import { DOCUMENT_EXPIRES_AT } from '../clients/authenticate-client.ts'
import { invalidClient } from '../clients/invalid-client.ts'

const TOKEN_SECONDS = RULES.tokenMs / 1000
const DocumentExpiry = z.date().optional()

/**
 * Returns the lifetime of a token that the client of the request may get, in seconds: an hour, or the rest of the lifetime
 * of the document that the client's keys are from. A key that is gone from a document therefore has no token once the
 * stored document has expired.
 *
 * @throws {Problem} `invalid-client` when it expired since the client was authenticated
 */
export function tokenSeconds({ state }: Pick<Context, 'state'>, now: Date): number {
  const expiresAt = DocumentExpiry.parse(state[DOCUMENT_EXPIRES_AT])
  if (expiresAt === undefined) return TOKEN_SECONDS
  const left = Math.floor((expiresAt.getTime() - now.getTime()) / 1000)
  if (left < 1)
    throw invalidClient('The stored copy of your document has just expired. Send the request again.')
  return Math.min(TOKEN_SECONDS, left)
}

/**
 * Refuses a request without a DPoP proof for a client that registered `dpop_bound_access_tokens`. The library does so too,
 * but as `invalid_grant` and without a reason.
 */
export function requireProof(
  ctx: Context,
  client: { readonly dpopBoundAccessTokens?: boolean | undefined },
): void {
  if (client.dpopBoundAccessTokens && !ctx.get('dpop'))
    throw new Problem('dpop-proof-required', { detail: ALL_ARE_BOUND })
}

const ALL_ARE_BOUND =
  'This client registered dpop_bound_access_tokens, so each token request needs a proof: send one in the DPoP header (RFC 9449).'

/**
 * Determines the scope of a token: the requested scope, narrowed to what the client may have (RFC 6749 §3.3), or all of
 * that when the request has no scope.
 *
 * @param requested the `scope` parameter; empty counts as absent
 */
export function grantScope(
  requested: string | undefined,
  allowed: readonly Scope[],
): Result<string, 'nothing-left'> {
  const words = requested?.split(' ').filter(Boolean) ?? []
  const granted = words.length === 0 ? allowed : allowed.filter((scope) => words.includes(scope))
  return granted.length > 0 ? ok(granted.join(' ')) : err('nothing-left')
}
