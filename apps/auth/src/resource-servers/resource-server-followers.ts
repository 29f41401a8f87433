/** A secret that an instance accepts, and how long ago it last was shown there; undefined for never. */
interface AcceptedSecret {
  readonly clientId: string
  readonly fingerprint: string
  readonly usedMsAgo?: number | undefined
}

interface ResourceServerReport {
  readonly instanceId: string
  readonly host: string
  readonly secrets: readonly AcceptedSecret[]
  /** Why the instance cannot follow its file. */
  readonly problem: string | undefined
}

/** An instance by its own last words; spans are counted up to now, by the database's clock. */
export interface ResourceServerFollower extends Omit<ResourceServerReport, 'instanceId'> {
  readonly seenMsAgo: number
}

/** What was seen of a secret at any instance, ever. */
export interface SecretHistory {
  readonly clientId: string
  readonly fingerprint: string
  readonly firstSeenMsAgo: number
  readonly usedMsAgo: number | undefined
}

/** Where every instance says which secrets it accepts, and which of them were shown. */
export interface ResourceServerFollowers {
  report(report: ResourceServerReport): Promise<void>
  /** Forgets an instance that has stopped, and those not heard of for an hour. */
  forget(instanceId: string): Promise<void>
  view(): Promise<{
    readonly followers: readonly ResourceServerFollower[]
    readonly secrets: readonly SecretHistory[]
  }>
}
