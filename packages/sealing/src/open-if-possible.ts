import { SealError } from './sealing-keys.ts'

/**
 * Runs `open`, which decrypts something that a mail needs.
 *
 * @returns undefined when the key-encryption key is gone: that must not prevent what the mail is about, such as the end of an
 *   agent's access
 */
export function openIfPossible<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}
