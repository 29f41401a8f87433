import { equalBytes, type HashKey, sha256 } from '@plainpath/sealing'

/**
 * Derives the secret of the link that ends a claim. Only its SHA-256 is stored, and yet each later mail about the agent can
 * have the same link.
 */
export const endLinkSecret = (hashKey: HashKey, claimId: string): string =>
  hashKey.hash('claim-end-link', claimId).toString('base64url')

/** Derives it for a stored claim. @returns undefined when its link has another secret: that of an earlier release, or of an earlier hash key */
export function storedEndLinkSecret(
  hashKey: HashKey,
  claimId: string,
  endLinkHash: Buffer,
): string | undefined {
  const secret = endLinkSecret(hashKey, claimId)
  return equalBytes(sha256(secret), endLinkHash) ? secret : undefined
}
