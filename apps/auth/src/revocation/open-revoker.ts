import { LEASE_MS, MARGIN_MS } from '@plainpath/revocation'
import { type AnnounceDeps, type Revoker, revoker } from './announce-end.ts'
import type { RevocationStore } from './revocation-store.ts'

const LOOK_MS = 1_000

/**
 * A revoker that looks at the store's mark each second until disposed, so that it has known it for long when something
 * ends, and names the right one in introspection answers.
 *
 * @throws when the store does not answer at the start
 */
export async function openRevoker(deps: {
  store: RevocationStore
  onAnnounced?: AnnounceDeps['onAnnounced']
}): Promise<Revoker & AsyncDisposable> {
  const spans = { leaseMs: LEASE_MS, marginMs: MARGIN_MS }
  const opened = revoker({ ...deps, spans, clock: performance })
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
  }, LOOK_MS)
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
