/*
 * Overrides how oidc-provider checks DPoP proofs (RFC 9449), and calls its checks for agents. `override-provider.ts` explains the
 * format of the comments, and `override-provider.test.ts` contains the tests that they name.
 */
import { Problem } from '@plainpath/http'
import type { Context } from 'koa'
import Provider, { errors, type KoaContextWithOIDC, type TokenEndpointGrantContext } from 'oidc-provider'
import { checkDpopReplay, type DPoPValidationResult, validateDpop } from 'oidc-provider/lib/helpers/grants.js'
import type { UsedProofStore } from '../clients/used-proof-store.ts'
import { findAppRequest } from './app-request.ts'
import { createProviderProblem } from './provider-failure.ts'

export type MarkProofUsed = UsedProofStore['markUsed']

/**
 * The library looks up a proof and saves it in two steps, so simultaneous uses of a proof would all succeed. It would also
 * report a replay as `invalid_grant`, without a reason.
 *
 * Replaces `ReplayDetection.unique`, which the library calls with the client's id, `jti` and `exp`: the Unix time in seconds
 *          until which a replay must be recognised (later than the nonce's expiry).
 * API      public: typed.
 * Test     'marks each DPoP proof as used in one step'
 */
export function acceptProofsOnce(provider: Provider, markProofUsed: MarkProofUsed): void {
  provider.ReplayDetection.unique = async (clientId, jti, exp) => {
    if (await markProofUsed({ clientId, jti, expiresAt: new Date(exp * 1000) })) return true
    throw new Problem('invalid-dpop-proof', {
      detail: 'The proof was used before (jti). Make a new one for each request, with a new jti.',
    })
  }
}

/**
 * A refresh token that a public app gets with a proof must be bound to the key of the proof (RFC 9449 §5). Otherwise, whoever
 * steals it needs no key. The library binds only the tokens of clients without a secret, but for the library, every app has one
 * (`acceptInternalClientSecret`). An app that signs an assertion at each use needs no binding.
 *
 * Replaces `RefreshToken#save`, and calls the original.
 * API      public: `save` and `Provider.ctx` are typed; internal: that the library compares `jkt` with the proof at the next use.
 * Test     'binds the refresh token of a public app to the key of its proof'
 */
export function bindRefreshTokens(provider: Provider): void {
  const { prototype } = provider.RefreshToken
  const { save } = prototype
  prototype.save = async function saveBound(...lifetime) {
    const ctx = Provider.ctx
    if (ctx && findAppRequest(ctx)?.client.authMethod === 'none') {
      const proof = await validateDpop(provider, ctx as TokenEndpointGrantContext)
      if (proof) this.jkt ??= proof.thumbprint
    }
    return await save.apply(this, lifetime)
  }
}

/**
 * Validates the DPoP proof of a token request as the library's own grants do: its signature, claims and nonce.
 *
 * Replaces nothing: it calls the function that the library's grants call, with a context as the library creates it.
 * API      public: `OIDCContext`, typed; internal: that it reads `_matchedRouteName`, and `validateDpop`: its types say that
 *          semantic versioning does not cover it.
 * Test     'validates proofs for the grants of agents, and marks them as used'
 *
 * @returns undefined if the request has no proof
 * @throws {Problem} `invalid-dpop-proof` or `use-dpop-nonce`
 */
export async function validateProof(
  provider: Provider,
  ctx: Context,
): Promise<DPoPValidationResult | undefined> {
  if (ctx.req.headers['dpop'] === undefined) return undefined
  // The route tells the library which URL the proof must name.
  const routedContext = Object.assign(ctx as KoaContextWithOIDC, { _matchedRouteName: 'token' })
  Object.assign(ctx, { oidc: new provider.OIDCContext(routedContext) })
  try {
    return await validateDpop(provider, ctx as TokenEndpointGrantContext)
  } catch (error) {
    throw error instanceof errors.OIDCProviderError ? createProviderProblem(error) : error
  }
}

/**
 * Marks the proof that `validateProof` returned as used. Call it with the same `ctx`: the library throws a TypeError for a
 * context that `validateProof` has not prepared.
 *
 * Replaces nothing: see `validateProof`.
 * API      internal: `checkDpopReplay`, for the same reason as `validateDpop`.
 * Test     'validates proofs for the grants of agents, and marks them as used'
 *
 * @throws {Problem} `invalid-dpop-proof` if the proof was used before
 */
export const consumeProof = (
  provider: Provider,
  ctx: Context,
  proof: DPoPValidationResult,
  clientId: string,
): Promise<void> => checkDpopReplay(provider, ctx as TokenEndpointGrantContext, proof, clientId)
