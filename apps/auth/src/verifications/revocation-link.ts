import { type HashKey, sha256, timingSafeEqualBytes } from '@plainpath/sealing'

/**
 * Derives the secret of the link that revokes a verification. The verification stores only its SHA-256. Later mails about the
 * agent contain the same link, because the secret can be derived again.
 */
export const deriveRevocationSecret = (hashKey: HashKey, verificationId: string): string =>
  hashKey.hash('claim-end-link', verificationId).toString('base64url')

/**
 * Derives the secret for a stored verification.
 *
 * @returns undefined if the link has another secret, from an earlier release or an earlier hash key
 */
export function deriveStoredRevocationSecret(
  hashKey: HashKey,
  verificationId: string,
  endLinkHash: Buffer,
): string | undefined {
  const secret = deriveRevocationSecret(hashKey, verificationId)
  return timingSafeEqualBytes(sha256(secret), endLinkHash) ? secret : undefined
}
