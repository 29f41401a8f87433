/** The one hash that holds the number, the mark and the subscribers. It has no TTL, so Redis loses all of it or nothing. */
export const revocationKey = (name: string): string => `${name}:state`

/** The channel on which notifications are published. */
export const revocationChannel = (name: string): string => `${name}:notices`

/** The times of the revocation protocol, in milliseconds. */
export interface RevocationIntervals {
  /** How long a subscriber may use cached responses after it requested a lease. */
  readonly leaseMs: number
  /** How often a subscriber renews its lease. */
  readonly renewMs: number
  /** How much longer than a lease a revoker waits, since the clocks of two machines differ a little in speed. */
  readonly marginMs: number
}

/** Values that both apps must share. They are not settings: an API with a longer lease than its revoker would accept revoked tokens. */
export interface RevocationOptions {
  /** The name of the hash and the channel in Redis. */
  readonly name: string
  readonly intervals: RevocationIntervals
}

/** The values of production. Tests use their own names and shorter intervals. */
export const REVOCATION: RevocationOptions = {
  name: 'revocation',
  intervals: { leaseMs: 2_000, renewMs: 500, marginMs: 250 },
}
