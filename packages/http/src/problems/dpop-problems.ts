import { RULES } from '@plainpath/domain'

/**
 * The problems with DPoP proofs (RFC 9449). The API responds with `invalid-token-proof`, and the authorization server with
 * the others.
 */
export const DPOP_PROBLEMS = {
  'invalid-dpop-proof': {
    status: 400,
    title: 'The DPoP proof is not valid',
    meaning:
      'The DPoP header does not prove that this client can sign with the key in it. No token was issued.',
    remedy: `The member detail names the mistake. Make a new proof for each request; it is accepted for ${RULES.dpopProofMs / 1000} seconds.`,
    oauth: 'invalid_dpop_proof',
  },
  'use-dpop-nonce': {
    status: 400,
    title: 'The DPoP proof needs a nonce of this server',
    meaning:
      'The proof has no nonce, or one that this server did not issue within the last minutes. No token was issued.',
    remedy:
      'Make a new proof whose claim nonce is the value of the DPoP-Nonce header of this response, and send the request again.',
    oauth: 'use_dpop_nonce',
  },
  'dpop-proof-required': {
    status: 400,
    title: 'A DPoP proof is required',
    meaning:
      'This client gets the requested token only if it is bound to a key (RFC 9449). The request has no DPoP header.',
    remedy: 'Send a DPoP proof with the request. GET /api/agent says why it is required.',
    oauth: 'invalid_dpop_proof',
  },
  'invalid-token-proof': {
    status: 401,
    title: 'The proof that came with the token is not valid',
    meaning:
      'The token is bound to a key, and the DPoP header does not prove that this request was made with that key (RFC 9449).',
    remedy:
      'The member detail names the mistake. Make a new proof for each request, with its own jti, htm, htu, iat and ath. The token is still valid.',
    oauth: 'invalid_dpop_proof',
  },
} as const
