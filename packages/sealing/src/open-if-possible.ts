import { SealError } from './sealing-keys.ts'

/**
 * Runs `open`, which decrypts a value for a mail.
 *
 * @returns undefined if the value cannot be decrypted, for example without its key. The action that the mail reports, such as
 *   revoking an agent's access, must still succeed
 */
export function openIfPossible<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}
