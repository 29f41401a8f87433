/** Returns the key of the Redis hash that stores the state. The hash has no TTL, so Redis loses all of the state or none of it. */
export const getRevocationKey = (name: string): string => `${name}:state`

/** Returns the channel on which notifications are published. */
export const getRevocationChannel = (name: string): string => `${name}:notices`

/** The times of the revocation protocol, in milliseconds. */
export interface RevocationIntervals {
  /** How long a subscriber may use cached responses after it requested a lease. */
  readonly leaseMs: number
  /** How often a subscriber renews its lease. */
  readonly renewMs: number
  /** How much longer than a lease a revoker waits, because the clocks of two machines differ slightly in speed. */
  readonly marginMs: number
}

/** Values that both apps must share. They are not settings: an API with too long a lease would accept revoked tokens. */
export interface RevocationOptions {
  /** The name of the hash and the channel in Redis. */
  readonly name: string
  readonly intervals: RevocationIntervals
}

/**
 * How long an API may use a cached introspection, even while its lease is valid. So a revocation that could not be published, and
 * ended in a 503, takes effect within this time.
 */
export const MAX_INTROSPECTION_AGE_MS = 30_000

/** The production values. Tests use their own names and shorter intervals. */
export const REVOCATION: RevocationOptions = {
  name: 'revocation',
  intervals: { leaseMs: 2_000, renewMs: 500, marginMs: 250 },
}
