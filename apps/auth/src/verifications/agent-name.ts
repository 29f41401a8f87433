import type { SealingKeys } from '@plainpath/sealing'

/** Returns the encryption context that binds an encrypted name to its agent. A name copied to another agent's row cannot be decrypted. */
export const toNameEncryptionContext = (id: string) => `agents/${id}/name`

/**
 * Decrypts the name of an agent.
 *
 * @throws {SealError} if its key-encryption key is missing
 */
export const decryptAgentName = (keys: SealingKeys, id: string, sealed: Buffer): string =>
  keys.open(sealed, toNameEncryptionContext(id)).toString('utf8')
