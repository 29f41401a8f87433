import type { Revoker } from './revoker.ts'

/**
 * Looks at the store's mark twice per lease until disposed, so that the revoker knows the mark long before a revocation,
 * and introspection responses name the right one.
 *
 * @throws when the store does not answer at the start
 */
export async function followMark(revoker: Revoker, leaseMs: number): Promise<AsyncDisposable> {
  await revoker.look()
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    // An outage is reported by the connection; until it is over, what was known stays true or is refused by APIs.
    looking ??= revoker
      .look()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined
      })
  }, leaseMs / 2)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}

/** Where no API keeps answers that this authorization server gave. */
export const nobodyToTell: Revoker = {
  announceEnd: async () => undefined,
  mark: undefined,
  look: async () => undefined,
}
