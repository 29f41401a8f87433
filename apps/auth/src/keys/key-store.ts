import type { Result } from '@plainpath/domain'
import type { Actor, AuditRow } from '../audit-chain.ts'
import type { Follower, KeyRefusal, KeyRing, Transition } from './key-ring.ts'
import type { KeyPair, SigningKey } from './signing-key.ts'

/** Every key with its private part, oldest first. */
interface OpenedRing extends KeyRing {
  readonly keys: readonly SigningKey[]
}

/** A private part that cannot be opened, or a row that contradicts itself. Nobody replaces it by itself. */
export class UnreadableKey extends Error {
  override readonly name = 'UnreadableKey'
  readonly kid: string
  readonly ringVersion: number

  constructor(kid: string, ringVersion: number, options?: ErrorOptions) {
    super(`signing key ${kid} cannot be read`, options)
    this.kid = kid
    this.ringVersion = ringVersion
  }
}

/** The ring without private parts, and what a step is judged by; `now` is the database's. */
export interface RingView {
  readonly ring: KeyRing
  readonly followers: readonly Follower[]
  readonly now: Date
}

export interface RingChange {
  readonly step: string
  readonly transitions: readonly Transition[]
  /** The key that comes into the ring with this change. */
  readonly added?: KeyPair
  readonly reason?: string
}

export interface AppliedChange {
  readonly change: RingChange
  /** After the change. */
  readonly ring: KeyRing
  /** Head of the audit after the change; undefined for a trial. */
  readonly head: string | undefined
}

export interface KeyStore {
  /** @throws {UnreadableKey} */
  read(): Promise<OpenedRing>
  /** Each key, or why it cannot be read. */
  inspect(): Promise<readonly (SigningKey | UnreadableKey)[]>
  /** The ring without opening anything. */
  view(): Promise<RingView>
  /**
   * Decides and applies one change while nobody else can, with its row in the audit: both or neither. A private part
   * goes with the state that needed it. Private parts of other keys are not opened.
   *
   * @param options.trial decides, and changes nothing
   */
  update(
    by: Actor,
    decide: (view: RingView) => Result<RingChange, KeyRefusal>,
    options?: { trial?: boolean },
  ): Promise<Result<AppliedChange, KeyRefusal>>
  /**
   * Seals every private part under the newest key-encryption key.
   *
   * @returns the keys that were under another one @throws {UnreadableKey} and changes nothing
   */
  rewrap(by: Actor, options?: { trial?: boolean }): Promise<readonly string[]>
  audit(): Promise<readonly AuditRow[]>
  /** The last row of the audit; undefined while it is empty. */
  auditEnd(): Promise<AuditRow | undefined>
}

/** Where every instance says what it signs with. */
export interface KeyFollowers {
  report(report: Omit<Follower, 'followedAt' | 'seenAt'>): Promise<void>
  /** Forgets an instance that has stopped, and those not heard of for an hour. */
  forget(instanceId: string): Promise<void>
}
