/** For so long after it asked for a lease, or for a longer one, a member may use what it kept. */
export const LEASE_MS = 2_000

/** So often a member renews its lease. */
export const RENEW_MS = 500

/** A revoker waits so much longer than a lease: clocks of two machines run at speeds that differ a little. */
export const MARGIN_MS = 250
