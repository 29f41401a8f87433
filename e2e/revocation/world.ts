import type * as revocationWait from '@plainpath/auth/revocation-wait'
import type * as revocationMember from '@plainpath/resource/revocation-member'
import { REVOCATION, type RevocationNotification } from '@plainpath/revocation'
import type { StoreModel } from './store-model.ts'
import type { Randomness, VirtualTime } from './virtual-time.ts'

/** The code under test: the pure files of both apps, or mutants of them. */
export interface Parts {
  readonly revocationMember: typeof revocationMember.revocationMember
  readonly nextStep: typeof revocationWait.nextStep
  readonly knowMark: typeof revocationWait.knowMark
}

/** A process of the API: it follows revocations over a connection that may fail, and answers requests. */
export interface ApiProcess {
  request(token: string): void
  /** The store publishes; whoever is subscribed at this moment will hear it, unless the connection fails. */
  publish(notice: RevocationNotification): void
  cut(): void
  /** The connection stays open and carries nothing, until somebody minds the silence. */
  fallSilent(): void
  /** The process stands still; its clock does not. */
  pause(ms: number): void
  /** Whatever the store sends takes longer, for two seconds. */
  slowDown(ms: number): void
}

/** A process of the authorization server: it answers introspection, and revokes. */
export interface RevokingProcess {
  revoke(token: string, kind: 'token' | 'client', onAnswered: () => void): void
  /** What an introspection that reaches it now answers. */
  introspect(token: string): { active: boolean; mark: string | undefined }
}

/** Everything that processes share. */
export interface World {
  readonly parts: Parts
  readonly time: VirtualTime
  readonly random: Randomness
  readonly store: StoreModel
  readonly apis: ApiProcess[]
  readonly revokers: RevokingProcess[]
  /** Until then nobody reaches the store. */
  storeAwayUntil: number
  /** Of each token, since when somebody was told that it ended. */
  readonly answeredAt: Map<string, number>
  readonly violations: string[]
  granted: number
  fromMemory: number
}

export const { intervals: INTERVALS } = REVOCATION
