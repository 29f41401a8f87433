import type * as revocationWait from '@plainpath/auth/revocation-wait'
import type * as revocationSubscriber from '@plainpath/resource/revocation-subscriber'
import { REVOCATION, type RevocationNotification } from '@plainpath/revocation'
import type { StoreModel } from './store-model.ts'
import type { Randomness, VirtualTime } from './virtual-time.ts'

/** The code under test: the pure functions of both apps, or mutants of them. */
export interface Parts {
  readonly createRevocationSubscriber: typeof revocationSubscriber.createRevocationSubscriber
  readonly decideNextStep: typeof revocationWait.decideNextStep
  readonly updateKnownMark: typeof revocationWait.updateKnownMark
}

/** A process of the API: it receives revocations over a connection that may fail, and serves requests. */
export interface ApiProcess {
  request(token: string): void
  /** Delivers a notification if the process is subscribed now and the connection does not fail. */
  publish(notice: RevocationNotification): void
  cut(): void
  /** Keeps the connection open but transmits nothing, until the process times it out. */
  fallSilent(): void
  /** Suspends the process while its clock continues. */
  pause(ms: number): void
  /** Delays all data from the store, for two seconds. */
  slowDown(ms: number): void
}

/** A process of the authorization server: it serves introspections, and revokes. */
export interface RevokingProcess {
  /** Revokes a token, or a client with all of its tokens. */
  revoke(tokens: readonly string[], kind: 'token' | 'client', onResponse: () => void): void
  /** Returns the response to an introspection at this moment. */
  introspect(token: string): { active: boolean; mark: string | undefined }
}

/** The state that all processes of a simulation share. */
export interface World {
  readonly parts: Parts
  readonly time: VirtualTime
  readonly random: Randomness
  readonly store: StoreModel
  readonly apis: ApiProcess[]
  readonly revokers: RevokingProcess[]
  /** The time until which no process can reach the store. */
  storeUnavailableUntil: number
  /** The time of the first acknowledged revocation of each token. */
  readonly respondedAt: Map<string, number>
  readonly violations: string[]
  granted: number
  fromMemory: number
}

export const { intervals: INTERVALS } = REVOCATION
