import { SealError } from './sealing-keys.ts'

/**
 * Runs `open`, which decrypts a value that the caller can do without. For example, an agent's access can be revoked even if the
 * agent's name in the mail about it cannot be decrypted.
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
