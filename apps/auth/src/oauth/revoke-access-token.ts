import type { Stores } from '../stores.ts'

/**
 * Revokes one access token, and publishes the revocation.
 *
 * Call it also for a token that was not found. A revocation in progress may hide the token; if that revocation fails, the token
 * is active again. Publishing twice is harmless, and it is needed if the earlier request has not published yet, or failed to.
 *
 * @param hash the SHA-256 of the token
 */
export async function revokeAccessToken(
  {
    tokens,
    revocationPublisher,
  }: {
    tokens: Pick<Stores['tokens'], 'revoke'>
    revocationPublisher: Pick<Stores['revocationPublisher'], 'publish'>
  },
  hash: Buffer,
): Promise<void> {
  await tokens.revoke(hash)
  await revocationPublisher.publish({ kind: 'token', hash: hash.toString('base64url') })
}
