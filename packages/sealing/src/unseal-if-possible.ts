import { UnsealError } from './sealer.ts'

/**
 * Calls `unseal`, which decrypts a value that is not essential to the caller. For example, an agent's access can be revoked even if
 * the agent's name, which the mail about the revocation contains, cannot be decrypted.
 *
 * @returns undefined if `unseal` throws an `UnsealError`, for example because the key of the value is missing
 * @throws any other error of `unseal`
 */
export function unsealIfPossible<T>(unseal: () => T): T | undefined {
  try {
    return unseal()
  } catch (error) {
    if (error instanceof UnsealError) return undefined
    throw error
  }
}
