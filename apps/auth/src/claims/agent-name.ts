import type { SealingKeys } from '@plainpath/sealing'

/** Binds an encrypted name to its agent (associated data), so that rows cannot be swapped. */
export const nameEncryptionContext = (id: string) => `agents/${id}/name`

/** Decrypts the name of an agent. @throws {SealError} when its key-encryption key is gone */
export const openAgentName = (keys: SealingKeys, id: string, sealed: Buffer): string =>
  keys.open(sealed, nameEncryptionContext(id)).toString('utf8')
