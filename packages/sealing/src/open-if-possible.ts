import { SealError } from './sealing-keys.ts'

/**
 * Runs `open`, which decrypts a value that is not essential to the caller. For example, an agent's access can be revoked even if the
 * agent's name, which the mail about the revocation contains, cannot be decrypted.
 *
 * @returns undefined if the value cannot be decrypted, for example because its key is missing
 */
export function openIfPossible<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}
