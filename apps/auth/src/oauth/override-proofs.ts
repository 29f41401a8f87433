/*
 * Overrides how oidc-provider checks DPoP proofs (RFC 9449). `override-provider.ts` explains the format of the comments, and
 * `override-provider.test.ts` contains the tests that they name.
 */
import { Problem } from '@plainpath/http'
import type Provider from 'oidc-provider'
import type { ClientCredentials, TokenEndpointGrantContext } from 'oidc-provider'
import {
  checkDpopReplay,
  checkDpopRequired,
  type DPoPValidationResult,
  validateDpop,
} from 'oidc-provider/lib/helpers/grants.js'
import type { UsedProofStore } from '../clients/used-proof-store.ts'

export type MarkProofUsed = UsedProofStore['markUsed']

/**
 * The library looks for a proof and saves it in two steps, so simultaneous uses of a proof would all succeed. It would also
 * report a replay as `invalid_grant`, without a reason.
 *
 * Replaces `ReplayDetection.unique`, which the library calls with the client's id, `jti` and a time after the nonce has expired.
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

/** The checks of a DPoP proof, for grants that this server adds to the library. */
interface ProofChecks {
  /**
   * Validates the proof; call this first.
   *
   * @returns the proof; undefined if the request has none
   */
  validate(): Promise<DPoPValidationResult | undefined>
  /** Marks the proof as used, and binds the token to its key; call this last. */
  bind(token: ClientCredentials, proof: DPoPValidationResult | undefined): Promise<void>
}

/**
 * Checks a DPoP proof as the library's own grants do: its signature, its nonce and that it was not used before. A client that
 * registered `dpop_bound_access_tokens` must send a proof.
 *
 * Replaces nothing: it calls the functions from which the library's grants are made.
 * API      internal: typed, but according to the types, semantic versioning does not cover this module.
 * Test     'the checks for additional grants bind a token to the key of its proof'
 */
export const createProofChecks = (provider: Provider, ctx: TokenEndpointGrantContext): ProofChecks => ({
  validate: () => validateDpop(provider, ctx),
  async bind(token, proof) {
    checkDpopRequired(provider, ctx, proof)
    await checkDpopReplay(provider, ctx, proof, ctx.oidc.client.clientId)
    if (proof) token.setThumbprint('jkt', proof.thumbprint)
  },
})

/** The detail for proofs that fail the library's checks. `dpop-proof.ts` performs all other checks first. */
export const UNVERIFIED_PROOF_DETAIL =
  'The signature of the proof does not verify with the key in its header (jwk), or its claims exp or nbf exclude this moment. ' +
  'Sign with the private half of that key.'
