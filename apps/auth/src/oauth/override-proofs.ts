/*
 * What this server changes in how oidc-provider checks DPoP proofs (RFC 9449). `override-provider.ts` says how to read
 * the comments, and its test has the tests that they name.
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

export type UseProof = UsedProofStore['use']

/**
 * The library finds and then saves, so that of several simultaneous uses of a proof each succeeds. It would also report
 * the replay as `invalid_grant`, without a reason.
 *
 * Replaces `ReplayDetection.unique`, which it calls with the client's id, `jti` and a time after the nonce has expired.
 * API      public: typed.
 * Test     'marks each DPoP proof as used in one step'
 */
export function useProofsOnce(provider: Provider, useProof: UseProof): void {
  provider.ReplayDetection.unique = async (clientId, jti, exp) => {
    if (await useProof({ clientId, jti, expiresAt: new Date(exp * 1000) })) return true
    throw new Problem('invalid-dpop-proof', {
      detail: 'The proof was used before (jti). Make a new one for each request, with a new jti.',
    })
  }
}

/** The checks of a DPoP proof, for a grant of our own. */
interface ProofChecks {
  /** Call it first. @returns the proof; undefined when the request has none */
  validate(): Promise<DPoPValidationResult | undefined>
  /** Call it last: marks the proof as used, and binds the token to its key. */
  bind(token: ClientCredentials, proof: DPoPValidationResult | undefined): Promise<void>
}

/**
 * Checks a DPoP proof as the library's own grants do: its signature and nonce, that it is new, and that there is one
 * where the client registered `dpop_bound_access_tokens`.
 *
 * Replaces nothing: it calls the functions from which the library's grants are made.
 * API      internal: typed, but the types say that semantic versioning does not cover this module.
 * Test     'the checks for own grants bind a token to the key of its proof'
 */
export const proofChecks = (provider: Provider, ctx: TokenEndpointGrantContext): ProofChecks => ({
  validate: () => validateDpop(provider, ctx),
  async bind(token, proof) {
    checkDpopRequired(provider, ctx, proof)
    await checkDpopReplay(provider, ctx, proof, ctx.oidc.client.clientId)
    if (proof) token.setThumbprint('jkt', proof.thumbprint)
  },
})

/** What is left to the library to find: `dpop-proof.ts` has judged the rest. */
export const UNVERIFIED_PROOF =
  'The signature of the proof does not verify with the key in its header (jwk), or its claims exp or nbf exclude this moment. ' +
  'Sign with the private half of that key.'
