import type { RevocationIntervals } from '@plainpath/revocation'
import { type AnnounceDeps, type Revoker, revoker } from './announce-end.ts'
import type { RevocationStore } from './revocation-store.ts'

/**
 * A revoker that polls the store's mark twice per lease until disposed, so that it knows the mark long before a revocation,
 * and names the right one in introspection responses.
 *
 * @throws when the store does not answer at the start
 */
export async function openRevoker(deps: {
  store: RevocationStore
  intervals: RevocationIntervals
  onAnnounced?: AnnounceDeps['onAnnounced']
}): Promise<Revoker & AsyncDisposable> {
  const opened = revoker({ ...deps, clock: performance })
  await opened.look()
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    // An outage is reported by the connection; until it is over, what was known stays true or is refused by APIs.
    looking ??= opened
      .look()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined
      })
  }, deps.intervals.leaseMs / 2)
  return {
    announceEnd: opened.announceEnd,
    look: opened.look,
    get mark() {
      return opened.mark
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}

/** Where no API keeps answers that this authorization server gave. */
export const nobodyToTell: Pick<Revoker, 'announceEnd' | 'mark'> = {
  announceEnd: async () => undefined,
  mark: undefined,
}
