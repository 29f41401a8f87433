import type { LimitPolicy, RouteLimits } from '@plainpath/http'

const MINUTE = 60
const HOUR = 3600

const READS_ADDRESS: LimitPolicy = { name: 'reads-address', quota: 3000, windowSeconds: MINUTE }

/** How much is allowed (contract §2), before RESOURCE_LIMITS_FACTOR. */
export const LIMITS = {
  reads: {
    address: [READS_ADDRESS],
    anonymous: [{ name: 'reads-anonymous', quota: 120, windowSeconds: MINUTE }],
    client: [{ name: 'reads-client', quota: 600, windowSeconds: MINUTE }],
  },
  /** Pages, documents and health: many people can share an address, and these cost little. */
  pages: { address: [READS_ADDRESS] },
  waitlist: { address: [{ name: 'waitlist-address', quota: 120, windowSeconds: HOUR }] },
} as const satisfies Record<string, RouteLimits>

/** Counted under the canonical address. */
export const WAITLIST_EMAIL: LimitPolicy = { name: 'waitlist-email', quota: 5, windowSeconds: HOUR }
