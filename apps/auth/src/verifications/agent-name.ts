import type { Sealer } from '@plainpath/sealing'

/** Returns the encryption context that binds an encrypted name to its agent. A name copied to another agent's row cannot be decrypted. */
export const toNameEncryptionContext = (id: string) => `agents/${id}/name`

/**
 * Decrypts the name of an agent.
 *
 * @throws {UnsealError} if its key-encryption key is missing
 */
export const decryptAgentName = (sealer: Sealer, id: string, sealed: Buffer): string =>
  sealer.unseal(sealed, toNameEncryptionContext(id)).toString('utf8')
