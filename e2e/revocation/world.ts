import type * as revocationWait from '@plainpath/auth/revocation-wait'
import type * as revocationSubscriber from '@plainpath/resource/revocation-subscriber'
import { REVOCATION, type RevocationNotification } from '@plainpath/revocation'
import type { StoreModel } from './store-model.ts'
import type { Random, VirtualTime } from './virtual-time.ts'

/*
 * The types of a simulation of revocations. `docs/revocation/README.md` defines its terms: *R-LIN* is the tested guarantee, a
 * *lease* lets an API process use its cache, and a *mark* identifies the data of the store until the store loses them.
 * Times are in milliseconds of virtual time.
 */

/** The code under test: the pure functions of both apps, or mutants of them. */
export interface CodeUnderTest {
  readonly createRevocationSubscriber: typeof revocationSubscriber.createRevocationSubscriber
  readonly decideNextStep: typeof revocationWait.decideNextStep
  readonly updateKnownMark: typeof revocationWait.updateKnownMark
}

/** A process of the API: it receives revocations over a connection that may fail, and serves requests. */
export interface ApiProcess {
  /**
   * Sends a request with the token to the process. Records a violation if the request is accepted although it began after the response
   * to the token's revocation.
   */
  request(token: string): void
  /** Delivers a notification, if the process is subscribed now and the connection does not fail meanwhile. */
  deliver(notification: RevocationNotification): void
  /** Breaks the connection to the store. */
  cut(): void
  /** Keeps the connection open but transmits nothing. The process closes it after a time-out. */
  becomeHalfOpen(): void
  /** Suspends the process while its clock continues to run. */
  pause(ms: number): void
  /** For two seconds, delays each message from the store by up to `ms`. */
  slowDown(ms: number): void
}

/** A process of the authorization server: it serves introspections, and revokes. */
export interface RevokingProcess {
  /** Revokes one token, or a client with all its tokens. Calls `onResponse` when the process would respond. */
  revoke(tokens: readonly string[], kind: 'token' | 'client', onResponse: () => void): void
  /** Returns the response to an introspection at this moment. */
  introspect(token: string): { active: boolean; mark: string | undefined }
}

/** The state that all processes of a simulation share. */
export interface World {
  readonly codeUnderTest: CodeUnderTest
  readonly time: VirtualTime
  readonly random: Random
  readonly store: StoreModel
  readonly apis: ApiProcess[]
  readonly revokers: RevokingProcess[]
  /** The time until which no process can reach the store. */
  storeUnavailableUntil: number
  /** For each token, the time of the first response to a revocation. */
  readonly respondedAt: Map<string, number>
  /** A description of each violation of R-LIN. */
  readonly violations: string[]
  /** The number of requests that were accepted. */
  accepted: number
  /** The number of requests that were accepted because of a cached introspection. */
  acceptedFromCache: number
}

/** The production values, in milliseconds: the lease, the time between its renewals, and the margin of the revoker. */
export const { intervals: INTERVALS } = REVOCATION
