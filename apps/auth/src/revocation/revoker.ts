import { setTimeout as sleep } from 'node:timers/promises'
import type { Ended } from '@plainpath/revocation'
import type { AuthEvents } from '../events.ts'
import type { RevocationStore } from './revocation-store.ts'
import { type KnownMark, knowMark, nextStep, type Seen, type WaitIntervals } from './revocation-wait.ts'

/**
 * Tells every API that something ended, and returns when none uses an answer about it from memory any more (R-LIN). It runs after the end itself is done: deleted, or committed.
 *
 * @throws when the store does not answer; then nobody knows, and it must be announced again
 */
type AnnounceEnd = (ended: Ended) => Promise<void>

export interface AnnounceDeps {
  readonly store: RevocationStore
  readonly intervals: WaitIntervals
  /** Milliseconds that only rise. */
  readonly clock: { now(): number }
  readonly events: AuthEvents
}

/** Announces ends, and knows the store's mark. */
export interface Revoker {
  readonly announceEnd: AnnounceEnd
  /** The mark that was seen last. */
  readonly mark: string | undefined
  /** Looks at the mark. @throws when the store does not answer */
  look(): Promise<void>
}

export function createRevoker({ store, intervals, clock, events }: AnnounceDeps): Revoker {
  let known: KnownMark | undefined

  async function announceEnd(ended: Ended): Promise<void> {
    const { mark, number } = await store.raise(ended)
    const raised = { mark, number, at: clock.now() }
    known = knowMark(known, mark, raised.at)
    let seen: Seen | undefined
    for (let looks = 0; ; looks += 1) {
      const step = nextStep(raised, { known, looks, seen }, clock.now(), intervals)
      if (step.do !== 'look') {
        const struckOff = step.do === 'answer' ? 0 : await store.strikeOff(mark, number)
        events.emit('end-announced', { seconds: (clock.now() - raised.at) / 1000, struckOff })
        return
      }
      await sleep(Math.max(1, Math.ceil(step.at - clock.now())))
      seen = await store.pending(number)
    }
  }

  return {
    announceEnd,
    get mark() {
      return known?.mark
    },
    async look() {
      const mark = await store.look()
      known = knowMark(known, mark, clock.now())
    },
  }
}
