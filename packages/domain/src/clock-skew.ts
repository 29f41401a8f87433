/**
 * The maximum skew of a machine's clock from the database's. With a larger one, an instance serves only reads without a token. The
 * clocks of two machines may differ by twice as much.
 */
export const MAX_CLOCK_SKEW_MS = 30_000
